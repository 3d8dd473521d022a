// Files of tensors.

#include <lanner/tensor_file.h>

#include "bindings.h"

namespace lanner::python {

void register_tensor_file(nb::module_& module) {
  module.def(
      "load_tensors",
      [](nb::handle path) {
        const std::string name = path_of(path);
        const auto tensors = [&] {
          ReleasedGil release;
          return load_tensors(name);
        }();
        nb::dict result;
        for (const auto& [key, tensor] : tensors) result[text_of(key)] = tensor;
        return result;
      },
      nb::arg("path"), nb::sig("def load_tensors(path: str | os.PathLike[str]) -> dict[str, Tensor]"),
      "The tensors of a safetensors file, by name.");
}

} // namespace lanner::python
