#pragma once
// Brings the helpers that throw errors into the namespace of the C interface.

#include <lanner/error.h>

namespace lanner::c {

using errors::check;
using errors::fail;
using errors::with_context;

} // namespace lanner::c
