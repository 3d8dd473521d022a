#pragma once
// What Python calls tasks.

#include <lanner/task.h>

#include "bindings.h"

namespace lanner::python {

/// A task of None, a word, JSON or a dict.
Task to_task(nb::handle given);

} // namespace lanner::python
