#pragma once
// Brings the helpers that throw errors into the namespace of the module.

#include <lanner/error.h>

namespace lanner::python {

using errors::check;
using errors::fail;
using errors::with_context;

} // namespace lanner::python
