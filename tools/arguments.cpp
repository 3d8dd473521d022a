#include "arguments.h"

#include <charconv>
#include <cmath>
#include <limits>
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

std::optional<float> number(std::string_view text) {
  const auto value = whole_text<float>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

} // namespace

std::pair<std::int32_t, std::int32_t> parse_size(const std::string& text) {
  const auto parts = split(text, 'x');
  const std::int32_t width = whole_text<std::int32_t>(parts[0]).value_or(0);
  const std::int32_t height = parts.size() == 2   ? whole_text<std::int32_t>(parts[1]).value_or(0)
                              : parts.size() == 1 ? width
                                                  : 0;
  check(width > 0 && height > 0 && width <= 65536 && height <= 65536, ErrorCode::invalid_argument,
        "size '{}': expected width and height like 224x224", text);
  return {width, height};
}

std::array<float, 3> parse_three(const std::string& text, const std::string& option) {
  const auto parts = split(text, ',');
  std::array<float, 3> values{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto value = number(parts[parts.size() == 3 ? i : 0]);
    check(value && (parts.size() == 1 || parts.size() == 3), ErrorCode::invalid_argument,
          "{} '{}': expected one number, or three like 0.485,0.456,0.406", option, text);
    values[i] = *value;
  }
  return values;
}

std::array<float, 2> parse_range(const std::string& text, const std::string& option) {
  const bool dots = text.find("..") != std::string::npos;
  const std::size_t at = dots ? text.find("..") : text.find(',');
  const std::string_view whole = text;
  constexpr float none = std::numeric_limits<float>::quiet_NaN();
  const float low = number(whole.substr(0, at)).value_or(none);
  const float high =
      at == std::string::npos ? none : number(whole.substr(at + (dots ? 2 : 1))).value_or(none);
  check(std::isfinite(low) && std::isfinite(high) && low != high, ErrorCode::invalid_argument,
        "{} '{}': expected what 0 and 255 become, like 0,1 or -1,1", option, text);
  return {low, high};
}

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
