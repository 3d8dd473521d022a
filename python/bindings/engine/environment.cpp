// lanner.Environment: custom operators and resources of the program.

#include "engine/environment.h"

#include <lanner/environment.h>

#include "calls/options.h"
#include "engine/resources.h"

namespace lanner::python {
namespace {

void init(Environment* self, nb::handle log, nb::handle executor, nb::handle allocator, nb::handle limits,
          nb::handle threads, nb::handle backends) {
  Environment made;
  if (!backends.is_none())
    made.set_backends(with_option_named(
        "backends", backends, [&] { return to_names(backends); }, "a list of names"));
  if (!log.is_none()) made.set_log_callback(to_log(log));
  if (auto given = to_executor(executor)) made.set_executor(std::move(given));
  if (const auto given = to_allocator(allocator)) made.set_allocator(&*given);
  if (!limits.is_none()) made.set_limits(to_limits(limits));
  if (const int number = to_value<int>("threads", threads, "int"); number != 0) made.set_threads(number);
  new (self) Environment(std::move(made));
}

void register_rest(nb::class_<Environment>& environment) {
  environment
      .def(
          "load_plugin",
          [](Environment& self, nb::handle path) {
            const std::string name = path_of(path);
            ReleasedGil release;
            self.load_plugin(name);
          },
          nb::arg("path"), nb::sig("def load_plugin(self, path: str | os.PathLike[str]) -> None"),
          "Adds the operators of a plug-in; docs/plugins.md. Raises NotFound, InvalidArgument or the "
          "plug-in's error.\n\npath: shared library")
      .def_prop_ro(
          "operators",
          [](const Environment& self) {
            nb::list list;
            for (const std::string& name : self.operators()) list.append(text_of(name));
            return list;
          },
          nb::sig("def operators(self) -> list[str]"),
          "Name and version of each operator that plug-ins added.")
      .def_prop_ro(
          "backends",
          [](const Environment& self) {
            nb::list list;
            for (const std::string& name : self.backends()) list.append(text_of(name));
            return list;
          },
          nb::sig("def backends(self) -> list[str]"),
          "Names of the backends whose kernels may be used, in the order in which they are queried.")
      .def(
          "set_cache_folder",
          [](Environment& self, nb::handle path) {
            self.set_cache_folder(path.is_none() ? "" : path_of(path));
          },
          nb::arg("path").none(),
          nb::sig("def set_cache_folder(self, path: str | os.PathLike[str] | None) -> None"),
          "Sets the folder in which timings of kernels are cached.\n\npath: folder; None: the environment "
          "variable LANNER_CACHE_DIR, or the user's cache folder");
}

} // namespace

void register_environment(nb::module_& module) {
  nb::class_<Environment> environment(
      module, "Environment",
      "Settings that several builds and loads share: operators of plug-ins, backends, folder of the timing "
      "cache, log, threads, memory, limits; docs/environment.md. Changes apply to engines made later. "
      "Settings that are not set are those of the process.");
  environment.def(
      "__init__", &init, nb::kw_only(), nb::arg("log") = nb::none(), nb::arg("executor") = nb::none(),
      nb::arg("allocator") = nb::none(), nb::arg("limits") = nb::none(), nb::arg("threads").none() = 0,
      nb::arg("backends") = nb::none(),
      nb::sig("def __init__(self, *, log: typing.Callable[[str, str], typing.Any] | None = None, "
              "executor: typing.Callable[[int, typing.Callable[[int], None]], typing.Any] | None = None, "
              "allocator: tuple[int, int, int] | None = None, "
              "limits: collections.abc.Mapping[str, float | str] | None = None, threads: int = 0, "
              "backends: collections.abc.Sequence[str] | None = None) -> None"),
      "All are optional.\n\nlog: called as log(level, message) from any thread for messages while its "
      "engines are built, loaded and run; level is \"debug\", \"info\" or \"warning\". There are then no "
      "Python warnings\nexecutor: called as executor(count, piece) to run a loop: it calls "
      "piece(i) once for each i below count, on any threads, and returns when all have "
      "returned\nallocator: addresses of the functions allocate and release of a lanner_allocator "
      "(lanner/allocator.h) and of their user pointer; they must stay valid as long as its engines, contexts "
      "and results\nlimits: limits on every build, load and run, in the form of build's limits; total_bytes "
      "bounds all its engines together\nthreads: number of threads for engines made without one; 0: "
      "default_threads()\nbackends: backends whose kernels may be used: cuda, onednn, cpu and reference, "
      "which is used if no other has a kernel; None: all");
  register_rest(environment);
}

} // namespace lanner::python
