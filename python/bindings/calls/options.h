#pragma once
// Options that are dicts by input name and such; errors name the option.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <lanner/engine.h>
#include <lanner/shape.h>

#include "calls/bindings.h"

namespace lanner::python {

/// A mapping as a dict, itself where it is one. TypeError says what was `expected`: `a dict like {"x": 1}`.
nb::dict to_dict(std::string_view option, nb::handle given, std::string_view expected);
/// A list of dicts.
std::vector<nb::dict> to_dicts(std::string_view option, nb::handle given, std::string_view expected);

/// The bytes of a str. Throws std::bad_cast for anything else.
std::string to_name(nb::handle given);
/// Names in a list or other iterable. Throws std::bad_cast for anything else, a single str included.
std::vector<std::string> to_names(nb::handle given);
Shape to_shape(nb::handle sizes);
/// `(1, 3, 224, 224)`, or three of them: min, opt, max.
ShapeRange to_range(nb::handle sizes);

/// Shapes by name, as tuples.
nb::dict shapes_dict(const std::map<std::string, Shape>& shapes);

inline constexpr std::string_view expected_sizes = "sizes like (1, 3, 224, 224)";
inline constexpr std::string_view expected_range =
    "sizes like (1, 3, 224, 224), or three of these: min, opt, max";

/// The names and values of a dict, in its order; TypeError says what was `expected` of a value.
template<typename Convert>
auto in_order(std::string_view option, const nb::dict& given, std::string_view expected, Convert&& convert) {
  std::vector<std::pair<std::string, decltype(convert(nb::handle()))>> values;
  for (const auto& [key, borrowed] : given) {
    const nb::object value = nb::borrow(borrowed); // converting calls code that may change the dict
    const std::string name = with_option_named(option, key, [&] { return to_name(key); });
    values.emplace_back(
        name, with_option_named(
                  fmt::format("{} of {}", option, name), value, [&] { return convert(value); }, expected));
  }
  return values;
}

/// The values of a dict by their names.
template<typename Convert>
auto by_name(std::string_view option, const nb::dict& given, std::string_view expected, Convert&& convert) {
  std::map<std::string, decltype(convert(nb::handle()))> values;
  for (auto& [name, value] : in_order(option, given, expected, convert))
    values.insert_or_assign(name, std::move(value));
  return values;
}

} // namespace lanner::python
