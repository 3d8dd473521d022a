#pragma once
// lanner.Environment.

#include "calls/bindings.h"

namespace lanner::python {

void register_environment(nb::module_& module);

} // namespace lanner::python
