#pragma once
// Help of the command and its subcommands. Completion and manual pages (manual.h, completion.h) are generated
// from the same entries.

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class FormatterBase;
} // namespace CLI

namespace lanner::tool {

/// An option or a positional argument, as the help shows it.
struct HelpEntry {
  std::vector<std::string> names; ///< `-o`, `--output`; for an argument its one name.
  std::string value;              ///< Its value's placeholder, like FILE; empty: takes no value.
  std::string text;
  std::string heading;              ///< Its heading; empty: described by another option's text.
  std::vector<std::string> choices; ///< Values to choose from, where they are few.
  bool argument = false, required = false, several = false;
  bool daily = true; ///< Shown by --help; others only by --help-all.
};

/// A subcommand, or the program itself.
struct HelpPage {
  std::string name; ///< `lanner run`.
  std::string text; ///< A sentence.
  std::vector<HelpEntry> entries;
  std::vector<std::string> notes;    ///< Paragraphs.
  std::vector<std::string> examples; ///< Command lines.
  std::vector<HelpPage> commands;
};

/// From a command whose options were declared.
HelpPage help_page(const CLI::App& app);
/// The subcommands, and theirs: those with subcommands before these.
std::vector<const HelpPage*> commands_of(const HelpPage& program);
/// What is typed after the program's name: `run`, `tf eval`.
std::string command_path(const HelpPage& page);
/// The same as one word: `tf-eval`.
std::string command_word(const HelpPage& page);
/// `NAME` with its placeholder: `-o FILE`, `--size WIDTHxHEIGHT`.
std::string names_text(const HelpEntry& entry);
/// An entry's text up to its first pause, with its choices: on one line if possible.
std::string short_text(const HelpEntry& entry);
/// Lines of at most 100 characters, each indented by `indent` blanks.
std::string wrapped(const std::string& text, std::size_t indent);

/// The layout of one command's help.
struct HelpLayout {
  std::string first_heading = "Options"; ///< Heading of options without one.
  /// The options for daily use: those that `--help` shows, `--help-all` shows the rest too. Empty: all of
  /// them.
  std::vector<std::string> daily;
};

/// Sets the layout; the command's help then comes from this file.
void set_help(CLI::App& app);
/// For a command that set_help was called for.
HelpLayout& help_layout(CLI::App& app);

} // namespace lanner::tool
