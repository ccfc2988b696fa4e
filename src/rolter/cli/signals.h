#pragma once

#include <csignal>
#include <initializer_list>

namespace rolter::cli {

/// Blocks the signals in this thread and in those it starts from now on, and returns them for
/// next_signal(). Before any other thread starts.
[[nodiscard]] sigset_t take_over_signals(std::initializer_list<int> signals);

/// Waits for one of them.
[[nodiscard]] int next_signal(const sigset_t& signals);

}  // namespace rolter::cli
