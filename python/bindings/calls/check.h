#pragma once
// The module's own code throws by these words.

#include <lanner/error.h>

namespace lanner::python {

using errors::check;
using errors::fail;
using errors::with_context;

} // namespace lanner::python
