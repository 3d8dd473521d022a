#pragma once
// Names of enumerators, in their order.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/text/nearest.h"
#include "base/text/one_line.h"

namespace lanner::tasks {

inline constexpr std::size_t shown_text = 80; ///< Most bytes of external text that a message shows.

template<std::size_t N>
std::string joined_names(const std::string_view (&names)[N]) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

template<typename Enum, std::size_t N>
std::string_view name_of(Enum value, const std::string_view (&names)[N]) noexcept {
  const auto i = static_cast<std::size_t>(value);
  return i < N ? names[i] : "?";
}

template<typename Enum, std::size_t N>
Enum value_of(std::string_view what, std::string_view name, const std::string_view (&names)[N]) {
  const auto found = std::find(names, names + N, name);
  check(found != names + N, ErrorCode::invalid_argument, "{} '{}' is not known: expected one of {}{}", what,
        one_line(name, shown_text), joined_names(names),
        did_you_mean(name, std::vector<std::string>(names, names + N)));
  return static_cast<Enum>(found - names);
}

} // namespace lanner::tasks
