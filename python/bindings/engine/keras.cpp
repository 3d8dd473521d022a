#include "engine/keras.h"

#include <lanner/keras.h>

namespace lanner::python {

void register_keras(nb::module_& module) {
  module.def("_set_keras_python", &set_keras_python, nb::arg("interpreter"),
             nb::sig("def _set_keras_python(interpreter: str) -> None"));
}

} // namespace lanner::python
