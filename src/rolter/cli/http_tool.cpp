#include "rolter/cli/http_tool.h"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <future>
#include <memory>
#include <utility>

#include "rolter/http/tls.h"

namespace rolter::cli {
namespace {

constexpr std::size_t kMostAnswerBytes = 67'108'864;

Result<http::Addresses> resolve(const config::Url& url) {
  // Blocking, and its own io_context: a command has nothing else to do meanwhile.
  http::asio::io_context io;
  http::asio::ip::tcp::resolver resolver(io);
  boost::system::error_code ec;
  http::Addresses addresses;
  for (const auto& found : resolver.resolve(url.host, std::to_string(url.port), ec)) {
    addresses.push_back(found.endpoint());
  }
  if (ec) {
    return fail(ErrorKind::kConnectFailed,
                fmt::format("cannot resolve {}: {}", url.host, ec.message()));
  }
  return addresses;
}

Result<http::TlsPeer> peer_of(const ToolRequest& request) {
  http::TlsPeer peer;
  if (request.url.tls) {
    auto context = http::TlsContext::for_client(request.ca_files);
    if (!context) {
      return std::unexpected(std::move(context.error()));
    }
    peer = {.context = std::move(*context), .name = request.url.host};
  }
  return peer;
}

std::string render(const ToolRequest& request) {
  std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method,
                                request.url.base_path.empty() ? "/" : request.url.base_path,
                                config::authority(request.url.host, request.url.port));
  out += request.fields;
  if (!request.body.empty() || request.method == "POST") {
    out += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n",
                       request.body.size());
  }
  return out + "User-Agent: rolter\r\nConnection: close\r\n\r\n" + request.body;
}

}  // namespace

HttpTool::HttpTool()
    : log_(lines_, telemetry::LogLevel::kError, telemetry::LogFormat::kText),
      thread_("rolter-http", clock_, log_) {
  thread_.start();
}

HttpTool::~HttpTool() {
  thread_.join();
}

Result<feeds::GetAnswer> HttpTool::send(ToolRequest request) {
  std::vector<ToolRequest> one;
  one.push_back(std::move(request));
  return std::move(send_all(std::move(one)).front());
}

std::vector<Result<feeds::GetAnswer>> HttpTool::send_all(std::vector<ToolRequest> requests) {
  std::vector<Result<feeds::GetAnswer>> answers(requests.size());
  std::promise<void> all_done;
  std::size_t left = requests.size() + 1;
  const std::function<void()> one_done = [&] {
    if (--left == 0) {
      all_done.set_value();
    }
  };
  thread_.run([&] {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      thread_.scope().spawn("request", exchange(requests[i], answers[i], one_done));
    }
    one_done();
  });
  all_done.get_future().wait();
  return answers;
}

/// `request` and `answer` live until `done` has been called.
http::Task<> HttpTool::exchange(const ToolRequest& request, Result<feeds::GetAnswer>& answer,
                                std::function<void()> done) {
  if (auto addresses = resolve(request.url); !addresses) {
    answer = std::unexpected(std::move(addresses.error()));
  } else if (auto peer = peer_of(request); !peer) {
    answer = std::unexpected(std::move(peer.error()));
  } else {
    const feeds::HttpSource source{
        .addresses = std::make_shared<http::AddressCell>(
            std::make_shared<const http::Addresses>(std::move(*addresses))),
        .egress = [](const http::Endpoint&) -> Result<void> { return {}; },
        .fields = {},
        .tls = std::move(*peer)};
    feeds::HttpGet get(thread_.loop());
    answer = co_await get.run(source, render(request),
                              {.timeout = request.timeout, .max_body_bytes = kMostAnswerBytes});
  }
  done();
}

}  // namespace rolter::cli
