#pragma once

#include <cstddef>

namespace rolter::fakes {

/// Which of the gateway's system calls on sockets fail: its serving loops' recv, sendmsg, connect
/// and accept, counted from fail_io() on. A program that links io_faults.cpp has its own of these
/// four in place of libc's; other threads' calls pass unseen. As boost::beast::test::fail_count,
/// for sockets.
enum class IoFaults : unsigned char {
  kNone,
  kOne,      // the n-th call
  kFromOne,  // the n-th and all that follow
};

void fail_io(IoFaults which, std::size_t nth);

/// Back to normal. Returns how many calls have failed.
std::size_t mend_io();

}  // namespace rolter::fakes
