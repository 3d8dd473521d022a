#pragma once
// How the library's own code throws errors.

#include <lanner/error.h>

namespace lanner {

using errors::check;
using errors::fail;
using errors::with_context;

} // namespace lanner
