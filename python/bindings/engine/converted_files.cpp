#include "engine/converted_files.h"

#include <lanner/tf_export.h>

#include "calls/warnings.h"
#include "engine/engine.h"

namespace lanner::python {

void save_plan(const tf::Model& model, nb::handle path) {
  const std::string name = path_of(path);
  Interruptible interruptible;
  const Control control = interruptible.control();
  GatheredWarnings warnings;
  interruptible.run([&] { tf::save_plan(model, name, control); });
  warnings.give();
}

void save_onnx(const tf::Model& model, nb::handle path) {
  const std::string name = path_of(path);
  Interruptible interruptible;
  interruptible.run([&] { tf::save_onnx(model, name); });
}

void write_events(const tf::Model& model, nb::handle folder) {
  const std::string name = path_of(folder);
  Interruptible interruptible;
  interruptible.run([&] { tf::write_events(model, name); });
}

} // namespace lanner::python
