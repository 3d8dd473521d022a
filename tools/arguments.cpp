#include "arguments.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include <lanner/doctor.h>
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

std::optional<Shape> shape_of(std::string_view text) {
  Shape shape;
  for (const std::string_view part : split(text, 'x')) {
    const auto size = whole_text<std::int64_t>(part);
    if (!size || *size < 0) return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

/// `1x8`, or min, opt and max: `1x8:4x8:16x8`.
std::optional<ShapeRange> range_of(std::string_view text) {
  std::vector<Shape> shapes;
  for (const std::string_view part : split(text, ':')) {
    auto shape = shape_of(part);
    if (!shape) return std::nullopt;
    shapes.push_back(std::move(*shape));
  }
  if (shapes.size() == 1) return ShapeRange::fixed(shapes[0]);
  if (shapes.size() != 3) return std::nullopt;
  return ShapeRange{shapes[0], shapes[1], shapes[2]};
}

} // namespace

double parse_duration(const std::string& text) {
  constexpr std::pair<std::string_view, double> units[] = {{"ms", 1e-3}, {"us", 1e-6}, {"min", 60},
                                                           {"m", 60},    {"h", 3600},  {"s", 1}};
  std::string_view digits = text;
  double scale = 1;
  for (const auto& [unit, seconds] : units) {
    if (!digits.ends_with(unit)) continue;
    digits.remove_suffix(unit.size());
    scale = seconds;
    break;
  }
  const auto value = whole_text<double>(digits);
  check(value && std::isfinite(*value) && *value >= 0 && *value * scale < 1e9, ErrorCode::invalid_argument,
        "duration '{}': expected a time like 10s, 500ms or 1.5", text);
  return *value * scale;
}

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

std::pair<std::string, ShapeRange> parse_shape(const std::string& text) {
  const auto parts = split(text, ':');
  const std::size_t count = parts.size();
  const auto name_of = [&](std::size_t shapes) {
    std::size_t length = 0;
    for (std::size_t i = 0; i + shapes < count; ++i) length += parts[i].size() + 1;
    return text.substr(0, length - 1);
  };
  if (count >= 4) {
    const auto smallest = shape_of(parts[count - 3]), opt = shape_of(parts[count - 2]),
               largest = shape_of(parts[count - 1]);
    if (smallest && opt && largest) return {name_of(3), ShapeRange{*smallest, *opt, *largest}};
  }
  const auto shape = count >= 2 ? shape_of(parts[count - 1]) : std::nullopt;
  check(shape && !name_of(1).empty(), ErrorCode::invalid_argument,
        "shape '{}': expected NAME:SIZES like input:1x3x224x224, or min, opt and max: "
        "input:1x3x8x8:4x3x8x8:8x3x8x8",
        text);
  return {name_of(1), ShapeRange::fixed(*shape)};
}

std::map<std::string, ShapeRange> parse_profile(const std::string& text) {
  std::map<std::string, ShapeRange> profile;
  std::string piece; // of one input: a name may hold what separates inputs
  for (const std::string_view part : split(text, ',')) {
    piece += part;
    const std::size_t end = piece.rfind('=');
    const auto range =
        end == std::string::npos ? std::nullopt : range_of(std::string_view(piece).substr(end + 1));
    if (!range || end == 0) {
      piece += ',';
      continue;
    }
    const std::string name = piece.substr(0, end);
    check(profile.emplace(name, *range).second, ErrorCode::invalid_argument,
          "profile '{}': input '{}' comes twice", text, name);
    piece.clear();
  }
  check(piece.empty(), ErrorCode::invalid_argument,
        "profile '{}': expected INPUT=MIN:OPT:MAX like input=1x3x8x8:4x3x8x8:8x3x8x8, several "
        "inputs comma separated",
        text);
  return profile;
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

std::int64_t parse_bit_rate(const std::string& text) {
  std::string_view digits = text;
  double scale = 1;
  if (digits.ends_with('k') || digits.ends_with('K')) scale = 1e3;
  if (digits.ends_with('m') || digits.ends_with('M')) scale = 1e6;
  if (digits.ends_with('g') || digits.ends_with('G')) scale = 1e9;
  if (scale != 1) digits.remove_suffix(1);
  const auto value = whole_text<double>(digits);
  check(value && *value > 0 && *value * scale < 1e12, ErrorCode::invalid_argument,
        "bit rate '{}': expected bits a second, like 4M or 800k", text);
  return static_cast<std::int64_t>(*value * scale);
}

Device parse_device(const std::string& text) {
  return text == "auto" ? automatic_device() : Device::parse(text);
}

} // namespace lanner::tool
