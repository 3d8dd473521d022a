#pragma once
// What a wrong command line meant.

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
} // namespace CLI

namespace lanner::tool {

/// The arguments with options of two-part names, `-c:v`, replaced by their long names, which is all CLI11
/// reads, and known ones of other programs, `-vframes`, with the two dashes that keep their letters together.
std::vector<std::string> with_long_names(int count, char** arguments);
/// One line for a command line that `app` refused, with the nearest option or subcommand.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

} // namespace lanner::tool
