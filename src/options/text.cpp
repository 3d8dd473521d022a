// Parses options from text, as on the command line.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/ranges.h>

#include <lanner/option_table.h>

#include "base/check.h"
#include "options/c_fields.h"

namespace lanner {
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
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
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

/// `input:1x3x224x224`, or min, opt and max: `input:1x3x8x8:4x3x8x8:8x3x8x8`. Names may hold colons.
NamedShapes parse_shape(const std::string& text) {
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
    if (smallest && opt && largest) return {{name_of(3), ShapeRange{*smallest, *opt, *largest}}};
  }
  const auto shape = count >= 2 ? shape_of(parts[count - 1]) : std::nullopt;
  check(shape && !name_of(1).empty(), ErrorCode::invalid_argument,
        "shape '{}': expected NAME:SIZES like input:1x3x224x224, or min, opt and max: "
        "input:1x3x8x8:4x3x8x8:8x3x8x8",
        text);
  return {{name_of(1), ShapeRange::fixed(*shape)}};
}

/// `x=1x8:4x8:16x8,mask=1x8:4x8:16x8`: min, opt and max shape of inputs, or one shape for all three. Names
/// may hold commas and equals signs.
NamedShapes parse_profile(const std::string& text) {
  NamedShapes profile;
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

/// `/head/*=fp32`.
NamedTexts parse_pair(const OptionInfo& info, const std::string& text) {
  const std::size_t at = info.last_equals ? text.rfind('=') : text.find('=');
  const bool whole =
      at != std::string::npos && at > 0 && (info.empty_texts || info.last_equals || at + 1 < text.size());
  check(whole, ErrorCode::invalid_argument, "{} '{}': expected {}{}", info.flag, text, info.metavar,
        info.example.empty() ? std::string() : fmt::format(" like '{}'", info.example));
  return {{text.substr(0, at), text.substr(at + 1)}};
}

std::vector<std::string> parse_texts(const OptionInfo& info, const std::string& text) {
  if (!info.comma_separated) return {text};
  const auto parts = split(text, ',');
  return {parts.begin(), parts.end()};
}

/// `224x224`: width and height; `224`: both.
std::array<std::int32_t, 2> parse_size(const std::string& text) {
  const auto parts = split(text, 'x');
  const std::int32_t width = whole_text<std::int32_t>(parts[0]).value_or(0);
  const std::int32_t height = parts.size() == 2   ? whole_text<std::int32_t>(parts[1]).value_or(0)
                              : parts.size() == 1 ? width
                                                  : 0;
  check(width > 0 && height > 0 && width <= 65536 && height <= 65536, ErrorCode::invalid_argument,
        "size '{}': expected width and height like 224x224", text);
  return {width, height};
}

PixelRect parse_region(const std::string& text) {
  const auto cross = text.find('x'), first = text.find('+'),
             second = first == std::string::npos ? first : text.find('+', first + 1);
  const bool complete = cross < first && second != std::string::npos;
  const auto part = [&](std::size_t from, std::size_t to) {
    const auto value = complete ? whole_text<std::int32_t>(std::string_view(text).substr(from, to - from))
                                : std::optional<std::int32_t>();
    check(value.has_value(), ErrorCode::invalid_argument,
          "region '{}': expected WIDTHxHEIGHT+X+Y, like 640x480+100+0", text);
    return *value;
  };
  return {part(first + 1, second), part(second + 1, text.size()), part(0, cross), part(cross + 1, first)};
}

std::optional<float> finite(std::string_view text) {
  const auto value = whole_text<float>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// `0.485,0.456,0.406`, or one number for all three.
std::array<float, 3> parse_three(const std::string& text) {
  const auto parts = split(text, ',');
  std::array<float, 3> values{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto value = finite(parts[parts.size() == 3 ? i : 0]);
    check(value && (parts.size() == 1 || parts.size() == 3), ErrorCode::invalid_argument,
          "'{}': expected one number, or three like 0.485,0.456,0.406", text);
    values[i] = *value;
  }
  return values;
}

/// `20,22,24`, or one whole number for all three.
std::array<std::int32_t, 3> parse_three_integers(const std::string& text) {
  const auto parts = split(text, ',');
  std::array<std::int32_t, 3> values{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto value = whole_text<std::int32_t>(parts[parts.size() == 3 ? i : 0]);
    check(value && *value >= 0 && (parts.size() == 1 || parts.size() == 3), ErrorCode::invalid_argument,
          "'{}': expected one whole number, or three like 20,22,24", text);
    values[i] = *value;
  }
  return values;
}

/// `0,1` or `-1..1`.
std::array<float, 2> parse_two(const std::string& text) {
  const bool dots = text.find("..") != std::string::npos;
  const std::size_t at = dots ? text.find("..") : text.find(',');
  const std::string_view whole = text;
  const auto low = finite(whole.substr(0, at));
  const auto high = at == std::string::npos ? std::nullopt : finite(whole.substr(at + (dots ? 2 : 1)));
  check(low && high && *low != *high, ErrorCode::invalid_argument,
        "'{}': expected what 0 and 255 become, like 0,1 or -1,1", text);
  return {*low, *high};
}

std::int32_t parse_integer(const OptionInfo& info, const std::string& text) {
  const auto value = whole_text<std::int64_t>(text);
  using Bounds = std::numeric_limits<std::int32_t>;
  const std::string to = info.most < Bounds::max() ? fmt::format(" to {}", info.most) : " on";
  const std::string bounds = info.least > Bounds::min() ? fmt::format(" from {}{}", info.least, to) : "";
  check(value && *value >= info.least && *value <= info.most, ErrorCode::invalid_argument,
        "expected a whole number{}, got '{}'", bounds, text);
  return static_cast<std::int32_t>(*value);
}

std::uint64_t parse_seed(const std::string& text) {
  const auto value = whole_text<std::uint64_t>(text);
  check(value.has_value(), ErrorCode::invalid_argument,
        "expected a whole number from 0 to 2^64 - 1, got '{}'", text);
  return *value;
}

double parse_number(const std::string& text) {
  const auto value = whole_text<double>(text);
  check(value && std::isfinite(*value) && *value >= 0, ErrorCode::invalid_argument,
        "expected a number from 0 on, got '{}'", text);
  return *value;
}

} // namespace

OptionValue parse_option(const OptionInfo& info, const std::string& text, const Limits& limits) {
  switch (info.kind) {
  case OptionKind::flag:
    return info.flag_value;
  case OptionKind::integer:
    return parse_integer(info, text);
  case OptionKind::bit_rate:
  case OptionKind::bits:
    return parse_bit_rate(text);
  case OptionKind::bytes:
    return parse_bytes(text);
  case OptionKind::seed:
    return parse_seed(text);
  case OptionKind::number:
    return parse_number(text);
  case OptionKind::seconds:
    return parse_seconds(text);
  case OptionKind::path:
    check(!text.empty(), ErrorCode::invalid_argument, "expected a path, got ''");
    return text;
  case OptionKind::text:
  case OptionKind::words:
  case OptionKind::dtype:
  case OptionKind::preset:
    return text;
  case OptionKind::texts:
    return parse_texts(info, text);
  case OptionKind::named_texts:
    return parse_pair(info, text);
  case OptionKind::named_shapes:
    return parse_shape(text);
  case OptionKind::profiles:
    return std::vector{parse_profile(text)};
  case OptionKind::size:
    return parse_size(text);
  case OptionKind::region:
    return parse_region(text);
  case OptionKind::two_numbers:
    return parse_two(text);
  case OptionKind::three_numbers:
    return parse_three(text);
  case OptionKind::three_integers:
    return parse_three_integers(text);
  case OptionKind::preprocess:
    return parse_preprocess(text);
  case OptionKind::source:
    return open_source(text, limits);
  case OptionKind::limits:
    return parse_limits(text);
  case OptionKind::named_preprocess:
  case OptionKind::named_images:
  case OptionKind::environment:
  case OptionKind::index:
  case OptionKind::handle:
  case OptionKind::control:
    break;
  }
  fail(ErrorCode::unsupported, "option {}: no text says its value", info.name);
}

Limits parse_limits(std::string_view text) {
  Limits limits;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    set_limit(limits, rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return limits;
}

Preprocess parse_preprocess(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != text.npos && text[first] == '{';
  return json ? Preprocess::from_json(text) : Preprocess::preset(text);
}

double parse_seconds(std::string_view text) {
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
  const auto value = digits.starts_with('+') ? std::nullopt : whole_text<double>(digits);
  check(value && std::isfinite(*value) && *value >= 0 && *value * scale < 1e9, ErrorCode::invalid_argument,
        "duration '{}': expected a time like 10s, 500ms or 1.5", text);
  return *value * scale;
}

std::int64_t parse_bit_rate(std::string_view text) {
  std::string_view digits = text;
  double scale = 1;
  if (digits.ends_with('k') || digits.ends_with('K')) scale = 1e3;
  if (digits.ends_with('m') || digits.ends_with('M')) scale = 1e6;
  if (digits.ends_with('g') || digits.ends_with('G')) scale = 1e9;
  if (scale != 1) digits.remove_suffix(1);
  const auto value = digits.starts_with('+') ? std::nullopt : whole_text<double>(digits);
  check(value && *value > 0 && *value * scale < 1e12, ErrorCode::invalid_argument,
        "bit rate '{}': expected bits a second, like 4M or 800k", text);
  return static_cast<std::int64_t>(*value * scale);
}

std::uint64_t parse_bytes(std::string_view text) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  std::string unit(end, text.data() + text.size());
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  for (char& letter : unit)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  std::uint64_t scale = unit.empty() || unit == "b" ? 1 : 0;
  std::uint64_t thousands = 1, binary = 1;
  for (const char prefix : {'k', 'm', 'g', 't', 'p', 'e'}) {
    thousands *= 1000, binary *= 1024;
    if (unit == std::string{prefix} || unit == std::string{prefix, 'b'}) scale = thousands;
    if (unit == std::string{prefix, 'i'} || unit == std::string{prefix, 'i', 'b'}) scale = binary;
  }
  std::uint64_t bytes = 0;
  check(error == std::errc{} && scale > 0 && !__builtin_mul_overflow(count, scale, &bytes),
        ErrorCode::invalid_argument,
        "'{}' is no size; expected a whole number of bytes, or one with a unit, like 512MiB", text);
  return bytes;
}

// By continued fractions.
Rational parse_frame_rate(double rate) {
  check(std::isfinite(rate) && rate >= 1e-6 && rate < 1e6, ErrorCode::invalid_argument,
        "fps: expected a number from 1e-6 to below 1e6, got {}", rate);
  std::int64_t num = 1, den = 0, num_before = 0, den_before = 1;
  double rest = rate;
  for (int i = 0; i < 32; ++i) {
    const auto whole = static_cast<std::int64_t>(std::floor(rest));
    const std::int64_t next_num = whole * num + num_before, next_den = whole * den + den_before;
    if (next_den > 1'000'000) break;
    num_before = num, den_before = den, num = next_num, den = next_den;
    if (std::abs(static_cast<double>(num) / static_cast<double>(den) - rate) < 1e-9 * rate ||
        rest == static_cast<double>(whole))
      break;
    rest = 1.0 / (rest - static_cast<double>(whole));
  }
  return {num, den};
}

} // namespace lanner
