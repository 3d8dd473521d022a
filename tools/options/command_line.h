#pragma once
// Options of the subcommands. Hides CLI11, which reads them: every file that includes CLI11 compiles all of
// it.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI { // NOLINT(readability-identifier-naming): CLI11's own name.
class App;
class Option;
} // namespace CLI

namespace lanner::tool {

struct HelpPage;

/// An option's handle; its functions return it, for chaining.
class Option {
public:
  explicit Option(CLI::Option* option) : option_(option) {}
  /// Heading in the help.
  Option& group(const std::string& heading);
  Option& required();
  Option& excludes(const Option& other);
  /// Takes one value each time it is given, so that the words after it remain arguments.
  Option& one_value();
  /// Splits each value at this character.
  Option& delimiter(char between);
  /// The help shows the current value as the default.
  Option& show_default();
  Option& range(int min, int max);
  Option& range(std::int64_t min, std::int64_t max);
  Option& range(double min, double max);
  /// `check` says what is wrong with a value; none where it is right.
  Option& check(const std::function<std::string(const std::string&)>& wrong);

private:
  CLI::Option* option_;
};

/// Handle of the program or a subcommand. The variables of its options must live until the command line was
/// read.
class Command {
public:
  explicit Command(CLI::App* app) : app_(app) {}
  Command add_command(const std::string& name, const std::string& description);
  /// One of its own subcommands must be given.
  void require_command();
  /// Called if the subcommand was given.
  void callback(std::function<void()> call);
  void footer(const std::string& text);
  /// For the help: heading of options without a group, and the options that --help shows; --help-all shows
  /// all.
  void layout(const std::string& first_heading, std::vector<std::string> daily);
  HelpPage help() const;

  /// `names`: `-o,--output`, or a word without dashes for a positional argument. Types: strings, lists of
  /// them and numbers, see command_line.cpp.
  template<typename T>
  Option add_option(const std::string& names, T& to, const std::string& help);
  /// A repeatable option; `check` also stores the value.
  Option add_option(const std::string& names, const std::string& help);
  Option add_flag(const std::string& names, bool& to, const std::string& help);
  /// `--name[=VALUE]`; `value` is used where `=VALUE` is missing.
  Option add_flag(const std::string& names, std::string& to, const std::string& help);

private:
  CLI::App* app_;
};

} // namespace lanner::tool
