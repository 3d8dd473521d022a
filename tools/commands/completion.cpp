// lanner completion: shell completion, generated from the same entries as the help.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/error.h>

#include "check.h"
#include "command.h"
#include "options/help.h"
#include "options/option_values.h"
#include "output/console.h"

namespace lanner::tool {
namespace {

struct CompletionOptions {
  std::string shell;
};

std::string short_name(const HelpPage& page) {
  return page.name.substr(page.name.rfind(' ') + 1);
}

std::vector<std::string> command_names(const HelpPage& program) {
  std::vector<std::string> names;
  for (const HelpPage& command : program.commands) names.push_back(short_name(command));
  return names;
}

std::vector<std::string> option_names(const HelpPage& page) {
  std::vector<std::string> names;
  for (const HelpEntry& entry : page.entries)
    if (!entry.argument) names.insert(names.end(), entry.names.begin(), entry.names.end());
  return names;
}

/// Without characters that are special to shells.
std::string plain(std::string text) {
  std::erase_if(text,
                [](char c) { return std::string_view("'\"`[]\\$:").find(c) != std::string_view::npos; });
  return text;
}

std::string bash_values(const HelpPage& command) {
  std::string text;
  for (const HelpEntry& entry : command.entries) {
    if (entry.choices.empty()) continue;
    std::vector<std::string> cases;
    for (const std::string& name : entry.names) cases.push_back(command_word(command) + ":" + name);
    text += fmt::format("    {}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n",
                        fmt::join(cases, "|"), fmt::join(entry.choices, " "));
  }
  return text;
}

/// The word after a command that has subcommands.
std::string bash_subcommands(const HelpPage& program) {
  std::string text;
  for (const HelpPage& command : program.commands)
    if (!command.commands.empty())
      text += fmt::format(
          "    {0}) if [[ $COMP_CWORD == 2 ]]; then COMPREPLY=($(compgen -W \"{1}\" -- \"$word\")); "
          "return; fi; command={0}-${{COMP_WORDS[2]}} ;;\n",
          command_word(command), fmt::join(command_names(command), " "));
  return text;
}

/// Where nothing else is known, files are completed: `-o default`.
std::string bash_text(const HelpPage& program) {
  std::string values, options;
  for (const HelpPage* command : commands_of(program)) {
    values += bash_values(*command);
    options += fmt::format("    {}) options=\"{}\" ;;\n", command_word(*command),
                           fmt::join(option_names(*command), " "));
  }
  return fmt::format(R"(# Completion of lanner in bash: source <(lanner completion bash)
_lanner() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}} options=
  COMPREPLY=()
  if [[ $COMP_CWORD == 1 ]]; then
    COMPREPLY=($(compgen -W "{} {}" -- "$word"))
    return
  fi
  case $command in
{}  esac
  case $command:$before in
{}  esac
  case $command in
{}  esac
  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$word")); fi
}}
complete -o default -F _lanner lanner
)",
                     fmt::join(command_names(program), " "), fmt::join(option_names(program), " "),
                     bash_subcommands(program), values, options);
}

std::string zsh_action(const HelpEntry& entry) {
  if (!entry.choices.empty()) return fmt::format(":{}:({})", entry.value, fmt::join(entry.choices, " "));
  if (is_path(entry.value)) return fmt::format(":{}:_files", entry.value);
  return entry.value.empty() ? "" : fmt::format(":{}: ", entry.value);
}

std::string zsh_arguments(const HelpPage& command) {
  std::string text = "_arguments";
  for (const HelpEntry& entry : command.entries)
    for (const std::string& name : entry.names)
      if (!entry.argument)
        text += fmt::format(" \\\n      '*{}[{}]{}'", name, plain(short_text(entry)), zsh_action(entry));
  return text + " \\\n      '*:file:_files'";
}

/// The case of a command; of one that has subcommands the word after it decides.
std::string zsh_case(const HelpPage& command) {
  if (command.commands.empty())
    return fmt::format("    {}) {} ;;\n", short_name(command), zsh_arguments(command));
  std::string cases;
  for (const HelpPage& inner : command.commands) cases += zsh_case(inner);
  return fmt::format(
      "    {}) if (( CURRENT == 2 )); then\n      compadd -- {} --help\n      return\n    fi\n    shift "
      "words\n    (( CURRENT-- ))\n    case $words[1] in\n{}    esac ;;\n",
      short_name(command), fmt::join(command_names(command), " "), cases);
}

std::string zsh_text(const HelpPage& program) {
  std::string commands, cases;
  for (const HelpPage& command : program.commands) {
    commands += fmt::format("    '{}:{}'\n", short_name(command), plain(command.text));
    cases += zsh_case(command);
  }
  return fmt::format(R"(#compdef lanner
# Completion of lanner in zsh: a file _lanner in a folder of $fpath, or source <(lanner completion zsh)
_lanner() {{
  local -a commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{}  esac
}}
if [[ $funcstack[1] == _lanner ]]; then _lanner "$@"; else compdef _lanner lanner; fi
)",
                     commands, cases);
}

std::string fish_option(const std::string& command, const HelpEntry& entry) {
  std::string line = fmt::format("complete -c lanner -n '__fish_seen_subcommand_from {}'", command);
  for (const std::string& name : entry.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!entry.choices.empty())
    line += fmt::format(" -x -a '{}'", fmt::join(entry.choices, " "));
  else if (!entry.value.empty())
    line += is_path(entry.value) ? " -r -F" : " -x";
  return line + fmt::format(" -d '{}'\n", plain(short_text(entry)));
}

std::string fish_text(const HelpPage& program) {
  std::string text = "# Completion of lanner in fish: lanner completion fish | source\n";
  for (const HelpPage* command : commands_of(program)) {
    const std::string name = short_name(*command), path = command_path(*command);
    const std::string outer = path.substr(0, path.size() - name.size());
    text += fmt::format(
        "complete -c lanner -f -n {} -a {} -d '{}'\n",
        outer.empty() ? "__fish_use_subcommand"
                      : fmt::format("'__fish_seen_subcommand_from {}'", outer.substr(0, outer.size() - 1)),
        name, plain(command->text));
    for (const HelpEntry& entry : command->entries)
      if (!entry.argument) text += fish_option(name, entry);
  }
  return text;
}

int run_completion(const CompletionOptions& options, const HelpPage& program) {
  check(options.shell == "bash" || options.shell == "zsh" || options.shell == "fish",
        ErrorCode::invalid_argument, "completion: no shell '{}'; expected bash, zsh or fish", options.shell);
  print_text(options.shell == "bash"  ? bash_text(program)
             : options.shell == "zsh" ? zsh_text(program)
                                      : fish_text(program));
  return 0;
}

} // namespace

void add_completion(Command& program, Action& action) {
  auto [command, options] = make_command<CompletionOptions>(
      program, action, "completion", "Print the completion script of a shell.",
      [program](const CompletionOptions& given) { return run_completion(given, program.help()); });
  command.add_option("shell", options->shell, "bash, zsh or fish").required();
  command.footer("Examples:\n  source <(lanner completion bash)\n"
                 "  lanner completion zsh > ~/.zfunc/_lanner\n"
                 "  lanner completion fish > ~/.config/fish/completions/lanner.fish");
}

} // namespace lanner::tool
