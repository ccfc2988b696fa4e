#include "rolter/proxy/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rolter/http/bell.h"
#include "rolter/openai/error_body.h"
#include "rolter/openai/error_event.h"
#include "rolter/proxy/access.h"
#include "rolter/proxy/explain_field.h"
#include "rolter/proxy/parsed_request.h"
#include "rolter/proxy/trace_context.h"
#include "rolter/proxy/upstream_request.h"

namespace rolter::proxy {
namespace {

constexpr std::size_t kMaxRequestIdBytes = 128;
// For the first request of a connection that was accepted just before the listener closed.
constexpr std::chrono::seconds kLastWait{1};
constexpr std::uint64_t kMostReadOfStrangers = 65'536;

bool is_usable_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxRequestIdBytes &&
         std::ranges::all_of(id, [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string address_of(const http::Socket& socket) {
  boost::system::error_code gone;
  const auto endpoint = socket.remote_endpoint(gone);
  return gone ? std::string() : endpoint.address().to_string();
}

/// What a request may use at most, before it has been tokenized: four bytes a token is what common
/// tokenizers make of English text; the true counts are settled at the end.
std::uint64_t expected_tokens(const openai::RequestView& view) {
  const std::uint64_t prompt =
      view.prompt_token_ids.empty() ? view.prompt.text.size() / 4 : view.prompt_token_ids.size();
  return prompt + view.max_output_tokens * view.choices;
}

OwnAnswer error_answer(const OwnError& error, openai::ApiShape shape, std::string_view request_id) {
  OwnAnswer answer{.status = error.status, .keep_alive = !error.closes_connection};
  answer.body = own_error_body(error, shape, request_id);
  if (error.retry_after) {
    answer.extra_fields = fmt::format("Retry-After: {}\r\n", error.retry_after->count());
  }
  return answer;
}

openai::ApiShape shape_of_path(std::string_view path) {
  return path.starts_with("/v1/messages") ? openai::ApiShape::kAnthropic
                                          : openai::ApiShape::kOpenAi;
}

}  // namespace

Session::Session(LoopState& loop, LocalEndpoints& local, http::Socket socket)
    : loop_(loop),
      local_(local),
      client_address_(address_of(socket)),
      client_(loop.loop, std::move(socket), loop.state.get()->limits, &loop.shared.request_buffers),
      last_wait_(loop.loop.wheel(), [this] {
        if (client_.idle()) {
          client_.abort();
        }
      }) {}

void Session::leave() {
  leaving_ = true;
  last_wait_.arm(kLastWait);
  if (has_served_ && client_.idle() && client_.stream().is_quiet()) {
    client_.abort();
  }
}

http::Task<> Session::run() {
  if (const auto& tls = loop_.state.get()->server_tls) {
    if (!co_await client_.accept_tls(tls)) {
      co_return;
    }
  }
  while (true) {
    if (auto head = co_await client_.read_head(); !head) {
      const ErrorKind kind = head.error().kind;
      if (kind == ErrorKind::kProtocol || kind == ErrorKind::kLimitExceeded ||
          kind == ErrorKind::kTimeout || kind == ErrorKind::kUnavailable) {
        co_await refuse_head(head.error());
      }
      co_return;
    }
    const Ending ending = co_await serve(loop_.state.get());
    if (ending == Ending::kBroken) {
      client_.abort();
      co_return;
    }
    client_.finish_request();
    has_served_ = true;
    if (leaving_ && client_.stream().is_quiet()) {
      client_.abort();  // nothing is lost: all was sent, and nothing more has been asked
      co_return;
    }
    if (leaving_ || ending == Ending::kClose) {
      co_await client_.close_gently();
      co_return;
    }
  }
}

void Session::begin_facts() {
  const http::RequestHead& head = client_.head();
  facts_.clear();
  facts_.started = loop_.loop.now();
  facts_.client = client_address_;
  facts_.method = head.method;
  facts_.path = path_of(origin_form(head.target));
  const std::string_view id = head.fields.get("x-request-id");
  if (is_usable_id(id)) {
    facts_.request_id = id;
  } else {
    loop_.make_request_id(facts_.request_id);
  }
  facts_.trace_id = trace_id_of(head.fields.get(kTraceField));
}

http::Task<Ending> Session::serve(std::shared_ptr<const GatewayState> state) {
  begin_facts();
  auto done = co_await dispatch(*state);
  Ending ending = Ending::kBroken;
  if (done) {
    ending = *done;
  } else {
    ending = co_await refuse(std::move(done.error()));
  }
  facts_.duration = loop_.loop.now() - facts_.started;
  loop_.recorder.request_ended(*state, facts_);
  co_return ending;
}

http::Task<std::expected<Ending, OwnError>> Session::dispatch(const GatewayState& state) {
  const auto endpoint = openai::endpoint_of_path(facts_.path);
  if (endpoint && client_.head().method == "POST") {
    return forward(state, *endpoint);
  }
  if (const std::string_view id = stored_answer_of_path(facts_.path); !endpoint && !id.empty()) {
    return forward_to_holder(state, id);
  }
  return serve_locally(state);
}

http::Task<std::expected<Ending, OwnError>> Session::serve_locally(const GatewayState& state) {
  const http::RequestHead& head = client_.head();
  if (openai::endpoint_of_path(facts_.path)) {
    co_return std::unexpected(method_not_allowed("POST"));
  }
  // Bodies of other requests are read and ignored, so that the next request is found.
  if (auto body = co_await client_.read_body(); !body) {
    co_return std::unexpected(body_error(body.error()));
  }
  if (auto answer = local_.answer(state, {.method = head.method,
                                          .path = facts_.path,
                                          .fields = head.fields,
                                          .now = loop_.loop.wall_now()})) {
    if (!*answer) {
      co_return std::unexpected(std::move(answer->error()));
    }
    if ((*answer)->make_body) {
      (*answer)->answer.body = co_await made_elsewhere(std::move((*answer)->make_body));
    }
    co_return co_await answer_locally(std::move((*answer)->answer));
  }
  co_return std::unexpected(unknown_path(facts_.path));
}

http::Task<std::expected<Ending, OwnError>> Session::forward(const GatewayState& state,
                                                             openai::Endpoint endpoint) {
  facts_.endpoint = endpoint;
  const auto caller = identify(state);
  if (!caller) {
    co_return std::unexpected(co_await refuse_stranger(caller.error()));
  }
  const auto body = co_await client_.read_body();
  if (!body) {
    co_return std::unexpected(body_error(body.error()));
  }
  facts_.bytes_in = body->size();
  ParsedRequest request(loop_, endpoint, client_.head().fields.get("content-type"), *body);
  if (auto parsed = request.parse(); !parsed) {
    co_return std::unexpected(invalid_request(parsed.error()));
  }
  facts_.model = request.view().model;
  const Route* route = state.find_route(facts_.model);
  if (route == nullptr) {
    co_return std::unexpected(unknown_model(facts_.model));
  }
  facts_.route = route->index;
  facts_.explains = may_explain(state.config.admin, client_.head().fields);
  auto admission = admit(*caller, *route, request.view());
  if (!admission) {
    co_return std::unexpected(std::move(admission.error()));
  }
  loop_.shared.retry_budget.count_request(loop_.index);
  auto ended = co_await forward_by(state, *route, request);
  settle(*admission);
  co_return ended;
}

/// A route that is out hands over to its fallback, which may have one itself; never in a circle, as
/// the configuration has been checked.
http::Task<std::expected<Ending, OwnError>> Session::forward_by(const GatewayState& state,
                                                                const Route& first,
                                                                ParsedRequest& request) {
  const auto heartbeat = make_heartbeat(state, request);
  for (const Route* route = &first;;) {
    facts_.route = route->index;
    Forwarding forwarding(loop_, client_, state, *route, request, facts_);
    if (heartbeat) {
      forwarding.beats_with(*heartbeat);
    }
    if (route == &first) {
      prefer_holder(forwarding, state, *route, request.view().previous_response_id);
    }
    auto ended = co_await forwarding.run();
    if (ended || !forwarding.route_is_out() || !route->fallback) {
      if (!ended && heartbeat && heartbeat->begun()) {
        co_return co_await tell_in_stream(*heartbeat, ended.error(), request.endpoint());
      }
      co_return ended;
    }
    loop_.recorder.fell_back(state, route->index);
    route = &state.routes[*route->fallback];
    facts_.sent = false;  // to a target of this route
    facts_.target_label = {};
  }
}

/// For streams whose form we know, to clients that know chunks.
std::unique_ptr<Heartbeat> Session::make_heartbeat(const GatewayState& state,
                                                   ParsedRequest& request) {
  const Duration interval = state.config.timeouts.heartbeat;
  if (interval <= Duration::zero() || !request.view().stream || client_.head().minor_version == 0 ||
      !openai::streams_events(request.endpoint())) {
    return nullptr;
  }
  return std::make_unique<Heartbeat>(loop_, client_, facts_, interval);
}

http::Task<Ending> Session::tell_in_stream(Heartbeat& heartbeat, const OwnError& error,
                                           openai::Endpoint endpoint) {
  note(error);
  return heartbeat.end_with(openai::error_event(
      endpoint, own_error_body(error, openai::shape_of(endpoint), facts_.request_id)));
}

void Session::note(const OwnError& error) {
  facts_.error = facts_.error.empty() ? error.message : error.message + " (" + facts_.error + ")";
}

void Session::settle(admission::Admission& admission) {
  if (facts_.usage) {
    admission.settle(facts_.usage->prompt_tokens + facts_.usage->completion_tokens,
                     loop_.loop.now());
  } else if (!facts_.sent) {
    admission.cancel();
  }
}

Result<admission::Caller> Session::identify(const GatewayState& state) {
  auto caller = authenticate(state, client_.head().fields, loop_.loop.wall_now());
  if (caller) {
    facts_.key_name = caller->name();
  }
  return caller;
}

/// A stranger may keep the connection, but not have us read much.
http::Task<OwnError> Session::refuse_stranger(const Error& why) {
  OwnError error = access_error(why);
  const http::RequestHead& head = client_.head();
  error.closes_connection = head.framing == http::Framing::kChunked ||
                            head.content_length > kMostReadOfStrangers ||
                            !co_await client_.read_body();
  co_return error;
}

std::expected<admission::Admission, OwnError> Session::admit(const admission::Caller& caller,
                                                             const Route& route,
                                                             const openai::RequestView& view) {
  if (auto allowed = caller.may_use(view.model, route.model); !allowed) {
    return std::unexpected(access_error(allowed.error()));
  }
  const TimePoint now = loop_.loop.now();
  auto admission = caller.admit(expected_tokens(view), now);
  if (const auto status = caller.status(now)) {
    facts_.limit_fields = limit_fields(*status);
  }
  if (!admission) {
    return std::unexpected(over_limit(admission.error()));
  }
  return std::move(*admission);
}

http::Task<std::expected<Ending, OwnError>> Session::answer_locally(OwnAnswer answer) {
  const bool keep = answer.keep_alive && loop_.keeps_alive(client_.head());
  answer.keep_alive = keep;
  answer.body_suppressed = client_.head().method == "HEAD";
  facts_.status = answer.status;
  std::string bytes;
  write_own_answer(answer, facts_.request_id, bytes);
  facts_.bytes_out = bytes.size();
  const auto sent = co_await client_.send({bytes});
  co_return !sent ? Ending::kBroken : keep ? Ending::kReusable : Ending::kClose;
}

http::Task<std::string> Session::made_elsewhere(MakeBody make) {
  http::Bell bell(loop_.loop);
  const auto body = std::make_shared<std::string>();
  make([body, ring = bell.rope()](std::string made) {
    *body = std::move(made);
    ring();
  });
  co_await bell.wait();
  co_return std::move(*body);
}

http::Task<Ending> Session::refuse(OwnError error) {
  note(error);
  OwnAnswer answer = error_answer(error, shape_of_path(facts_.path), facts_.request_id);
  answer.extra_fields += facts_.limit_fields;
  if (error.status == 405) {
    answer.extra_fields += "Allow: POST\r\n";
  }
  auto done = co_await answer_locally(std::move(answer));
  co_return done.value_or(Ending::kBroken);
}

http::Task<> Session::refuse_head(const Error& error) {
  // There is no request to speak of: nothing of a head that cannot be read is trusted.
  const OwnError own = head_error(error);
  facts_.clear();
  facts_.started = loop_.loop.now();
  loop_.make_request_id(facts_.request_id);
  facts_.status = own.status;
  facts_.error = own.message;
  const OwnAnswer answer = error_answer(own, openai::ApiShape::kOpenAi, facts_.request_id);
  std::string bytes;
  write_own_answer(answer, facts_.request_id, bytes);
  facts_.bytes_out = bytes.size();
  if (co_await client_.send({bytes})) {
    co_await client_.close_gently();
  }
  loop_.recorder.request_ended(*loop_.state.get(), facts_);
}

}  // namespace rolter::proxy
