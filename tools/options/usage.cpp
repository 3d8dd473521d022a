#include "options/usage.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <lanner/nearest.h>

#include "options/foreign_options.h"

namespace lanner::tool {
namespace {

constexpr std::pair<std::string_view, std::string_view> two_part_names[] = {
    {"-c:v", "--codec"}, {"-b:v", "--bit-rate"}, {"-preset", "--preset"}, {"-crf", "--crf"}};

/// The given subcommand, else the program itself.
const CLI::App& innermost(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? app : innermost(*given.front());
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

/// The name as it is typed after `lanner`: `tf eval`; empty for the program itself.
std::string path_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  if (!parent) return {};
  const std::string before = path_of(*parent);
  return before.empty() ? command.get_name() : before + " " + command.get_name();
}

/// Hint where a file is given in place of a command.
std::string command_for_file(const std::string& argument) {
  std::error_code ignored;
  if (!std::filesystem::exists(argument, ignored)) return {};
  return fmt::format("; expected a command before the file: lanner probe {} shows what it is", argument);
}

/// Positional arguments are in capitals in the help.
std::string with_capitals(const CLI::App& command, std::string text) {
  const std::string name = text.substr(0, text.find(' '));
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional() && option->get_name() == name)
      std::transform(name.begin(), name.end(), text.begin(),
                     [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

} // namespace

std::vector<std::string> with_long_names(int count, char** arguments) {
  std::vector<std::string> result;
  for (int i = 1; i < count; ++i) {
    std::string argument = arguments[i];
    for (const auto& [name, long_name] : two_part_names)
      if (argument == name) argument = long_name;
    if (auto longer = with_two_dashes(argument)) argument = std::move(*longer);
    result.push_back(std::move(argument));
  }
  return result;
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const std::string path = path_of(command);
  const std::string prefix = path.empty() ? "" : path + ": ";
  const std::string help = fmt::format("; see lanner {}--help", path.empty() ? "" : path + " ");
  for (const std::string& argument : command.remaining()) {
    const bool option = argument.size() > 1 && argument[0] == '-';
    if (!option && command_names(command).empty()) continue;
    const std::string name = argument.substr(0, argument.find('='));
    std::string meant = option         ? foreign_meaning(name, command.get_name(), option_names(command))
                        : path.empty() ? command_for_file(argument)
                                       : std::string();
    if (meant.empty()) meant = did_you_mean(name, option ? option_names(command) : command_names(command));
    return fmt::format("{}no {} '{}'{}", prefix, option ? "option" : "command", name,
                       meant.empty() ? help : meant);
  }
  return prefix + with_capitals(command, error.what()) + help;
}

} // namespace lanner::tool
