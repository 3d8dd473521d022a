#pragma once
// Files of a ConvertedModel besides its SavedModel.

#include <lanner/tensorflow.h>

#include "calls/bindings.h"

namespace lanner::python {

void save_plan(const tf::Model& model, nb::handle path);
void save_onnx(const tf::Model& model, nb::handle path);
void write_events(const tf::Model& model, nb::handle folder);

} // namespace lanner::python
