// lanner manual: manual pages, generated from the same entries as the help.

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/error.h>
#include <lanner/nearest.h>
#include <lanner/version.h>

#include "check.h"
#include "command.h"
#include "options/help.h"
#include "output/console.h"

namespace lanner::tool {
namespace {

struct ManualOptions {
  std::string command;
};

/// A line of plain text in roff: a dot or quote in front would be a request.
std::string roff(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\')
      safe += "\\e";
    else if (c == '-')
      safe += "\\-";
    else
      safe += c;
    if (c == ')') safe += "\\:"; // A long value may be broken here.
  }
  if (safe.starts_with('.') || safe.starts_with('\'')) safe.insert(0, "\\&");
  return safe;
}

std::string dashed(std::string name) {
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string entry_roff(const HelpEntry& entry) {
  std::vector<std::string> names;
  for (const std::string& name : entry.names) names.push_back("\\fB" + roff(name) + "\\fR");
  std::string text = fmt::format(".TP\n{}", fmt::join(names, ", "));
  if (!entry.value.empty()) text += " \\fI" + roff(entry.value) + "\\fR";
  return text + "\n" + roff(entry.text) + "\n";
}

std::string options_roff(const HelpPage& page) {
  std::string text, last;
  for (const bool argument : {true, false})
    for (const HelpEntry& entry : page.entries) {
      if (entry.argument != argument || entry.heading.empty()) continue;
      if (entry.heading != last) text += ".SS " + roff(entry.heading) + "\n";
      last = entry.heading;
      text += entry_roff(entry);
    }
  return text.empty() ? text : ".SH OPTIONS\n" + text;
}

std::string synopsis_roff(const HelpPage& page) {
  std::string text = ".B " + roff(page.name) + "\n";
  if (!page.commands.empty()) text += ".I COMMAND\n";
  for (const HelpEntry& entry : page.entries)
    if (entry.argument || entry.required) text += roff(names_text(entry)) + "\n";
  return text + "[\\fIOPTIONS\\fR]\n";
}

std::string page_roff(const HelpPage& page, const HelpPage& program) {
  std::string title = dashed(page.name);
  std::ranges::transform(title, title.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text = fmt::format(".TH {} 1 \"\" \"lanner {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
                                 title, version(), roff(dashed(page.name)), roff(page.text));
  text += ".SH SYNOPSIS\n" + synopsis_roff(page);
  if (!page.commands.empty()) text += ".SH COMMANDS\n";
  for (const HelpPage& command : page.commands)
    text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", roff(dashed(command.name)), roff(command.text));
  text += options_roff(page);
  if (!page.notes.empty()) text += ".SH NOTES\n";
  for (const std::string& note : page.notes) text += ".PP\n" + roff(note) + "\n";
  if (!page.examples.empty()) text += ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : page.examples) text += roff(example) + "\n";
  if (!page.examples.empty()) text += ".fi\n";
  std::vector<std::string> others;
  if (page.name != program.name) others.push_back("\\fB" + roff(program.name) + "\\fR(1)");
  for (const HelpPage* other : commands_of(program))
    if (other->name != page.name) others.push_back("\\fB" + roff(dashed(other->name)) + "\\fR(1)");
  return text + fmt::format(".SH SEE ALSO\n{}\n", fmt::join(others, ", "));
}

int run_manual(const ManualOptions& options, const HelpPage& program) {
  if (options.command.empty()) {
    print_text(page_roff(program, program));
    return 0;
  }
  std::vector<std::string> names;
  for (const HelpPage* command : commands_of(program)) {
    names.push_back(command_word(*command));
    if (names.back() != options.command) continue;
    print_text(page_roff(*command, program));
    return 0;
  }
  fail(ErrorCode::invalid_argument, "manual: no command '{}'{}", options.command,
       did_you_mean(options.command, names));
}

} // namespace

void add_manual(Command& program, Action& action) {
  auto [command, options] = make_command<ManualOptions>(
      program, action, "manual", "Print a manual page of this program or a command.",
      [program](const ManualOptions& given) { return run_manual(given, program.help()); });
  command.add_option("command", options->command,
                     "The command, like run or tf-eval (default: the whole program)");
  command.footer("Examples:\n  lanner manual run | man -l -\n"
                 "  lanner manual run > ~/.local/share/man/man1/lanner-run.1");
}

} // namespace lanner::tool
