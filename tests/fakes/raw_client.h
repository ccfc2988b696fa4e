#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rolter::fakes {

/// An HTTP answer as a client reads it.
struct RawAnswer {
  int status = 0;
  std::string head;  // with the status line, as received
  std::string body;  // de-chunked
  bool complete = false;

  [[nodiscard]] std::string field(std::string_view name) const;
  /// The data of each server-sent event.
  [[nodiscard]] std::vector<std::string> events() const;
};

/// A blocking client of one connection to 127.0.0.1, which sends what it is told byte for byte. No
/// call blocks longer than ten seconds.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  [[nodiscard]] bool connected() const { return socket_ >= 0; }
  void send(std::string_view bytes);
  void send_post(std::string_view path, std::string_view json,
                 const std::vector<std::pair<std::string, std::string>>& fields = {});

  /// One answer to its end; not complete when the connection ended or broke before.
  [[nodiscard]] RawAnswer read_answer();

  /// Reads until `text` has come; false at the connection's end.
  [[nodiscard]] bool read_until(std::string_view text);
  [[nodiscard]] const std::string& received() const { return buffer_; }

  /// True when the server closes within `limit` and sends nothing more.
  [[nodiscard]] bool closed_within(std::chrono::milliseconds limit);

  void half_close();
  void close();

 private:
  [[nodiscard]] bool fill();

  int socket_ = -1;
  std::string buffer_;
};

/// One request on a connection of its own.
[[nodiscard]] RawAnswer post_json(
    std::uint16_t port, std::string_view path, std::string_view json,
    const std::vector<std::pair<std::string, std::string>>& fields = {});
[[nodiscard]] RawAnswer get(std::uint16_t port, std::string_view path);

}  // namespace rolter::fakes
