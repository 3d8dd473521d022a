#pragma once
// --limit, which every subcommand that reads files takes.

#include <lanner/limits.h>

#include "options/command_line.h"

namespace lanner::tool {

/// Adds `--limit NAME=VALUE`, which may come several times.
void add_limit_option(Command& command);
/// What was given of it. One command runs in a process, so there is one.
const Limits& given_limits();

} // namespace lanner::tool
