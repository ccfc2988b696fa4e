#pragma once

#include <dlfcn.h>

namespace rolter::fakes {

/// libc's own function of that name, in a program that has one in its place.
template <typename Function>
[[nodiscard]] Function* libc_call(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace rolter::fakes
