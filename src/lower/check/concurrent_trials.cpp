// Trials of one kernel by several threads at once.

#include <exception>
#include <latch>
#include <span>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/limits/account.h"
#include "lower/check/trial.h"

namespace lanner {

Verdict side_by_side(std::span<Trial* const> trials, std::size_t runs) {
  struct Finding {
    Verdict verdict;
    std::exception_ptr missing; ///< Why the run could not be made.
  };
  std::vector<Finding> found(trials.size());
  std::latch start(static_cast<std::ptrdiff_t>(trials.size()));
  const ThreadBounds bounds = thread_bounds();
  const auto run = [&](std::size_t i) {
    set_thread_bounds(bounds);
    start.arrive_and_wait();
    try {
      found[i].verdict = trials[i]->repeat(runs);
    } catch (const Error& error) {
      const bool kernels = error.code() != ErrorCode::cancelled && error.code() != ErrorCode::out_of_memory &&
                           error.code() != ErrorCode::limit_exceeded;
      if (kernels)
        found[i].verdict = {fmt::format("it fails: {}", error.message())};
      else
        found[i].missing = std::current_exception();
    } catch (...) {
      found[i].missing = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < trials.size(); ++i) threads.emplace_back(run, i);
  }
  for (const Finding& one : found)
    if (!one.verdict.right()) return {fmt::format("while another context runs: {}", one.verdict.wrong)};
  for (const Finding& one : found)
    if (one.missing) std::rethrow_exception(one.missing);
  return {};
}

} // namespace lanner
