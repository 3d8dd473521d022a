#pragma once
// Shorthand for the errors that the command's own code throws.

#include <lanner/error.h>

namespace lanner::tool {

using errors::check;
using errors::fail;
using errors::with_context;

} // namespace lanner::tool
