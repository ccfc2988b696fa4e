#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "rolter/http/upstream_pool.h"

namespace rolter::simulator {

/// Reads a stream of chat or completion chunks: the text that is for the client, and whether the
/// end marker came.
class StreamText final : public http::BodySink {
 public:
  StreamText();
  ~StreamText() override;

  void on_data(std::string_view bytes) override;

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool has_text() const { return !text_.empty(); }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  void on_event(std::string_view json);

  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::string pending_;  // an event that has not ended yet
  std::string text_;
  bool ended_ = false;
};

/// What became of one streamed request.
struct CallOutcome {
  int status = 0;  // 0 = no answer
  bool complete = false;
  std::optional<Duration> first_token;  // from sending to the first text
  std::string text;
  std::string failure;
};

/// A client that sends POST requests to one address over kept-alive connections. One loop.
class LoadClient {
 public:
  LoadClient(http::Loop& loop, const http::Endpoint& server);

  /// `token_ids`, the prompt's as the gateway reads them, go along in a header; "" = none.
  [[nodiscard]] http::Task<CallOutcome> post(std::string path, std::string body,
                                             std::string token_ids = {});

  /// Breaks every call that is under way; later ones fail at once.
  void abort();

 private:
  [[nodiscard]] http::Task<CallOutcome> exchange(http::UpstreamConnection& connection,
                                                 std::string request);
  [[nodiscard]] http::Task<Result<std::unique_ptr<http::UpstreamConnection>>> connect();

  http::Loop& loop_;
  std::shared_ptr<const std::vector<http::Endpoint>> server_;
  http::UpstreamPool pool_;
  std::unordered_set<http::UpstreamConnection*> busy_;
  bool aborted_ = false;
};

}  // namespace rolter::simulator
