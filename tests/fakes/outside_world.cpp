#include "tests/fakes/outside_world.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <memory>

#include "tests/fakes/libc_call.h"

namespace rolter::fakes {
namespace {

constexpr std::uint16_t kFirstPortInside = 1024;

/// An addrinfo with the room that it points into.
struct Answer {
  addrinfo info{};
  sockaddr_storage address{};
};
using Answers = std::vector<std::unique_ptr<Answer>>;

/// The lists that freeaddrinfo() takes back, by their first addrinfo.
class OwnAnswers {
 public:
  void add(Answers answers) {
    const std::lock_guard lock(mutex_);
    const addrinfo* const first = &answers.front()->info;
    lists_.emplace(first, std::move(answers));
  }
  bool erase(const addrinfo* first) {
    const std::lock_guard lock(mutex_);
    return lists_.erase(first) > 0;
  }

 private:
  std::mutex mutex_;
  std::map<const addrinfo*, Answers> lists_;
};

OwnAnswers& own_answers() {
  static OwnAnswers answers;
  return answers;
}

std::unique_ptr<Answer> make_answer(const std::string& address, std::uint16_t port) {
  auto answer = std::make_unique<Answer>();
  addrinfo& info = answer->info;
  if (auto* const v4 = reinterpret_cast<sockaddr_in*>(&answer->address);
      ::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    info.ai_addrlen = sizeof *v4;
  } else {
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&answer->address);
    if (::inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) != 1) {
      std::abort();  // the test named something that is no address
    }
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    info.ai_addrlen = sizeof *v6;
  }
  info.ai_family = answer->address.ss_family;
  info.ai_socktype = SOCK_STREAM;
  info.ai_protocol = IPPROTO_TCP;
  info.ai_addr = reinterpret_cast<sockaddr*>(&answer->address);
  return answer;
}

int answer_for(std::string_view name, std::string_view service, addrinfo** result) {
  std::uint16_t port = 0;
  std::from_chars(service.data(), service.data() + service.size(), port);
  Answers answers;
  for (const std::string& address : OutsideWorld::get().look_up(name)) {
    answers.push_back(make_answer(address, port));
    if (answers.size() > 1) {
      answers[answers.size() - 2]->info.ai_next = &answers.back()->info;
    }
  }
  if (answers.empty()) {
    return EAI_NONAME;
  }
  *result = &answers.front()->info;
  own_answers().add(std::move(answers));
  return 0;
}

}  // namespace

OutsideWorld& OutsideWorld::get() {
  static OutsideWorld world;
  return world;
}

void OutsideWorld::set_name(std::string_view name, std::vector<std::string> addresses) {
  const std::lock_guard lock(mutex_);
  names_.insert_or_assign(std::string(name), Name{.addresses = std::move(addresses)});
}

std::size_t OutsideWorld::lookups(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(name);
  return found == names_.end() ? 0 : found->second.lookups;
}

std::size_t OutsideWorld::attempts(const std::string& address, std::uint16_t port) const {
  const std::lock_guard lock(mutex_);
  const auto found = attempts_.find({address, port});
  return found == attempts_.end() ? 0 : found->second;
}

std::size_t OutsideWorld::attempts(const std::string& address) const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [to, count] : attempts_) {
    sum += to.first == address ? count : 0;
  }
  return sum;
}

void OutsideWorld::forget_attempts() {
  const std::lock_guard lock(mutex_);
  attempts_.clear();
}

std::vector<std::string> OutsideWorld::look_up(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(name);
  if (found == names_.end()) {
    return {};
  }
  ++found->second.lookups;
  return found->second.addresses;
}

void OutsideWorld::note_attempt(const std::string& address, std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  ++attempts_[{address, port}];
}

}  // namespace rolter::fakes

extern "C" {

int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** result) {
  using namespace rolter::fakes;
  if (name != nullptr && std::string_view(name).ends_with(".test")) {
    return answer_for(name, service == nullptr ? "" : service, result);
  }
  static auto* const real = libc_call<decltype(getaddrinfo)>("getaddrinfo");
  return real(name, service, hints, result);
}

void freeaddrinfo(addrinfo* first) {
  using namespace rolter::fakes;
  if (!own_answers().erase(first)) {
    static auto* const real = libc_call<decltype(freeaddrinfo)>("freeaddrinfo");
    real(first);
  }
}

int connect(int socket, const sockaddr* to, socklen_t size) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  std::uint16_t port = 0;
  if (to->sa_family == AF_INET) {
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(to);
    port = ntohs(v4->sin_port);
    ::inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
  } else if (to->sa_family == AF_INET6) {
    const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(to);
    port = ntohs(v6->sin6_port);
    ::inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
  }
  if (port != 0 && port < rolter::fakes::kFirstPortInside) {
    rolter::fakes::OutsideWorld::get().note_attempt(text.data(), port);
    errno = ECONNREFUSED;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_connect, socket, to, size));
}

}  // extern "C"
