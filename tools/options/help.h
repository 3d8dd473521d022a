#pragma once
// Help of the command and its subcommands. Completion and manual pages (manual.h, completion.h) are made of
// the same entries.

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class FormatterBase;
} // namespace CLI

namespace lanner::tool {

/// An option, or an argument told by its place, as help tells of it.
struct HelpEntry {
  std::vector<std::string> names; ///< `-o`, `--output`; of an argument its one name.
  std::string value;              ///< What follows it, like FILE; empty: nothing.
  std::string text;
  std::string heading;              ///< That it stands under; empty: another option's text tells of it.
  std::vector<std::string> choices; ///< Words that it takes, where they are few.
  bool argument = false, required = false, several = false;
  bool daily = true; ///< Shown by --help; others by --help-all alone.
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

/// Of a command as its options were declared.
HelpPage help_page(const CLI::App& app);
/// `NAME` and what follows it: `-o FILE`, `--size WIDTHxHEIGHT`.
std::string names_text(const HelpEntry& entry);
/// Of an entry's text up to its first pause, with its choices: one line where that can be.
std::string short_text(const HelpEntry& entry);
/// Lines of 100 characters at most, each with `indent` blanks in front.
std::string wrapped(const std::string& text, std::size_t indent);

/// How the help of one command is set out.
struct HelpLayout {
  std::string first_heading = "Options"; ///< Of options without a heading.
  /// What is used every day: all that `--help` shows, `--help-all` the rest. Empty: everything.
  std::vector<std::string> daily;
};

/// The command's help is made by this file from now on.
void set_help(CLI::App& app);
/// Of a command that set_help was called for.
HelpLayout& help_layout(CLI::App& app);

} // namespace lanner::tool
