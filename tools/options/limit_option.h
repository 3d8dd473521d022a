#pragma once
// --limit, an option of every subcommand that reads files.

#include <lanner/limits.h>

#include "options/command_line.h"

namespace lanner::tool {

/// Adds the repeatable `--limit NAME=VALUE`.
void add_limit_option(Command& command);
/// The limits given. One command runs in a process, so there is one set.
const Limits& given_limits();

} // namespace lanner::tool
