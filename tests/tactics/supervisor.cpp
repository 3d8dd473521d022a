#include "tactics/supervisor.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "tactics/child.h"
#include "tactics/rows.h"
#include "tactics/worker.h"

namespace lanner::sweep {
namespace {

using Clock = std::chrono::steady_clock;

/// Lines are appended atomically, so that several sweeps may share a log.
class LogFile {
public:
  explicit LogFile(const std::filesystem::path& path)
      : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
    check(file_ >= 0, ErrorCode::io, "--log {}: {}", path.string(), std::strerror(errno));
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() { ::close(file_); }

  void add(const Row& row) const {
    const std::string line = row.dump() + "\n";
    check(::write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size()), ErrorCode::io,
          "--log {}: {}", path_.string(), std::strerror(errno));
  }

private:
  std::filesystem::path path_;
  int file_;
};

class Supervisor {
public:
  explicit Supervisor(const Supervision& supervision) : supervision_(supervision), log_(supervision.log) {}

  Sitting run() {
    while (run_worker()) {
    }
    return sitting_;
  }

private:
  double seconds_left() const {
    return supervision_.seconds - std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  /// Runs a worker; returns whether to start another one.
  bool run_worker() {
    within_ = trying_ = nullptr;
    rows_ = 0;
    Child child(supervision_.command(seconds_left()));
    std::string line;
    for (;;) {
      const Child::Next next = child.read(line, supervision_.timeout);
      if (next == Child::Next::line) {
        take(line);
        continue;
      }
      if (next == Child::Next::end) return ended(child.wait());
      child.kill();
      child.wait();
      return blame(fmt::format("it does not end in {} s", supervision_.timeout));
    }
  }

  void take(const std::string& line) {
    if (line.starts_with(trying_prefix)) {
      const Row row = Row::parse(line.substr(trying_prefix.size()));
      (row.at("what") == "tactic" ? trying_ : within_) = row;
    } else if (line.starts_with(row_prefix)) {
      const Row row = Row::parse(line.substr(row_prefix.size()));
      (row.at("what") == "tactic" ? trying_ : within_) = nullptr;
      add(row);
    } else {
      const std::size_t skipped = line.starts_with(words_prefix) ? words_prefix.size() : 0;
      fmt::print(stderr, "{}; {} right, {} wrong, {} untried\n", line.substr(skipped), sitting_.right,
                 sitting_.wrong, sitting_.untried);
    }
  }

  void add(const Row& row) {
    ++rows_;
    log_.add(row);
    const std::string verdict = row.at("verdict");
    const bool tactic = row.at("what") == "tactic";
    if (verdict == "right") {
      sitting_.right += tactic;
      return;
    }
    ++(verdict == "wrong" ? sitting_.wrong : sitting_.untried);
    fmt::print(stderr, "{}: {} {}: {}: {}\n", verdict, row.value("backend", ""), row.value("kernel", ""),
               row.value("problem", ""), row.value("reason", ""));
  }

  bool ended(int status) {
    if (WIFEXITED(status)) {
      sitting_.complete = WEXITSTATUS(status) == all_done;
      if (sitting_.complete || WEXITSTATUS(status) == time_is_up) return false;
      if (WEXITSTATUS(status) == start_again && rows_ > 0) return seconds_left() > 0;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == refused) {
      sitting_.failure = "the worker says why";
      return false;
    }
    return blame(fmt::format("it ends the process by {}", ending_text(status)));
  }

  /// Marks the tactic under test when the worker ended as wrong; the next worker continues after it.
  bool blame(const std::string& reason) {
    Row row = trying_.is_null() ? within_ : trying_;
    if (row.is_null()) {
      sitting_.failure = "outside of any tactic: " + reason;
      return false;
    }
    Finding finding;
    finding.wrong = reason;
    conclude(row, finding, 0);
    add(row);
    return seconds_left() > 0;
  }

  const Supervision& supervision_;
  const LogFile log_;
  const Clock::time_point begin_ = Clock::now();
  Row within_, trying_; ///< The problem or build, and the tactic, that the worker has begun.
  std::size_t rows_ = 0;
  Sitting sitting_;
};

} // namespace

Sitting supervise(const Supervision& supervision) {
  return Supervisor(supervision).run();
}

} // namespace lanner::sweep
