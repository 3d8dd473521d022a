#pragma once
// What copies of an Environment share.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <lanner/environment.h>

#include "base/threads/thread_settings.h"
#include "graph/op.h"

namespace lanner {

/// Immutable once an engine has it.
struct EnvironmentState {
  OpTable ops;
  std::vector<std::string> added;     ///< Names of operators that are not Lanner's own, in order.
  std::vector<std::string> backends;  ///< Of which kernels are taken; empty: all.
  std::filesystem::path cache_folder; ///< Empty: the process's.
  int threads = 0;                    ///< Of engines that were given no number; 0: the process's.
  std::shared_ptr<const ThreadSettings> thread_settings; ///< Null where they say nothing.

  std::filesystem::path timing_cache() const; ///< The file; empty: none is kept.
  /// Threads of an engine that is made without a number.
  int team() const;
  /// What it and these limits allow.
  Limits within(const Limits& limits) const;
};

} // namespace lanner
