#pragma once
// The library's option tables (lanner/option_table.h) on the command line: flags, help and given values.

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/option_table.h>

#include "check.h"
#include "options/command_line.h"

namespace lanner::tool {

/// Given values, as text by the options' names in their tables.
class GivenOptions {
public:
  bool has(std::string_view name) const;
  bool empty() const;
  /// The values in order; a flag has one empty value.
  std::vector<std::string> texts(std::string_view name) const;
  /// The single value, or `otherwise`.
  std::string text(std::string_view name, std::string_view otherwise = {}) const;
  /// As if given on the command line; no values: not given.
  void set(std::string_view name, std::vector<std::string> values);
  /// Copies another one's values of the option.
  void copy(std::string_view name, const GivenOptions& from) { set(name, from.texts(name)); }

  /// Sets an option of the table if it was given. `flag`: its name on the command line.
  template<typename Options>
  void apply_to(Options& options, const OptionRow<Options>& row, const std::string& flag,
                const Limits& limits = {}) const {
    for (const std::string& text : texts(row.info.name)) {
      const auto parse = [&] { return parse_option(row.info, text, limits); };
      // A number that is not within this option's bounds is reported only here.
      const OptionValue value =
          row.info.kind == OptionKind::integer ? with_context([&] { return flag; }, parse) : parse();
      // For a list the error names the wrong entry.
      if (repeatable(row.info))
        with_context([&] { return fmt::format("{} '{}'", flag, text); }, [&] { row.set(options, value); });
      else
        row.set(options, value);
    }
  }
  /// Sets each option of the table that was given, and the others that have a default for all interfaces.
  /// `prefix`: of the flags.
  template<typename Options>
  void apply(Options& options, const OptionTable<Options>& table, std::string_view prefix = "--",
             const Limits& limits = {}) const {
    for (const OptionRow<Options>& row : table) {
      if (!has(row.info.name) && !row.info.standard.empty())
        row.set(options, parse_option(row.info, std::string(row.info.standard), limits));
      apply_to(options, row, flag_of(row.info, prefix), limits);
    }
  }

  /// Whether it may be repeated.
  static bool repeatable(const OptionInfo& info);
  /// `--pin`, or `--then-pin` with that prefix.
  static std::string flag_of(const OptionInfo& info, std::string_view prefix = "--");

private:
  friend class OptionRows;
  struct Value {
    bool flag = false;
    std::optional<std::string> one;
    std::vector<std::string> several;
  };
  std::map<std::string, Value, std::less<>> values_;
};

/// Declares options of a table. Given values are written to `given`, which must live until the command line
/// was read.
class OptionRows {
public:
  OptionRows(Command& command, GivenOptions& given) : command_(command), given_(given) {}
  /// Heading in the help; without it that of the command's own options.
  OptionRows& heading(std::string text) {
    heading_ = std::move(text);
    return *this;
  }
  /// Prefix of the flags. Help with another prefix than `--` refers to the flag without it.
  OptionRows& prefix(std::string text) {
    prefix_ = std::move(text);
    return *this;
  }
  /// Options that have a second name go by it alone: their first one is another option of this command.
  OptionRows& other_flags() {
    other_flags_ = true;
    return *this;
  }
  /// The help shows no defaults: they are those of the first network.
  OptionRows& without_defaults() {
    defaults_ = false;
    return *this;
  }
  /// Adds a clause to an option's help; empty: no clause.
  OptionRows& more(std::function<std::string(const OptionInfo&)> more) {
    more_ = std::move(more);
    return *this;
  }

  /// Options of this use.
  template<typename Options>
  void add(const OptionTable<Options>& table, OptionUse use = OptionUse::always) {
    for (const OptionRow<Options>& row : table)
      if (row.info.use == use) add_row(row);
  }
  /// Options with these names.
  template<typename Options>
  void add(const OptionTable<Options>& table, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) add_row(*find_option(table, name));
  }

private:
  using Check = std::function<std::string(const std::string&)>;

  template<typename Options>
  void add_row(const OptionRow<Options>& row) {
    // --limit, which all commands have, is declared once for all.
    if (row.info.flag.empty() || row.info.kind == OptionKind::limits) return;
    std::string standard = given_.text(row.info.name, row.info.standard);
    if (standard.empty() && defaults_) standard = option_text(row.get(Options{}));
    declare(row.info, standard, [&row](const std::string& text) -> std::string {
      try {
        const OptionValue value = parse_option(row.info, text);
        Options scratch;
        const bool standard = !row.info.standard.empty() && text == row.info.standard;
        if (!standard) row.set(scratch, value); // Not resolved here, as `auto` would look for GPUs.
        return {};
      } catch (const Error& error) {
        return error.message();
      }
    });
  }
  /// `wrong` says what is wrong with the value of an option that is given once.
  void declare(const OptionInfo& info, const std::string& standard, const Check& wrong);

  Command& command_;
  GivenOptions& given_;
  std::string heading_ = "Options", prefix_ = "--";
  bool defaults_ = true, other_flags_ = false;
  std::function<std::string(const OptionInfo&)> more_;
};

/// The help text: the option's texts, the form of its values, and its default.
std::string help_of(const OptionInfo& info, const std::string& standard, const std::string& more = {});
/// The value's placeholder: `NODE=TYPE`, `TIME`.
std::string metavar_of(const OptionInfo& info);

/// Calls `use(info)` for every option that has a flag.
void for_each_flag(const std::function<void(const OptionInfo&)>& use);

} // namespace lanner::tool
