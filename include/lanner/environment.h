#pragma once
// What builds, loads and contexts share beside the model: operators from outside, backends, caches, and what
// they take of the program around them: its log, memory, threads, and how much of all that.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <lanner/allocator.h>
#include <lanner/limits.h>
#include <lanner/log.h>
#include <lanner/operator.h>

namespace lanner {

struct EnvironmentState;
struct Executor;

/// Given to a build or a load it serves everything of that engine: its tuning, its contexts, its later
/// variants. One that says nothing is the default. Copies share and cost nothing; a change makes the
/// environment that is changed another one, so that an engine keeps what it was given. What it does not say
/// is the process's. What its operators point to has to last until the process ends, other functions until
/// the engines are gone, their contexts and what they gave out. One thread at a time; copies are apart.
class Environment {
public:
  Environment();

  /// Adds an operator to Lanner's own. Throws Error{invalid_argument} where the table lacks or contradicts
  /// something, or the name is taken.
  void add_operator(const lanner_operator& table);
  /// Opens a library and calls its function
  ///
  ///     lanner_status lanner_plugin(lanner_environment* environment, lanner_error** error);
  ///
  /// (lanner/c.h, docs/plugins.md), whose additions count when it succeeds. The library stays open for as
  /// long as the process lives. Throws Error{not_found} where there is no such library, Error{bad_data} where
  /// it is no plug-in, else what its function failed with.
  void load_plugin(const std::filesystem::path& library);
  /// `acme.scale 1`: name and version of each operator that was added, by name.
  std::vector<std::string> operators() const;

  /// Kernels come from these backends alone: of `cuda`, `onednn`, `cpu` and `reference`, in any order; empty:
  /// of all again. `reference`, the operators' definitions, serves beside them where none has a kernel, and
  /// so do operators that were added. A loaded plan that has kernels of others is tuned again. Throws
  /// Error{invalid_argument} for another name, Error{unsupported} where oneDNN's module is asked for and
  /// missing. A build or load for a GPU without `cuda` fails.
  void set_backends(const std::vector<std::string>& names);
  /// Those, in the order in which they are asked for kernels.
  std::vector<std::string> backends() const;

  /// Where builds keep timings, and look first for what was measured of the machine; empty: the folder that
  /// LANNER_CACHE_DIR names, or the user's.
  void set_cache_folder(const std::filesystem::path& folder);

  /// Receives what is said while engines are built, loaded or run with this environment, in place of what
  /// set_log_callback() (lanner/log.h) names; empty: that one again. By its rules.
  void set_log_callback(LogCallback callback);
  /// Gives the memory that its engines and their contexts take, while they are built too: weights, scratch
  /// memory, results, copies, on the host and on GPUs; null: Lanner's own again. Characters of strings,
  /// graphs and kernels lie elsewhere. An answer of null is Error{out_of_memory}. Throws
  /// Error{invalid_argument} where a function is missing.
  void set_allocator(const lanner_allocator* allocator);
  /// Runs loops of its engines and contexts in place of the executor that set_executor() (lanner/threads.h)
  /// names, by its rules; null: that one again. Held as long as it may be called. Throws
  /// Error{invalid_argument} without a `run`.
  void set_executor(std::shared_ptr<const Executor> executor);
  /// Threads of engines that are made without a number of their own; 0: what default_threads() says. Throws
  /// Error{invalid_argument} for numbers below 0 or above 4096.
  void set_threads(int count);
  /// What no build, load or run may pass, whatever the limits are that it is given beside; members at their
  /// defaults say nothing. A `total_bytes` bounds all its engines together, with their contexts and what
  /// these gave out, on the host and on GPUs; what engines made earlier hold counts too.
  void set_limits(const Limits& limits);

  const EnvironmentState& state() const noexcept { return *state_; }

private:
  EnvironmentState& changed();
  std::shared_ptr<const EnvironmentState> state_;
};

} // namespace lanner

/// What <lanner/c.h> calls an environment.
struct lanner_environment {
  lanner::Environment environment;
};
