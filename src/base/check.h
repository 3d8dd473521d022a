#pragma once
// The library's own code throws by these words.

#include <lanner/error.h>

namespace lanner {

using errors::check;
using errors::fail;
using errors::with_context;

} // namespace lanner
