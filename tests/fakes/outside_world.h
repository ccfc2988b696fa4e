#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rolter::fakes {

/// The name service and the network as this process sees them: a name under ".test" means the
/// addresses that it was given last, and a connect to a port below 1024 is noted and refused,
/// wherever it leads. All else is as it always was.
///
/// It stands in the place of getaddrinfo() and connect(), for every library of the program too. Any
/// thread may call anything.
class OutsideWorld {
 public:
  static OutsideWorld& get();

  /// Empty: the name does not resolve.
  void set_name(std::string_view name, std::vector<std::string> addresses);
  /// How often the name has been looked up since it was set.
  [[nodiscard]] std::size_t lookups(std::string_view name) const;

  /// Connects to that address and port, as the kernel would write the address.
  [[nodiscard]] std::size_t attempts(const std::string& address, std::uint16_t port) const;
  /// To that address, whatever the port.
  [[nodiscard]] std::size_t attempts(const std::string& address) const;
  void forget_attempts();

  // For the functions in whose place it stands.
  [[nodiscard]] std::vector<std::string> look_up(std::string_view name);
  void note_attempt(const std::string& address, std::uint16_t port);

 private:
  struct Name {
    std::vector<std::string> addresses;
    std::size_t lookups = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Name, std::less<>> names_;
  std::map<std::pair<std::string, std::uint16_t>, std::size_t> attempts_;
};

}  // namespace rolter::fakes
