#pragma once
// Scheduling of threads, kept as it was while an encoder is opened.

#include <sched.h>
#include <sys/types.h>

#include <vector>

namespace lanner::ffmpeg {

/// For its lifetime code of others may start threads; at its end the calling thread has the policy that it
/// had before, and threads of the process that are new have it too. SVT-AV1 gives itself and the thread that
/// opens it real-time priority (SCHED_FIFO) where the process is root's: any busy thread then starves the
/// machine.
class KeptScheduling {
public:
  KeptScheduling();
  ~KeptScheduling();
  KeptScheduling(const KeptScheduling&) = delete;

private:
  int policy_;
  sched_param parameters_{};
  std::vector<pid_t> before_; ///< Threads of the process.
};

} // namespace lanner::ffmpeg
