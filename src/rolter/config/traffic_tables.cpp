// [queue], [retry], [cooldown], [timeouts], [health], [breaker], [metrics_scrape]: how requests are
// treated on every route.
#include "rolter/config/readers.h"

namespace rolter::config {

void read_queue(TableReader& table, Queue& queue) {
  table.integer("capacity", queue.capacity, {.max = 1'000'000});
  table.secs("timeout_secs", queue.timeout);
}

void read_retry(TableReader& table, Retry& retry) {
  table.integer("max_retries", retry.max_retries, {.max = 100});
  table.millis("base_backoff_ms", retry.base_backoff);
  table.millis("max_backoff_ms", retry.max_backoff);
  table.number("budget", retry.budget, {.min = 0, .max = 1});
}

void read_cooldown(TableReader& table, Cooldown& cooldown) {
  table.secs("base_secs", cooldown.base);
  table.secs("max_secs", cooldown.max);
}

void read_timeouts(TableReader& table, Timeouts& timeouts) {
  table.secs("connect_secs", timeouts.connect);
  table.secs("request_secs", timeouts.request);
  table.secs("idle_secs", timeouts.idle);
  table.secs("heartbeat_secs", timeouts.heartbeat);
  table.secs("client_head_secs", timeouts.client_head);
  table.secs("client_body_secs", timeouts.client_body);
  table.secs("client_idle_secs", timeouts.client_idle);
}

void read_health(TableReader& table, Health& health) {
  table.flag("enabled", health.enabled);
  table.secs("interval_secs", health.interval, Zero::kRefused);
  table.secs("timeout_secs", health.timeout, Zero::kRefused);
  table.http_path("path", health.path);
  table.integer("fail_after", health.fail_after, {.min = 1, .max = 1000});
  table.integer("pass_after", health.pass_after, {.min = 1, .max = 1000});
}

void read_breaker(TableReader& table, Breaker& breaker) {
  table.flag("enabled", breaker.enabled);
  table.integer("failure_threshold", breaker.failure_threshold, {.min = 1});
  table.secs("open_secs", breaker.open, Zero::kRefused);
}

void read_metrics_scrape(TableReader& table, MetricsScrape& scrape) {
  table.flag("enabled", scrape.enabled);
  table.secs("interval_secs", scrape.interval, Zero::kRefused);
  table.secs("timeout_secs", scrape.timeout, Zero::kRefused);
  table.http_path("path", scrape.path);
}

}  // namespace rolter::config
