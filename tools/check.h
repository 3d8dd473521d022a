#pragma once
// The command's own code throws by these words.

#include <lanner/error.h>

namespace lanner::tool {

using errors::check;
using errors::fail;
using errors::with_context;

} // namespace lanner::tool
