// Formats option values as one line.

#include <fmt/ranges.h>

#include <lanner/option_table.h>

#include "base/limits/limit_table.h"

namespace lanner {
namespace {

std::string sizes(const Shape& shape) {
  return fmt::format("{}", fmt::join(shape, "x"));
}

std::string range_text(const ShapeRange& range) {
  return range.min == range.opt && range.opt == range.max
             ? sizes(range.opt)
             : fmt::format("{}:{}:{}", sizes(range.min), sizes(range.opt), sizes(range.max));
}

std::string shapes_text(const NamedShapes& shapes, char between) {
  std::vector<std::string> parts;
  for (const auto& [name, range] : shapes)
    parts.push_back(fmt::format("{}{}{}", name, between, range_text(range)));
  return fmt::format("{}", fmt::join(parts, between == '=' ? "," : " "));
}

/// Those that are not the default.
std::string limits_text(const Limits& limits) {
  const Limits standard;
  std::vector<std::string> parts;
  for_each_limit([&](std::string_view name, auto member) {
    if (limits.*member != standard.*member) parts.push_back(fmt::format("{}={}", name, limits.*member));
  });
  return fmt::format("{}", fmt::join(parts, ","));
}

struct Texts {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int32_t value) const { return fmt::format("{}", value); }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(std::uint64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<std::string>& value) const {
    return fmt::format("{}", fmt::join(value, ","));
  }
  std::string operator()(const NamedTexts& value) const {
    std::vector<std::string> parts;
    for (const auto& [name, text] : value) parts.push_back(fmt::format("{}={}", name, text));
    return fmt::format("{}", fmt::join(parts, " "));
  }
  std::string operator()(const NamedShapes& value) const { return shapes_text(value, ':'); }
  std::string operator()(const std::vector<NamedShapes>& value) const {
    std::vector<std::string> parts;
    for (const NamedShapes& profile : value) parts.push_back(shapes_text(profile, '='));
    return fmt::format("{}", fmt::join(parts, " "));
  }
  std::string operator()(const std::array<std::int32_t, 2>& size) const {
    return fmt::format("{}x{}", size[0], size[1]);
  }
  std::string operator()(const std::array<std::int32_t, 3>& value) const {
    return fmt::format("{}", fmt::join(value, ","));
  }
  std::string operator()(const PixelRect& region) const {
    return fmt::format("{}x{}+{}+{}", region.width, region.height, region.x, region.y);
  }
  std::string operator()(const std::array<float, 2>& value) const {
    return fmt::format("{}", fmt::join(value, ","));
  }
  std::string operator()(const std::array<float, 3>& value) const {
    return fmt::format("{}", fmt::join(value, ","));
  }
  std::string operator()(const Preprocess& value) const { return value.to_json(); }
  std::string operator()(const std::map<std::string, Preprocess>& value) const {
    std::vector<std::string> parts;
    for (const auto& [name, spec] : value) parts.push_back(fmt::format("{}={}", name, spec.to_json()));
    return fmt::format("{}", fmt::join(parts, " "));
  }
  std::string operator()(const std::map<std::string, ImageInputOptions>& value) const {
    std::vector<std::string> parts;
    for (const auto& [name, picture] : value)
      parts.push_back(fmt::format("{}={} {}", name, picture.format ? to_string(*picture.format) : "any",
                                  picture.preprocess.to_json()));
    return fmt::format("{}", fmt::join(parts, " "));
  }
  std::string operator()(const OptionSource& value) const { return value.source ? "given" : ""; }
  std::string operator()(const Limits& value) const { return limits_text(value); }
  std::string operator()(const Environment& value) const {
    return fmt::format("{}; {}", fmt::join(value.backends(), ","), fmt::join(value.operators(), ","));
  }
  std::string operator()(const std::shared_ptr<const StreamIndex>& value) const {
    return value ? fmt::format("{} frames", value->frames.size()) : "";
  }
  std::string operator()(void* value) const {
    return value ? fmt::format("{}", reinterpret_cast<std::uintptr_t>(value)) : "";
  }
  std::string operator()(const Control& value) const { return value.progress ? "progress" : ""; }
};

} // namespace

std::string option_text(const OptionValue& value) {
  return std::visit(Texts{}, value);
}

} // namespace lanner
