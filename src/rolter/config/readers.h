#pragma once

#include <vector>

#include "rolter/config/config.h"
#include "rolter/config/egress.h"
#include "rolter/config/table_reader.h"

namespace rolter::config {

/// One function per table of the file: asks for each key once, and reports what is wrong with it.

void read_server(TableReader& table, Server& server);
void read_log(TableReader& table, Log& log);
void read_admin(TableReader& table, Admin& admin);
void read_egress(TableReader& table, Egress& egress);
void read_index(TableReader& table, Index& index);

void read_queue(TableReader& table, Queue& queue);
void read_retry(TableReader& table, Retry& retry);
void read_cooldown(TableReader& table, Cooldown& cooldown);
void read_timeouts(TableReader& table, Timeouts& timeouts);
void read_health(TableReader& table, Health& health);
void read_breaker(TableReader& table, Breaker& breaker);
void read_metrics_scrape(TableReader& table, MetricsScrape& scrape);

void read_auth(TableReader& table, Config& config);
void read_virtual_key(TableReader& table, VirtualKey& key);

void read_provider(TableReader& table, const EgressPolicy& egress, Provider& provider);

/// `route.queue` holds the defaults of [queue]; targets are looked up in `providers`.
void read_route(TableReader& table, const std::vector<Provider>& providers, Route& route);

}  // namespace rolter::config
