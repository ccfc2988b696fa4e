#include "rolter/runtime/kv_sources.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "rolter/config/url.h"
#include "rolter/proxy/egress_check.h"

namespace rolter::runtime {
namespace {

using config::TcpEndpoint;
using feeds::AnnouncedStream;
using feeds::KvSource;
using feeds::ZmqServer;

/// stale_secs = 0.
constexpr Duration kNeverStale = std::chrono::hours{24} * 365 * 100;

/// The streams that the configuration names.
std::vector<AnnouncedStream> configured_streams(const config::KvEvents& settings) {
  const auto events = config::parse_tcp_endpoint(settings.endpoint);
  const auto replay = config::parse_tcp_endpoint(settings.replay_endpoint);
  std::vector<AnnouncedStream> streams;
  for (std::uint32_t rank = 0; events && rank < settings.dp_size; ++rank) {
    const auto of_rank = [rank](const TcpEndpoint& first) {
      return TcpEndpoint{first.host, static_cast<std::uint16_t>(first.port + rank)};
    };
    AnnouncedStream& stream = streams.emplace_back();
    stream.rank = rank;
    stream.events = of_rank(*events);
    if (replay) {
      stream.replay = of_rank(*replay);
    }
  }
  return streams;
}

/// Makes the sources of one provider.
class Maker {
 public:
  Maker(const proxy::GatewayState& state, std::size_t provider, http::AddressBook& hosts)
      : state_(state),
        settings_(state.config.providers[provider]),
        provider_(state.providers[provider]),
        slot_(state.cluster->replicas[provider]->slot()),
        hosts_(hosts) {}

  void add(const AnnouncedStream& stream) {
    const config::KvEvents& events = *settings_.kv_events;
    KvSource& source = made.sources.emplace_back();
    source.provider = provider_.name;
    source.replica = slot_;
    source.rank = stream.rank;
    source.events = server(stream.events);
    if (stream.replay) {
      source.replay = server(*stream.replay);
    }
    source.topic = events.topic;
    source.max_blocks = events.max_blocks;
    source.stale = events.stale.count() == 0 ? kNeverStale : Duration{events.stale};
    source.block_size = events.block_size != 0 ? events.block_size : stream.block_size;
  }

  KvSources made;

 private:
  ZmqServer server(const TcpEndpoint& at) {
    if (at.host.empty() || at.host == settings_.api_base.host) {
      return {.host = settings_.api_base.host,
              .port = at.port,
              .addresses = provider_.addresses,
              .egress = provider_.egress};
    }
    // One cell per host: the ports of its ranks do not matter for its addresses.
    auto addresses = hosts_.cell(at.host, 0);
    made.names.push_back(
        {.host = at.host, .port = 0, .interval = settings_.resolve, .cell = addresses});
    return {.host = at.host,
            .port = at.port,
            .addresses = std::move(addresses),
            .egress = proxy::egress_check(state_.config.egress, at.host)};
  }

  const proxy::GatewayState& state_;
  const config::Provider& settings_;
  const proxy::Provider& provider_;
  ReplicaSlot slot_;
  http::AddressBook& hosts_;
};

}  // namespace

KvSources kv_sources(const proxy::GatewayState& state, std::size_t provider,
                     const std::vector<AnnouncedStream>& announced, http::AddressBook& hosts) {
  Maker maker(state, provider, hosts);
  for (const AnnouncedStream& stream :
       announced.empty() ? configured_streams(*state.config.providers[provider].kv_events)
                         : announced) {
    maker.add(stream);
  }
  return std::move(maker.made);
}

}  // namespace rolter::runtime
