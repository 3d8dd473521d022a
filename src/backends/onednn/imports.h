#pragma once
// What a loaded library imports, and from where it got it.

#include <string>
#include <vector>

namespace lanner::onednn {

struct Import {
  std::string name;
  const void* bound =
      nullptr; ///< What calls of it reach now; for a function bound at its first call, the stub.
};

/// Functions whose names start with one of `prefixes`, imported by the loaded library that defines
/// `function_of_it`. Empty also where the library's tables are not of a known form.
std::vector<Import> imports_of(const void* function_of_it, const std::vector<std::string>& prefixes);

} // namespace lanner::onednn
