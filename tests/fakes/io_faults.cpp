#include "tests/fakes/io_faults.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

#include "tests/fakes/libc_call.h"

namespace rolter::fakes {
namespace {

std::atomic<IoFaults> faults{IoFaults::kNone};
std::atomic<std::size_t> calls{0};
std::atomic<std::size_t> first_fault{0};
std::atomic<std::size_t> failed{0};

bool on_serving_loop() {
  thread_local const bool serving = [] {
    std::array<char, 32> name{};
    ::pthread_getname_np(::pthread_self(), name.data(), name.size());
    return std::string_view(name.data()).starts_with("rolter-loop");
  }();
  return serving;
}

bool fails() {
  const IoFaults which = faults;
  if (which == IoFaults::kNone || !on_serving_loop()) {
    return false;
  }
  const std::size_t call = ++calls;
  const bool failing = which == IoFaults::kOne ? call == first_fault : call >= first_fault;
  failed += failing ? 1 : 0;
  return failing;
}

}  // namespace

void fail_io(IoFaults which, std::size_t nth) {
  calls = 0;
  failed = 0;
  first_fault = nth;
  faults = which;
}

std::size_t mend_io() {
  faults = IoFaults::kNone;
  return failed;
}

}  // namespace rolter::fakes

extern "C" {

ssize_t recv(int socket, void* into, std::size_t size, int flags) {
  static auto* const real = rolter::fakes::libc_call<decltype(recv)>("recv");
  if (rolter::fakes::fails()) {
    errno = ECONNRESET;
    return -1;
  }
  return real(socket, into, size, flags);
}

ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  static auto* const real = rolter::fakes::libc_call<decltype(sendmsg)>("sendmsg");
  if (rolter::fakes::fails()) {
    errno = EPIPE;
    return -1;
  }
  return real(socket, message, flags);
}

int connect(int socket, const sockaddr* address, socklen_t size) {
  static auto* const real = rolter::fakes::libc_call<decltype(connect)>("connect");
  if (rolter::fakes::fails()) {
    errno = ECONNREFUSED;
    return -1;
  }
  return real(socket, address, size);
}

int accept(int socket, sockaddr* address, socklen_t* size) {
  static auto* const real = rolter::fakes::libc_call<decltype(accept)>("accept");
  const int accepted = real(socket, address, size);
  if (accepted >= 0 && rolter::fakes::fails()) {
    ::close(accepted);  // as the kernel takes a connection that was aborted out of its queue
    errno = ECONNABORTED;
    return -1;
  }
  return accepted;
}

}  // extern "C"
