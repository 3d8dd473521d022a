// Files of tensors.

#include <lanner/tensor_file.h>

#include "calls/bindings.h"

namespace lanner::python {

void register_tensor_file(nb::module_& module) {
  module.def(
      "load_tensors",
      [](nb::handle path, nb::handle limits) {
        const std::string name = path_of(path);
        const Limits bounds = to_limits(limits);
        const auto tensors = [&] {
          ReleasedGil release;
          return load_tensors(name, bounds);
        }();
        nb::dict result;
        for (const auto& [key, tensor] : tensors) result[text_of(key)] = tensor;
        return result;
      },
      nb::arg("path"), nb::kw_only(), nb::arg("limits") = nb::none(),
      nb::sig(
          "def load_tensors(path: str | os.PathLike[str], *, limits: collections.abc.Mapping[str, float | "
          "str] | None = None) -> dict[str, Tensor]"),
      "Reads a safetensors file: a dict from name to Tensor. Raises NotFound, BadData, "
      "LimitExceeded.\n\npath: file to read\nlimits: limits on the resources that the file may use, as in "
      "build");
}

} // namespace lanner::python
