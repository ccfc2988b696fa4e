#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/config/url.h"
#include "rolter/feeds/http_get.h"
#include "rolter/runtime/loop_thread.h"
#include "rolter/runtime/system_clock.h"
#include "rolter/telemetry/log_queue.h"

namespace rolter::cli {

/// One request of a command. Fields are complete lines.
struct ToolRequest {
  config::Url url{};  // base_path holds the whole path and query
  std::string method = "GET";
  std::string fields{};
  std::string body{};
  Duration timeout = std::chrono::seconds{10};
  std::vector<std::string> ca_files{};  // trusted beside the system's, for https
};

/// HTTP requests of the commands that ask a gateway or the replicas, as blocking calls.
class HttpTool {
 public:
  HttpTool();
  ~HttpTool();
  HttpTool(const HttpTool&) = delete;
  HttpTool& operator=(const HttpTool&) = delete;

  [[nodiscard]] Result<feeds::GetAnswer> send(ToolRequest request);

  /// All at once; the answers in the order of the requests.
  [[nodiscard]] std::vector<Result<feeds::GetAnswer>> send_all(std::vector<ToolRequest> requests);

 private:
  [[nodiscard]] http::Task<> exchange(const ToolRequest& request, Result<feeds::GetAnswer>& answer,
                                      std::function<void()> done);

  runtime::SystemClock clock_;
  telemetry::LogQueue lines_{65'536};
  telemetry::AppLog log_;
  runtime::LoopThread thread_;
};

}  // namespace rolter::cli
