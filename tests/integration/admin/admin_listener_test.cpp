// The admin listener of a whole gateway in front of simulated engines.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <future>
#include <memory>
#include <string>

#include "rolter/runtime/gateway.h"
#include "tests/fakes/engine_thread.h"
#include "tests/fakes/raw_client.h"

namespace rolter::admin {
namespace {

using fakes::RawAnswer;
using ::testing::HasSubstr;
using ::testing::Not;

/// Somebody else's socket on a port; it may have been taken before.
class TakenPort {
 public:
  explicit TakenPort(std::uint16_t port) : acceptor_(io_) {
    const http::Endpoint at(http::asio::ip::address_v4::loopback(), port);
    boost::system::error_code taken_already;
    acceptor_.open(at.protocol());
    // What an earlier connection has left in TIME_WAIT shall not keep it free.
    acceptor_.set_option(http::asio::socket_base::reuse_address(true));
    acceptor_.bind(at, taken_already);
    if (!taken_already) {
      acceptor_.listen(1, taken_already);
    }
    is_ours_ = !taken_already;
  }

  /// False when another program had it, which may let go of it at any time.
  [[nodiscard]] bool is_ours() const { return is_ours_; }

 private:
  bool is_ours_ = false;
  http::asio::io_context io_;
  http::asio::ip::tcp::acceptor acceptor_;
};

constexpr std::string_view kChat =
    R"({"model":"chat","max_tokens":4,"messages":[{"role":"user","content":"hello"}]})";

class AdminListener : public ::testing::Test {
 protected:
  config::Config configuration() {
    config::Config config;
    config.server.host = "127.0.0.1";
    config.server.port = 0;
    config.server.loops = 1;
    config.log.level = "error";
    config.log.access = false;
    config.admin.port = 0;
    config::Route& route = config.routes.emplace_back();
    route.model = "chat";
    for (std::size_t i = 0; i < 2; ++i) {
      config::Provider& provider = config.providers.emplace_back();
      provider.name = i == 0 ? "a" : "b";
      provider.api_base.host = "127.0.0.1";
      provider.api_base.port = engines_[i]->port();
      provider.api_key = config::Secret("upstream-secret");
      route.targets.push_back({.provider = i, .model = "sim-model"});
    }
    return config;
  }
  void SetUp() override {
    simulator::EngineOptions options;
    options.speed = simulator::EngineSpeed{0.0, 2000.0};
    engines_ = {&thread_.start(options), &thread_.start(options)};
  }
  void start(config::Config config, Reload reload = nullptr) {
    gateway_ = std::make_unique<runtime::Gateway>(std::move(config), std::move(reload));
    const auto started = gateway_->start();
    ASSERT_TRUE(started) << started.error().message;
    ASSERT_NE(gateway_->admin_port(), 0);
  }
  RawAnswer get(std::string_view path) { return fakes::get(gateway_->admin_port(), path); }
  RawAnswer post(std::string_view path, std::string_view json,
                 const std::vector<std::pair<std::string, std::string>>& fields = {}) {
    return fakes::post_json(gateway_->admin_port(), path, json, fields);
  }
  RawAnswer chat() { return fakes::post_json(gateway_->port(), "/v1/chat/completions", kChat, {}); }
  cluster::Replica& replica(std::size_t index) {
    return *gateway_->state()->cluster->replicas[index];
  }

  fakes::EngineThread thread_;
  std::vector<simulator::SimEngine*> engines_;
  std::unique_ptr<runtime::Gateway> gateway_;
};

TEST_F(AdminListener, shows_the_state_without_secrets) {
  start(configuration());
  ASSERT_EQ(chat().status, 200);
  const RawAnswer answer = get("/admin/state");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("content-type"), "application/json");
  EXPECT_EQ(answer.field("access-control-allow-origin"), "");
  EXPECT_THAT(answer.body, HasSubstr(R"("version":1,"ready":true)"));
  EXPECT_THAT(answer.body, HasSubstr(R"({"provider":"a","eligible":true,"why_not":null)"));
  EXPECT_THAT(answer.body, HasSubstr(R"("api_key":"***")"));
  EXPECT_THAT(answer.body, Not(HasSubstr("upstream-secret")));
  EXPECT_THAT(get("/metrics").body, HasSubstr("rolter_requests_total{"));
}

TEST_F(AdminListener, its_paths_are_not_on_the_api_port_and_the_other_way_round) {
  start(configuration());
  EXPECT_EQ(fakes::get(gateway_->port(), "/admin/state").status, 404);
  EXPECT_EQ(post("/v1/chat/completions", kChat).status, 404);
}

TEST_F(AdminListener, explains_without_sending_anything) {
  start(configuration());
  const RawAnswer answer = post("/admin/explain", kChat);
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr(R"("route":"chat","strategy":"cache_aware")"));
  EXPECT_EQ(replica(0).sent() + replica(1).sent(), 0);
  const RawAnswer text = post("/admin/explain", kChat, {{"Accept", "text/plain"}});
  EXPECT_THAT(text.body, HasSubstr("chat goes to "));
  EXPECT_EQ(get("/admin/explain").status, 405);
  EXPECT_EQ(post("/admin/explain", "{}").status, 400);
}

