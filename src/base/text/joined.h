#pragma once
// Lists of words in messages.

#include <concepts>
#include <ranges>
#include <string>
#include <string_view>

namespace lanner {

/// The texts of `words` with `separator` between them: `a, b, c`.
template<std::ranges::input_range Words>
requires std::convertible_to<std::ranges::range_reference_t<Words>, std::string_view> std::string
joined(Words&& words, std::string_view separator) {
  std::string text;
  bool first = true;
  for (std::string_view word : words) {
    if (!first) text += separator;
    text += word;
    first = false;
  }
  return text;
}

} // namespace lanner
