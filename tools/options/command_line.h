#pragma once
// Options of the subcommands. CLI11, which reads them, is behind it: every file that includes CLI11 compiles
// all of it.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI { // NOLINT(readability-identifier-naming): the library's own.
class App;
class Option;
} // namespace CLI

namespace lanner::tool {

struct HelpPage;

/// Handle of one option; each function returns it.
class Option {
public:
  explicit Option(CLI::Option* option) : option_(option) {}
  /// Heading of the help that it stands under.
  Option& group(const std::string& heading);
  Option& required();
  Option& excludes(const Option& other);
  /// Takes one value each time that it is given, so that words behind it stay their own.
  Option& one_value();
  /// Splits each value.
  Option& delimiter(char between);
  /// The help shows the value at hand.
  Option& show_default();
  Option& range(int min, int max);
  Option& range(std::int64_t min, std::int64_t max);
  Option& range(double min, double max);
  /// What is wrong with a value; nothing where it is right.
  Option& check(const std::function<std::string(const std::string&)>& wrong);

private:
  CLI::Option* option_;
};

/// Handle of the program or a subcommand. What options write to must live until the command line was read.
class Command {
public:
  explicit Command(CLI::App* app) : app_(app) {}
  Command add_command(const std::string& name, const std::string& description);
  /// Called where the subcommand was given.
  void callback(std::function<void()> call);
  void footer(const std::string& text);
  /// Of the help: what options without a group stand under, and the names that --help shows; --help-all shows
  /// all.
  void layout(const std::string& first_heading, std::vector<std::string> daily);
  HelpPage help() const;

  /// `names`: `-o,--output`, or a word without dashes, for an argument told by its place. Of strings, lists
  /// of them and numbers, see command_line.cpp.
  template<typename T>
  Option add_option(const std::string& names, T& to, const std::string& help);
  /// One whose `check` keeps the value; it may come several times.
  Option add_option(const std::string& names, const std::string& help);
  Option add_flag(const std::string& names, bool& to, const std::string& help);
  /// `--name{value}`: `value` where none is given by `--name=...`.
  Option add_flag(const std::string& names, std::string& to, const std::string& help);

private:
  CLI::App* app_;
};

} // namespace lanner::tool