TEST_F(AdminListener, a_drained_provider_gets_nothing_and_stays_drained_over_a_reload) {
  start(configuration());
  const RawAnswer drained = post("/admin/drain", R"({"target":"a"})");
  EXPECT_EQ(drained.status, 200);
  EXPECT_EQ(drained.body, R"({"target":"a","drained":true,"in_flight":0})");
  ASSERT_TRUE(gateway_->reload(configuration()));
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(chat().field("x-rolter-provider"), "b");
  }
  EXPECT_EQ(post("/admin/undrain", R"({"target":"a"})").status, 200);
  EXPECT_EQ(post("/admin/drain", R"({"target":"b"})").status, 200);
  EXPECT_EQ(chat().field("x-rolter-provider"), "a");
}

TEST_F(AdminListener, drain_waits_for_the_last_request) {
  start(configuration());
  auto load = gateway_->state()->cluster->routes[0].targets[0].load;
  cluster::Lease lease = cluster::Lease::acquire(replica(0), load->in_flight, 0);
  EXPECT_EQ(post("/admin/drain", R"({"target":"a"})").status, 202);
  auto waiting = std::async(std::launch::async, [&] {  // allowed(threads): a test's own
    return post("/admin/drain", R"({"target":"a","wait_secs":30})");
  });
  // The listener answers others meanwhile.
  EXPECT_THAT(get("/admin/state").body, HasSubstr(R"("why_not":"drained")"));
  lease.release();
  EXPECT_EQ(waiting.get().status, 200);
}

TEST_F(AdminListener, names_what_it_does_not_know) {
  start(configuration());
  EXPECT_THAT(post("/admin/drain", R"({"target":"c"})").body, HasSubstr("there are: a, b"));
  EXPECT_EQ(post("/admin/drain", R"({"target":"c"})").status, 404);
  for (const char* body : {"", "[]", "{}", R"({"target":1})", R"({"target":"a","wait_secs":-1})",
                           R"({"target":"a","wait_secs":1e9})", R"({"target":"a","more":1})"}) {
    EXPECT_EQ(post("/admin/drain", body).status, 400) << body;
  }
  EXPECT_FALSE(replica(0).drained());
}

TEST_F(AdminListener, looking_changes_nothing) {
  start(configuration());
  for (const char* path : {"/admin/drain", "/admin/undrain", "/admin/reload"}) {
    const RawAnswer answer = get(path);
    EXPECT_EQ(answer.status, 405) << path;
    EXPECT_EQ(answer.field("allow"), "POST") << path;
  }
  EXPECT_EQ(post("/admin/state", "{}").status, 405);
}

TEST_F(AdminListener, reload_answers_with_the_outcome) {
  std::function<void(ReloadOutcome)> done;
  std::promise<void> asked;
  start(configuration(), [&](std::function<void(ReloadOutcome)> callback) {
    done = std::move(callback);
    asked.set_value();
  });
  auto answer = std::async(std::launch::async, [&] {  // allowed(threads): a test's own
    return post("/admin/reload", "");
  });
  asked.get_future().wait();
  gateway_->control().post(
      [&] { done({.applied = false, .version = 1, .findings = "rolter.toml:3:1: error: no"}); });
  const RawAnswer refused = answer.get();
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr("rolter.toml:3:1: error: no"));
}

TEST_F(AdminListener, a_gateway_without_a_file_says_that_it_cannot_reload) {
  start(configuration());
  EXPECT_EQ(post("/admin/reload", "").status, 501);
}

