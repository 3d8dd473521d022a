#include "usage.h"

#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <lanner/nearest.h>

#include "foreign_options.h"

namespace lanner::tool {
namespace {

constexpr std::pair<std::string_view, std::string_view> two_part_names[] = {
    {"-c:v", "--codec"}, {"-b:v", "--bit-rate"}, {"-preset", "--preset"}, {"-crf", "--crf"}};

/// The subcommand that was given, else the command itself.
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
  const std::string prefix = &command == &app ? "" : command.get_name() + ": ";
  const std::string help =
      fmt::format("; see lanner {}--help", &command == &app ? "" : command.get_name() + " ");
  for (const std::string& argument : command.remaining()) {
    const bool option = argument.size() > 1 && argument[0] == '-';
    if (!option && &command != &app) continue;
    const std::string name = argument.substr(0, argument.find('='));
    std::string meant = option ? foreign_meaning(name, option_names(command)) : std::string();
    if (meant.empty()) meant = did_you_mean(name, option ? option_names(command) : command_names(app));
    return fmt::format("{}no {} '{}'{}", prefix, option ? "option" : "command", name,
                       meant.empty() ? help : meant);
  }
  return prefix + error.what() + help;
}

} // namespace lanner::tool
