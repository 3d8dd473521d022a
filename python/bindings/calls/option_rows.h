#pragma once
// Keywords from the library's tables of options (lanner/option_table.h): signatures, docstrings and values.

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

/// A keyword of an option. `standard`: the default value; `in_signature`: shown as the parameter's default,
/// else in the docstring.
Keyword keyword_of(const OptionInfo& info, const OptionValue& standard, bool in_signature);

/// The keywords of a table that Python has, except some.
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

/// A value of Python's; files are opened within `limits`. Throws as with_option_named() does.
OptionValue to_option_value(const OptionInfo& info, nb::handle value, const Limits& limits);

/// Handles keywords of the function itself, which are not options of the table.
using OtherKeyword = std::function<void(const std::string& name, nb::handle value)>;

/// The limits among the keywords, which apply to all files that are opened.
Limits limits_among(const nb::kwargs& given);
/// TypeError where a required keyword is missing.
void check_required(std::string_view function, const nb::kwargs& given, std::span<const Keyword> keywords);

/// Sets the given options, and those with a default specific to the interfaces. `keywords`: all of the
/// function; those outside of the table, and `progress`, go to `other`.
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

/// Merges positional arguments into keywords; TypeError where there are too many, or one is given twice.
nb::kwargs by_names(std::string_view function, const nb::args& by_place, const nb::kwargs& by_name,
                    std::span<const Keyword> keywords);

/// The folder of a file given by path; else empty.
std::string folder_of(nb::handle file);

} // namespace lanner::python
