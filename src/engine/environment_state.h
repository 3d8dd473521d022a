#pragma once
// State shared by copies of an Environment.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <lanner/environment.h>

#include "base/threads/thread_settings.h"
#include "graph/op.h"

namespace lanner {

/// Immutable once an engine uses it.
struct EnvironmentState {
  OpTable ops;
  std::vector<std::string> added;     ///< Names of added operators, in order.
  std::vector<std::string> backends;  ///< Backends whose kernels are used; empty: all.
  std::filesystem::path cache_folder; ///< Empty: the process's.
  int threads = 0;                    ///< For engines without a given number; 0: the process's.
  std::shared_ptr<const ThreadSettings> thread_settings; ///< Null where nothing is set.

  std::filesystem::path timing_cache() const; ///< The file; empty: none.
  /// Number of threads of an engine without a given number.
  int team() const;
  /// The stricter of its limits and these.
  Limits within(const Limits& limits) const;
};

} // namespace lanner
