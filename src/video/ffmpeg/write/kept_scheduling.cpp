#include "video/ffmpeg/write/kept_scheduling.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>

namespace lanner::ffmpeg {

/// By number. Empty where /proc is not mounted.
static std::vector<pid_t> threads_of_the_process() {
  std::vector<pid_t> found;
  std::error_code failed;
  std::filesystem::directory_iterator one("/proc/self/task", failed), end;
  for (; !failed && one != end; one.increment(failed)) {
    const std::string name = one->path().filename().string();
    pid_t thread = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), thread).ec == std::errc{})
      found.push_back(thread);
  }
  std::ranges::sort(found);
  return found;
}

KeptScheduling::KeptScheduling() : policy_(::sched_getscheduler(0)), before_(threads_of_the_process()) {
  ::sched_getparam(0, &parameters_);
}

KeptScheduling::~KeptScheduling() {
  if (policy_ < 0 || policy_ == SCHED_FIFO || policy_ == SCHED_RR) return; // The caller's own choice.
  if (::sched_getscheduler(0) != policy_) ::sched_setscheduler(0, policy_, &parameters_);
  for (const pid_t thread : threads_of_the_process()) {
    if (!std::ranges::binary_search(before_, thread) && ::sched_getscheduler(thread) == SCHED_FIFO)
      ::sched_setscheduler(thread, policy_, &parameters_);
  }
}

} // namespace lanner::ffmpeg
