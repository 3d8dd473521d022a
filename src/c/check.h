#pragma once
// The C interface's own code throws by these words.

#include <lanner/error.h>

namespace lanner::c {

using errors::check;
using errors::fail;
using errors::with_context;

} // namespace lanner::c
