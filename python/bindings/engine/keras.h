#pragma once
// Which interpreter exports Keras' files.

#include "calls/bindings.h"

namespace lanner::python {

void register_keras(nb::module_& module);

} // namespace lanner::python
