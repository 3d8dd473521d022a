#pragma once
// The library's tables of options (lanner/option_table.h) as keywords: signatures, docstrings and values.

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/option_table.h>

#include "calls/bindings.h"
#include "calls/keywords.h"

namespace lanner::python {

/// A keyword of an option. `standard` is the value where none is given, `in_signature`: shown as the default
/// of the parameter, else told by the docstring.
Keyword keyword_of(const OptionInfo& info, const OptionValue& standard, bool in_signature);

/// Those of a table that Python has, but for some.
template<typename Options>
std::vector<Keyword> keywords_of(const OptionTable<Options>& table, bool defaults_in_signature,
                                 std::initializer_list<std::string_view> without = {}) {
  std::vector<Keyword> keywords;
  for (const OptionRow<Options>& row : table) {
    const bool left_out = std::find(without.begin(), without.end(), row.info.name) != without.end();
    if (row.info.no_keyword.empty() && !left_out)
      keywords.push_back(keyword_of(row.info, row.get(Options{}), defaults_in_signature));
  }
  return keywords;
}

/// A value of Python's; files are opened within `limits`. Throws what with_option_named() tells of.
OptionValue to_option_value(const OptionInfo& info, nb::handle value, const Limits& limits);

/// What to do with keywords of the function's own, and with values that take part in the call itself.
using OtherKeyword = std::function<void(const std::string& name, nb::handle value)>;

/// The limits among the keywords: they count for whatever is opened.
Limits limits_among(const nb::kwargs& given);
/// TypeError where a keyword that has no default is not given.
void check_required(std::string_view function, const nb::kwargs& given, std::span<const Keyword> keywords);

/// Sets the options that are given, and those that have a default of the interfaces' own. `keywords` are all
/// that the function takes; those of no table, and `progress`, go to `other`.
template<typename Options>
void take_keywords(std::string_view function, const nb::kwargs& given, std::span<const Keyword> keywords,
                   const OptionTable<Options>& table, Options& options, const OtherKeyword& other = {}) {
  const Limits limits = limits_among(given);
  apply_options(given, keywords, [&](const std::string& name, nb::handle value) {
    const OptionRow<Options>* row = find_option(table, name);
    if (!row || row->info.kind == OptionKind::control)
      other(name, value);
    else
      row->set(options, to_option_value(row->info, value, limits));
  });
  check_required(function, given, keywords);
  for (const OptionRow<Options>& row : table) {
    const nb::str name(row.info.name.data(), row.info.name.size());
    const bool is_given = given.contains(name) && !nb::object(given[name]).is_none();
    if (!is_given && !row.info.standard.empty())
      row.set(options, parse_option(row.info, std::string(row.info.standard)));
  }
}

/// Arguments that were given by their place, as if by name; TypeError where there are more, or both.
nb::kwargs by_names(std::string_view function, const nb::args& by_place, const nb::kwargs& by_name,
                    std::span<const Keyword> keywords);

/// The folder of a file that is given by its path; else empty.
std::string folder_of(nb::handle file);

} // namespace lanner::python
