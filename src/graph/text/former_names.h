#pragma once
// Operators that had another name in IR, and so in plans, written before.

#include <string_view>

namespace lanner {

/// The name that an operator has now; `name` itself where it was not renamed.
constexpr std::string_view current_name(std::string_view name) {
  if (name == "by_rows") return "row_blocks";
  if (name == "picture") return "preprocess_images";
  return name;
}

} // namespace lanner
