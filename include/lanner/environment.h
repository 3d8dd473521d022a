#pragma once
// What builds, loads and contexts share in addition to the model: custom operators, backends, caches, and the
// program's resources that they use: its log, memory, threads, and limits on these.

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

/// An environment passed to a build or load applies to that engine's tuning, contexts and later variants. A
/// default-constructed one has no settings. Copies are cheap, as they share settings until one is changed: a
/// change affects that object only, and no engine that was made before. Unset settings are the process's.
/// Functions and data of its operators must stay valid until the process ends, other functions until the
/// engines, their contexts and their results are destroyed. One thread at a time per object; copies are
/// independent.
class Environment {
public:
  Environment();

  /// Adds an operator to Lanner's own. Throws Error{invalid_argument} for an incomplete or contradictory
  /// table, or where the name is taken.
  void add_operator(const lanner_operator& table);
  /// Opens a library and calls its function
  ///
  ///     lanner_status lanner_plugin(lanner_environment* environment, lanner_error** error);
  ///
  /// (lanner/c.h, docs/plugins.md), whose additions take effect when it succeeds. The library stays open for
  /// as long as the process lives. Throws Error{not_found} where there is no such library, Error{bad_data}
  /// where it is not a plug-in, else the error of its function.
  void load_plugin(const std::filesystem::path& library);
  /// `acme.scale 1`: name and version of each added operator, by name.
  std::vector<std::string> operators() const;

  /// Restricts kernels to these backends: of `cuda`, `onednn`, `cpu` and `reference`, in any order; empty:
  /// all. Where no listed backend has a kernel, the operators' definitions (`reference`) are used; added
  /// operators are always available. A loaded plan with kernels of other backends is tuned again. Throws
  /// Error{invalid_argument} for an unknown name, Error{unsupported} where oneDNN is requested and its module
  /// is missing. A build or load for a GPU without `cuda` fails.
  void set_backends(const std::vector<std::string>& names);
  /// The backends, in the order in which they are queried for kernels.
  std::vector<std::string> backends() const;

  /// Folder in which builds store timings and look first for measured machine limits; empty:
  /// LANNER_CACHE_DIR, or the user's cache folder.
  void set_cache_folder(const std::filesystem::path& folder);

  /// Receives messages while engines are built, loaded or run with this environment, instead of the process's
  /// set_log_callback() (lanner/log.h); empty: the process's. The same rules apply.
  void set_log_callback(LogCallback callback);
  /// Allocates the memory of its engines and their contexts, during builds too: weights, scratch memory,
  /// results, copies, on the host and on GPUs; null: Lanner's own allocator. Characters of strings, graphs
  /// and kernels are allocated elsewhere. A null result is Error{out_of_memory}. Throws
  /// Error{invalid_argument} where a function is missing.
  void set_allocator(const lanner_allocator* allocator);
  /// Runs loops of its engines and contexts instead of the executor of set_executor() (lanner/threads.h), by
  /// its rules; null: the process's. It is held as long as it may be called. Throws Error{invalid_argument}
  /// without a `run`.
  void set_executor(std::shared_ptr<const Executor> executor);
  /// Threads of engines that are made without an explicit number; 0: default_threads(). Throws
  /// Error{invalid_argument} for numbers below 0 or above 4096.
  void set_threads(int count);
  /// Limits on every build, load and run, besides the limits passed to it; members left at their defaults add
  /// none. `total_bytes` bounds all its engines together, with their contexts and results, on the host and on
  /// GPUs; engines made earlier count too.
  void set_limits(const Limits& limits);

  const EnvironmentState& state() const noexcept { return *state_; }

private:
  EnvironmentState& changed();
  std::shared_ptr<const EnvironmentState> state_;
};

} // namespace lanner

/// The environment of <lanner/c.h>.
struct lanner_environment {
  lanner::Environment environment;
};
