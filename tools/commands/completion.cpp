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
    for (const std::string& name : entry.names) cases.push_back(short_name(command) + ":" + name);
    text += fmt::format("    {}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n",
                        fmt::join(cases, "|"), fmt::join(entry.choices, " "));
  }
  return text;
}

/// Where nothing else is known, files are completed: `-o default`.
std::string bash_text(const HelpPage& program) {
  std::string values, options;
  for (const HelpPage& command : program.commands) {
    values += bash_values(command);
    options += fmt::format("    {}) options=\"{}\" ;;\n", short_name(command),
                           fmt::join(option_names(command), " "));
  }
  return fmt::format(R"(# Completion of lanner in bash: source <(lanner completion bash)
_lanner() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}} options=
  COMPREPLY=()
  if [[ $COMP_CWORD == 1 ]]; then
    COMPREPLY=($(compgen -W "{} {}" -- "$word"))
    return
  fi
  case $command:$before in
{}  esac
  case $command in
{}  esac
  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$word")); fi
}}
complete -o default -F _lanner lanner
)",
                     fmt::join(command_names(program), " "), fmt::join(option_names(program), " "), values,
                     options);
}

std::string zsh_action(const HelpEntry& entry) {
  if (!entry.choices.empty()) return fmt::format(":{}:({})", entry.value, fmt::join(entry.choices, " "));
  if (is_path(entry.value)) return fmt::format(":{}:_files", entry.value);
  return entry.value.empty() ? "" : fmt::format(":{}: ", entry.value);
}

std::string zsh_text(const HelpPage& program) {
  std::string commands, cases;
  for (const HelpPage& command : program.commands) {
    commands += fmt::format("    '{}:{}'\n", short_name(command), plain(command.text));
    cases += fmt::format("    {}) _arguments", short_name(command));
    for (const HelpEntry& entry : command.entries)
      for (const std::string& name : entry.names)
        if (!entry.argument)
          cases += fmt::format(" \\\n      '*{}[{}]{}'", name, plain(short_text(entry)), zsh_action(entry));
    cases += " \\\n      '*:file:_files' ;;\n";
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
  for (const HelpPage& command : program.commands) {
    const std::string name = short_name(command);
    text += fmt::format("complete -c lanner -f -n __fish_use_subcommand -a {} -d '{}'\n", name,
                        plain(command.text));
    for (const HelpEntry& entry : command.entries)
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
