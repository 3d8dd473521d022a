#pragma once
// lanner.tf.records: TFRecord files.

#include "calls/bindings.h"

namespace lanner::python {

void register_records(nb::module_& module);

} // namespace lanner::python
