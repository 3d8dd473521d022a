#pragma once
// Whether another thread has come to wait, for tests of what ends a wait.

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <thread>

namespace lanner::test {

/// Returns once the thread of this process sleeps in the kernel, as `/proc/self/task/ID/stat` tells, or after
/// a minute, which only a test that fails takes.
inline void wait_until_asleep(pid_t thread) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < deadline) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name_end = line.rfind(')');
    if (name_end != std::string::npos && line.compare(name_end + 1, 2, " S") == 0) return;
    std::this_thread::yield();
  }
}

/// A thread's number, which another thread waits for.
class ThreadNumber {
public:
  void tell() { number_.set_value(::gettid()); }
  pid_t get() { return number_.get_future().get(); }

private:
  std::promise<pid_t> number_;
};

} // namespace lanner::test
