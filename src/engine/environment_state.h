#pragma once
// What copies of an Environment share.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <lanner/environment.h>

#include "graph/op.h"

namespace lanner {

/// Immutable once an engine has it.
struct EnvironmentState {
  OpTable ops;
  std::vector<std::string> added;     ///< Names of operators that are not Lanner's own, in order.
  std::filesystem::path cache_folder; ///< Empty: the process's.

  std::filesystem::path timing_cache() const; ///< The file; empty: none is kept.
};

} // namespace lanner
