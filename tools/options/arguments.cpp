#include "options/arguments.h"

#include <charconv>
#include <optional>
#include <string_view>

#include <lanner/error.h>

#include "check.h"

namespace lanner::tool {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template<typename Number>
std::optional<Number> whole_text(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

} // namespace

std::vector<int> parse_counts(const std::string& text, const char* option) {
  std::vector<int> counts;
  for (const std::string_view part : split(text, ',')) {
    const auto count = whole_text<int>(part);
    check(count && *count >= 1 && *count <= 65536, ErrorCode::invalid_argument,
          "{} '{}': expected whole numbers from 1 to 65536, separated by commas", option, text);
    counts.push_back(*count);
  }
  return counts;
}

} // namespace lanner::tool
