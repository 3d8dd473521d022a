#pragma once
// lanner.tasks.evaluate().

#include "calls/bindings.h"

namespace lanner::python {

void register_evaluation(nb::module_& module);

} // namespace lanner::python
