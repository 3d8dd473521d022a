#pragma once
// Names of threads, as `top -H` and debuggers show them.

#include <pthread.h>

#include <string>
#include <string_view>
#include <thread>

namespace lanner {

/// Truncated to Linux's limit of 15 characters.
inline void name_thread(std::thread& thread, std::string_view name) {
  ::pthread_setname_np(thread.native_handle(), std::string(name.substr(0, 15)).c_str());
}

} // namespace lanner
