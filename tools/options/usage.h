#pragma once
// Errors of the command line.

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
} // namespace CLI

namespace lanner::tool {

/// Rewrites arguments for CLI11: options of two-part names, `-c:v`, become their long names, and known ones
/// of other programs, `-vframes`, get two dashes so that their letters stay together.
std::vector<std::string> with_long_names(int count, char** arguments);
/// One line about a command line that `app` refused, with the nearest option or subcommand.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

} // namespace lanner::tool
