#include "hostile_operators/driver.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <fmt/format.h>

namespace lanner::hostile {
namespace {

using Clock = std::chrono::steady_clock;

/// Shared memory between the worker and its supervisor.
struct Shared {
  std::atomic<std::size_t> current;
  Summary summary; ///< Written by the worker while it runs.
};

class SharedMemory {
public:
  SharedMemory()
      : shared_(static_cast<Shared*>(
            ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (shared_ == MAP_FAILED) throw std::runtime_error("no memory to share");
    new (shared_) Shared();
  }
  ~SharedMemory() { ::munmap(shared_, sizeof(Shared)); }
  SharedMemory(const SharedMemory&) = delete;
  Shared* operator->() const { return shared_; }

private:
  Shared* shared_;
};

void tell(std::size_t number, const Case& made, const std::string& what) {
  fmt::print("case {}: {}\n  {}\n{}", number, made.name, what, graph_text(made.seed));
  std::fflush(stdout);
}

/// A line of /proc/self/status, in bytes.
std::uint64_t status_bytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::stoull(line.substr(field.size() + 1)) << 10;
  return 0;
}

void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

class Worker {
public:
  Worker(const Cases& cases, const DriverOptions& options, const SharedMemory& shared)
      : cases_(cases), options_(options), shared_(shared) {}

  void run(std::size_t first) {
    for (std::size_t number = first; number < std::min(options_.last, cases_.count()); ++number) {
      const Case made = cases_.at(number);
      if (number % options_.every != 0 && !made.untouched) continue;
      shared_->current = number;
      run_one(number, made);
    }
  }

private:
  void run_one(std::size_t number, const Case& made) {
    forget_peak();
    const std::uint64_t before = status_bytes("VmRSS:");
    const Outcome outcome = run_case(made.seed, number, made.untouched);
    const std::uint64_t peak = status_bytes("VmHWM:");
    Summary& summary = shared_->summary;
    ++summary.ends[static_cast<std::size_t>(outcome.end)];
    summary.kernels += outcome.kernels;
    const bool told = is_finding(outcome.end);
    if (told) tell(number, made, fmt::format("{}: {}", to_string(outcome.end), outcome.message));
    if (peak > before + case_limits().total_bytes + options_.spare_bytes) {
      ++summary.large;
      tell(number, made,
           fmt::format("it takes {} MiB where {} MiB are allowed", (peak - before) >> 20,
                       case_limits().total_bytes >> 20));
    }
    const bool runs = outcome.end == End::ran || outcome.end == End::not_run || made.seed.op == "fail";
    if (made.untouched && !runs && !outcome.late) {
      ++summary.invalid_seeds;
      tell(number, made, "the seed itself does not run: " + outcome.message);
    }
  }

  const Cases& cases_;
  const DriverOptions& options_;
  const SharedMemory& shared_;
};

/// Waits for the worker; empty where it succeeded, else how it ended.
std::string watch(pid_t worker, const SharedMemory& shared, double hang_seconds, bool& hung) {
  std::size_t seen = SIZE_MAX;
  Clock::time_point since = Clock::now();
  for (;;) {
    int status = 0;
    if (::waitpid(worker, &status, WNOHANG) == worker) {
      if (WIFSIGNALED(status))
        return fmt::format("the process ends by signal {} ({})", WTERMSIG(status),
                           ::strsignal(WTERMSIG(status)));
      return WEXITSTATUS(status) == 0 ? "" : fmt::format("the process ends with {}", WEXITSTATUS(status));
    }
    if (shared->current != seen) {
      seen = shared->current;
      since = Clock::now();
    }
    if (std::chrono::duration<double>(Clock::now() - since).count() > hang_seconds) {
      ::kill(worker, SIGKILL);
      ::waitpid(worker, &status, 0);
      hung = true;
      return fmt::format("it does not end in {} s", hang_seconds);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

} // namespace

std::size_t Summary::findings() const {
  const auto of = [&](End end) { return ends[static_cast<std::size_t>(end)]; };
  return of(End::internal) + of(End::foreign) + of(End::wrong) + crashed + hung + large + invalid_seeds;
}

std::string Summary::text() const {
  std::string text;
  for (std::size_t e = 0; e < ends.size(); ++e)
    text += fmt::format("{} {}, ", ends[e], to_string(static_cast<End>(e)));
  return text +
         fmt::format("{} crashed, {} did not end, {} took too much memory, {} seeds do not run; {} kernels",
                     crashed, hung, large, invalid_seeds, kernels);
}

Summary drive(const Cases& cases, const DriverOptions& options) {
  const SharedMemory shared;
  std::size_t next = options.first;
  while (next < std::min(options.last, cases.count())) {
    std::fflush(stdout);
    const pid_t worker = ::fork();
    if (worker < 0) throw std::runtime_error(fmt::format("fork: {}", std::strerror(errno)));
    if (worker == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      Worker(cases, options, shared).run(next);
      std::fflush(stdout);
      ::_exit(0); // skips the leak check for the memory of killed threads
    }
    bool hung = false;
    const std::string failure = watch(worker, shared, options.hang_seconds, hung);
    if (failure.empty()) break;
    const std::size_t number = shared->current;
    ++(hung ? shared->summary.hung : shared->summary.crashed);
    tell(number, cases.at(number), failure);
    next = number + 1;
  }
  return shared->summary;
}

} // namespace lanner::hostile
