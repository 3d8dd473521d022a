#pragma once
// What a loaded library imports, and from which library.

#include <string>
#include <vector>

namespace lanner::onednn {

struct Import {
  std::string name;
  const void* bound = nullptr; ///< The current call target; the stub for a function that is bound lazily.
};

/// Functions whose names start with one of `prefixes`, imported by the loaded library that defines
/// `function_of_it`. Also empty where the library's tables have an unknown format.
std::vector<Import> imports_of(const void* function_of_it, const std::vector<std::string>& prefixes);

} // namespace lanner::onednn
