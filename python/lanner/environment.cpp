// Environments: operators from outside.

#include "environment.h"

#include <lanner/environment.h>

namespace lanner::python {

void register_environment(nb::module_& module) {
  nb::class_<Environment>(module, "Environment",
                          "What builds and loads share beside the model: operators from plug-ins, and where "
                          "timings are kept. An engine keeps what it was given: changes are for engines made "
                          "later.")
      .def(nb::init<>())
      .def(
          "load_plugin",
          [](Environment& self, nb::handle path) {
            const std::string name = path_of(path);
            ReleasedGil release;
            self.load_plugin(name);
          },
          nb::arg("path"), nb::sig("def load_plugin(self, path: str | os.PathLike[str]) -> None"),
          "Adds the operators of a plug-in, a library in C; see docs/plugins.md.")
      .def_prop_ro(
          "operators",
          [](const Environment& self) {
            nb::list list;
            for (const std::string& name : self.operators()) list.append(text_of(name));
            return list;
          },
          nb::sig("def operators(self) -> list[str]"), "Name and version of each operator that was added.")
      .def(
          "set_cache_folder",
          [](Environment& self, nb::handle path) {
            self.set_cache_folder(path.is_none() ? "" : path_of(path));
          },
          nb::arg("path").none(),
          nb::sig("def set_cache_folder(self, path: str | os.PathLike[str] | None) -> None"),
          "Where timings are kept; None: LANNER_CACHE_DIR, or the user's cache folder.");
}

} // namespace lanner::python