TEST_F(AdminListener, other_names_need_the_token) {
  config::Config config = configuration();
  start(config);
  fakes::RawClient client(gateway_->admin_port());
  client.send("GET /admin/state HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 403);
  config.admin.token = config::Secret("s3cret");
  ASSERT_TRUE(gateway_->reload(config));
  EXPECT_EQ(get("/admin/state").status, 401);
  client.send(
      "GET /admin/state HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer s3cret\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 200);
}

TEST_F(AdminListener, streams_the_state_and_ends_with_the_gateway) {
  start(configuration());
  fakes::RawClient page(gateway_->admin_port());
  page.send("GET /admin/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(page.read_until("event: state\ndata: {\"version\":1"));
  ASSERT_TRUE(gateway_->reload(configuration()));
  EXPECT_TRUE(page.read_until("event: state\ndata: {\"version\":2"));
  gateway_.reset();
  EXPECT_FALSE(page.read_until("what is never sent"));
  EXPECT_TRUE(page.closed_within(std::chrono::seconds{1}));
}

TEST_F(AdminListener, a_port_that_was_asked_for_and_is_taken_stops_the_start) {
  start(configuration());
  config::Config second = configuration();
  second.admin.port = gateway_->admin_port();
  runtime::Gateway asked(second);
  const auto refused = asked.start();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("set [admin] port to another one"));
}

TEST_F(AdminListener, a_usual_port_that_is_taken_is_only_said) {
  const TakenPort usual(config::Admin{}.port);
  if (!usual.is_ours()) {
    GTEST_SKIP() << "another program has the usual port";
  }
  config::Config config = configuration();
  config.admin = {};
  runtime::Gateway gateway(config);
  EXPECT_TRUE(gateway.start());
  EXPECT_EQ(gateway.admin_url(), "");
}

TEST_F(AdminListener, a_request_can_be_looked_up_by_its_id) {
  start(configuration());
  for (const char* id : {"first", "second"}) {
    EXPECT_EQ(
        fakes::post_json(gateway_->port(), "/v1/chat/completions", kChat, {{"X-Request-Id", id}})
            .status,
        200);
  }
  std::string found;
  while (found.find("second") == std::string::npos) {  // noted once the answer has been sent
    found = get("/admin/decisions?request_id=second").body;
  }
  EXPECT_THAT(found, HasSubstr(R"("request_id":"second","trace_id":"","route":"chat")"));
  EXPECT_THAT(found, HasSubstr(R"("status":200)"));
  EXPECT_THAT(found, Not(HasSubstr("first")));
  EXPECT_EQ(get("/admin/decisions?request_id=third").body, "[]");
  EXPECT_THAT(get("/admin/decisions").body, HasSubstr("first"));
}

TEST_F(AdminListener, an_answer_explains_itself_to_the_holder_of_the_token) {
  config::Config config = configuration();
  config.admin.token = config::Secret("s3cret");
  start(config);
  const auto ask = [&](const char* token) {
    return fakes::post_json(gateway_->port(), "/v1/chat/completions", kChat,
                            {{"x-rolter-explain", "1"}, {"x-rolter-admin-token", token}})
        .field("x-rolter-explain");
  };
  EXPECT_THAT(ask("s3cret"), AllOf(HasSubstr("reason=below_threshold; matched=0.000"),
                                   HasSubstr("a:0.000"), HasSubstr("b:0.000")));
  EXPECT_EQ(ask("wrong"), "");
}

TEST_F(AdminListener, scores_are_kept_while_somebody_looks_on) {
  start(configuration());
  fakes::RawClient page(gateway_->admin_port());
  page.send("GET /admin/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(page.read_until("event: state"));
  chat();
  EXPECT_TRUE(page.read_until(R"("scores":[{"provider":"a",)"));
}

TEST_F(AdminListener, brings_the_page_with_its_files_and_nothing_from_elsewhere) {
  start(configuration());
  const RawAnswer page = get("/");
  EXPECT_EQ(page.field("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.field("content-security-policy"), HasSubstr("default-src 'none'"));
  EXPECT_THAT(page.body, Not(HasSubstr("//")));
  EXPECT_EQ(get("/page/page.js").field("content-type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(get("/page/style.css").status, 200);
  EXPECT_EQ(get("/page/nothing").status, 404);
  EXPECT_EQ(get("/page/").status, 404);
}

TEST_F(AdminListener, broken_requests_are_answered) {
  start(configuration());
  fakes::RawClient client(gateway_->admin_port());
  client.send("nonsense\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 400);
}

}  // namespace
}  // namespace rolter::admin
