// lanner.Engine.

#include "engine/engine.h"

#include <mutex>

#include <lanner/doctor.h>
#include <lanner/error.h>
#include <lanner/threads.h>

#include "calls/option_rows.h"
#include "calls/options.h"
#include "calls/warnings.h"
#include "engine/context.h"
#include "engine/notebook.h"
#include "engine/verification.h"

namespace lanner::python {
namespace {

constexpr std::string_view expected_shapes = "a dict like {\"x\": (1, 3, 224, 224)}";

/// One number of threads, or several.
std::vector<int> to_threads(nb::handle given) {
  return with_option_named(
      "threads", given,
      [&] {
        if (PyIndex_Check(given.ptr()) != 0) return std::vector<int>{nb::cast<int>(given)};
        std::vector<int> numbers;
        for (nb::handle one : given) numbers.push_back(nb::cast<int>(one));
        return numbers;
      },
      "int, or several");
}

/// Shapes of one variant or a list of several, each for every number of threads.
void prepare(const PyEngine& engine, nb::handle shapes, nb::handle threads, nb::object progress) {
  std::vector<nb::dict> wanted;
  if (nb::hasattr(shapes, "keys"))
    wanted.push_back(to_dict("shapes", shapes, expected_shapes));
  else
    wanted = to_dicts("shapes", shapes, "a dict like {\"x\": (1, 3, 224, 224)}, or a list of such");
  std::vector<Variant> variants;
  for (const nb::dict& one : wanted)
    for (const int number : to_threads(threads))
      variants.push_back({by_name("shapes", one, expected_sizes, to_shape), number});
  Interruptible interruptible(std::move(progress));
  const Control control = interruptible.control();
  GatheredWarnings warnings;
  interruptible.run([&] { engine.get().prepare(variants, control); });
  warnings.give();
}

PyEngine refit(const PyEngine& engine, nb::handle weights_by_name) {
  const nb::dict given = to_dict("weights", weights_by_name, "a dict like {\"conv1.weight\": array}");
  const auto weights =
      by_name("weights", given, "an array", [](nb::handle value) { return to_tensor(value); });
  GatheredWarnings warnings;
  const auto made = [&] {
    ReleasedGil release;
    return engine.get().refit(weights);
  };
  PyEngine result(made());
  warnings.give();
  return result;
}

nb::dict weights_of(const PyEngine& engine) {
  nb::dict result;
  for (const SourceWeight& weight : engine.get().weights()) {
    nb::list sizes;
    for (const std::int64_t size : weight.shape) sizes.append(size);
    result[text_of(weight.name)] = nb::make_tuple(std::string(to_string(weight.dtype)), nb::tuple(sizes));
  }
  return result;
}

nb::list bindings(const std::vector<Binding>& list) {
  nb::list result;
  for (const Binding& binding : list) result.append(binding);
  return result;
}

/// Registers process-wide settings of engines.
void register_process(nb::module_& module) {
  module.def(
      "default_threads", &default_threads, nb::sig("def default_threads() -> int"),
      "Threads of engines, decoders and readers made without an explicit number: from set_threads(), else "
      "the environment variable LANNER_THREADS, else the number of cores that this process may use.");
  module.def(
      "set_threads", [](nb::handle count) { set_threads(to_value<int>("count", count, "int")); },
      nb::arg("count").none(), nb::sig("def set_threads(count: int) -> None"),
      "Sets default_threads() for objects made from now on.\n\ncount: 1 to 4096; 0: resets it");
  module.def(
      "add_library_folders",
      [](nb::handle folders) {
        std::vector<std::filesystem::path> paths;
        for (nb::handle folder : folders) paths.emplace_back(path_of(folder));
        add_library_folders(paths);
      },
      nb::arg("folders"), nb::sig("def add_library_folders(folders: collections.abc.Sequence[str]) -> None"),
      "Adds folders that are searched for CUDA's libraries before the system's; call it before the first use "
      "of a GPU. The folders of the nvidia packages from PyPI are searched anyway.\n\nfolders: paths");
}

std::span<const Keyword> context_keywords() {
  static const std::vector<Keyword> keywords = keywords_of(context_option_table(), true);
  return keywords;
}

void register_runs(nb::class_<PyEngine>& engine) {
  engine
      .def("__call__", &PyEngine::call, nb::arg("inputs").none() = nb::none(), nb::kw_only(),
           nb::arg("stream").none() = 0, nb::arg("others"),
           nb::sig("def __call__(self, inputs: collections.abc.Mapping[str, object], *, stream: int = 0) -> "
                   "dict[str, Tensor]"),
           "Runs the network in a context of its own: a dict from output name to Tensor. Threads may call it "
           "at the same time. Raises InvalidArgument for unknown names and wrong types or shapes.\n\ninputs: "
           "dict from input name to array, Tensor, Image, Frame or list of images\nstream: handle of a CUDA "
           "stream to run on, such as torch.cuda.Stream.cuda_stream")
      .def(
          "create_context",
          [](const PyEngine& self, const nb::args& by_place, const nb::kwargs& by_name) {
            ContextOptions options;
            const nb::kwargs given = by_names("create_context", by_place, by_name, context_keywords());
            take_keywords("create_context", given, context_keywords(), context_option_table(), options);
            return new PyContext(self.get(), options);
          },
          nb::arg("by_place"), nb::arg("by_name"),
          nb::sig(signature("def create_context(self", context_keywords(), "Context", true).c_str()),
          ("Makes memory and threads for one caller, for many runs.\n\n" + keyword_docs(context_keywords()))
              .c_str())
      .def(
          "save",
          [](const PyEngine& self, nb::handle path, bool weights) {
            const std::string name = path_of(path);
            Interruptible interruptible;
            const Control control = interruptible.control();
            interruptible.run([&] { self.get().save(name, {.weights = weights, .control = control}); });
          },
          nb::arg("path"), nb::kw_only(), nb::arg("weights") = true,
          nb::sig("def save(self, path: str | os.PathLike[str], *, weights: bool = True) -> None"),
          "Writes a plan, which lanner.load opens without building again. The file appears complete or not "
          "at all.\n\npath: file to write\nweights: False leaves out the model's weights; lanner.load(path, "
          "weights=model) then takes them from the model")
      .def("prepare", &prepare, nb::arg("shapes").none(), nb::kw_only(), nb::arg("threads").none() = 0,
           nb::arg("progress") = nb::none(),
           nb::sig("def prepare(self, shapes: collections.abc.Mapping[str, collections.abc.Sequence[int]] | "
                   "collections.abc.Sequence[collections.abc.Mapping[str, collections.abc.Sequence[int]]], "
                   "*, threads: int | "
                   "collections.abc.Sequence[int] = 0, progress: collections.abc.Callable[[str, int, int], "
                   "object] | None = None) -> None"),
           "Tunes kernels for input shapes before their first run, within the build's budget; contexts may "
           "run meanwhile, and save() keeps the result.\n\nshapes: dict from input name to shape, or several "
           "such dicts\nthreads: threads of the contexts that will run them; 0: the engine's; a sequence to "
           "prepare for each number\nprogress: called with (stage, done, total)");
}

void register_shapes(nb::class_<PyEngine>& engine) {
  engine
      .def_prop_ro(
          "open_sizes", [](const PyEngine& self) { return self.get().open_sizes(); },
          "Whether the build chose no kernels, as some sizes were open: the first run of each set of shapes "
          "then chooses kernels by estimates, prepare by timing.")
      .def(
          "sample_shapes",
          [](const PyEngine& self, nb::handle shapes, nb::handle batch) {
            const auto given =
                by_name("shapes", to_dict("shapes", shapes, expected_shapes), expected_sizes, to_shape);
            const auto number = to_value<std::int64_t>("batch", batch, "int");
            const auto found = [&] {
              ReleasedGil release;
              return self.get().sample_shapes(given, number);
            };
            return shapes_dict(found());
          },
          nb::arg("shapes").none() = nb::dict(), nb::kw_only(), nb::arg("batch").none() = 0,
          nb::sig("def sample_shapes(self, shapes: collections.abc.Mapping[str, "
                  "collections.abc.Sequence[int]] = {}, *, batch: int = 0) -> dict[str, tuple[int, ...]]"),
          "Shapes of all inputs, for trying the engine: the tuned ones, with small values that the model "
          "accepts for open sizes: 1 for a batch, 224 for the height and width of an image if that fits, 0 "
          "for a state, else the smallest found. Raises InvalidArgument if none are found.\n\nshapes: dict "
          "from input name to shape, for inputs whose shape is given\nbatch: size of open first dimensions; "
          "0: the tuned one, else 1")
      .def(
          "verify",
          [](const PyEngine& self, nb::handle shapes, nb::handle inputs, const nb::kwargs& others) {
            return verify(self.get(), to_dict("shapes", shapes, expected_shapes),
                          to_dict("inputs", inputs, "a dict like {\"x\": array}"), others);
          },
          nb::arg("shapes").none() = nb::dict(), nb::arg("inputs").none() = nb::dict(), nb::arg("others"),
          nb::sig(
              signature("def verify(self, shapes: collections.abc.Mapping[str, "
                        "collections.abc.Sequence[int]] = {}, inputs: collections.abc.Mapping[str, object] "
                        "= {}",
                        verify_keywords(), "Verification")
                  .c_str()),
          ("Compares every node's kernel with the definition of its operator on the same values, then runs "
           "of "
           "several contexts at once with each other.\n\nshapes: dict from input name to shape; default: "
           "those of sample_shapes\ninputs: dict from input name to array; inputs that are not given are "
           "random\n" +
           keyword_docs(verify_keywords()))
              .c_str());
}

void register_weights(nb::class_<PyEngine>& engine) {
  engine
      .def("refit", &refit, nb::arg("weights").none(),
           nb::sig("def refit(self, weights: collections.abc.Mapping[str, object]) -> Engine"),
           "A new engine with other values of some weights; the rest is shared. Kernels stay the same, "
           "nothing is timed, and this engine and its contexts do not change; docs/weights.md. Raises "
           "NotFound for an "
           "unknown name and InvalidArgument for a wrong type or shape, or if the build merged a weight with "
           "others, which the message names.\n\nweights: dict from name to array of the same type and "
           "shape")
      .def_prop_ro("weights", &weights_of,
                   nb::sig("def weights(self) -> dict[str, tuple[str, tuple[int, ...]]]"),
                   "Weights of the model that refit accepts: name to (element type, shape).")
      .def_prop_rw(
          "weight_budget", [](const PyEngine& self) { return self.get().weight_budget(); },
          [](PyEngine& self, nb::handle bytes) {
            const auto budget =
                to_value<std::optional<std::uint64_t>>("weight_budget", bytes, "bytes or None");
            ReleasedGil release;
            self.get().set_weight_budget(budget);
          },
          nb::for_getter(nb::sig("def weight_budget(self) -> int | None")),
          nb::for_setter(nb::arg("bytes").none()),
          nb::for_setter(nb::sig("def weight_budget(self, bytes: int | None, /) -> None")),
          "Bytes of GPU memory that weights may take, including the buffers of one context; None: no limit. "
          "Weights beyond it are copied from the host before the steps that read them. Contexts apply it at "
          "their next run; docs/weights.md.")
      .def_prop_ro(
          "streamable_weights", [](const PyEngine& self) { return self.get().streamable_weights(); },
          "Bytes of weights that may stay on the host under a weight_budget.")
      .def_prop_ro(
          "min_weight_budget", [](const PyEngine& self) { return self.get().min_weight_budget(); },
          "The smallest weight_budget, in bytes.");
}

nb::dict preprocess_of(const PyEngine& engine) {
  nb::dict specs;
  for (const Binding& input : engine.get().inputs())
    if (const auto spec = engine.get().preprocess(input.name)) specs[text_of(input.name)] = *spec;
  return specs;
}

void register_facts(nb::class_<PyEngine>& engine) {
  engine
      .def_prop_ro(
          "name", [](const PyEngine& self) { return text_of(self.get().name()); },
          "Name of the model's graph.")
      .def_prop_ro(
          "inputs", [](const PyEngine& self) { return bindings(self.get().inputs()); },
          nb::sig("def inputs(self) -> list[Binding]"), "The inputs, in the model's order.")
      .def_prop_ro(
          "outputs", [](const PyEngine& self) { return bindings(self.get().outputs()); },
          nb::sig("def outputs(self) -> list[Binding]"),
          "The outputs, in the model's order, or that of build's outputs=.")
      .def_prop_ro(
          "overridable", [](const PyEngine& self) { return bindings(self.get().overridable()); },
          nb::sig("def overridable(self) -> list[Binding]"),
          "Initialisers that the model lists among its inputs and that are constants of the engine. A run "
          "may set them like inputs: the first run that does builds a second engine, in which they are "
          "inputs; build's overridden= makes them inputs from the start. Empty for a plan.")
      .def_prop_ro(
          "threads", [](const PyEngine& self) { return self.get().threads(); }, "Threads of its contexts.")
      .def_prop_ro(
          "device", [](const PyEngine& self) { return self.get().device().to_string(); },
          "Device of inputs and outputs: `cpu`, `cuda:0`.")
      .def_prop_ro("preprocess", &preprocess_of, nb::sig("def preprocess(self) -> dict[str, Preprocess]"),
                   "How images given to an input become tensors, by input name: as given to build, or as the "
                   "model declares it.")
      .def_prop_ro(
          "metadata",
          [](const PyEngine& self) {
            nb::dict metadata;
            for (const auto& [key, value] : self.get().metadata()) metadata[text_of(key)] = text_of(value);
            return metadata;
          },
          nb::sig("def metadata(self) -> dict[str, str]"),
          "Metadata of the model and what build's metadata= added, text by key.")
      .def(
          "ir", [](const PyEngine& self) { return text_of(self.get().ir()); },
          "The graph after import and canonical passes, as text.")
      .def(
          "lowered_ir", [](const PyEngine& self) { return text_of(self.get().lowered_ir()); },
          "The graph as it runs, with memory layouts and kernels, as text.")
      .def(
          "explain",
          [](const PyEngine& self) {
            return nb::module_::import_("json").attr("loads")(self.get().explain_json());
          },
          nb::sig("def explain(self) -> dict[str, typing.Any]"),
          "Decisions for each node and why: kernels, alternatives and their times; docs/explain.md.")
      .def("__repr__",
           [](const PyEngine& self) { return text_of(engine_text(self.get()), "backslashreplace"); })
      .def(
          "_repr_html_", [](const PyEngine& self) { return engine_html(self.get()); },
          nb::sig("def _repr_html_(self) -> str"));
}

} // namespace

Context PyEngine::take() const {
  const std::lock_guard lock(pool_->mutex);
  if (pool_->idle.empty()) return engine_.create_context();
  Context context = std::move(pool_->idle.back());
  pool_->idle.pop_back();
  return context;
}

void PyEngine::give(Context context) const {
  const std::lock_guard lock(pool_->mutex);
  pool_->idle.push_back(std::move(context));
}

nb::dict PyEngine::call(nb::handle inputs, nb::handle stream, const nb::kwargs& others) const {
  const nb::dict given = to_inputs(engine_, inputs, others);
  const std::uintptr_t queue = to_stream(stream);
  Context context = take();
  bind_inputs(context, engine_, given, queue);
  run(context, queue);
  nb::dict results = outputs_of(context, engine_);
  context.unbind(); // nothing of this caller stays bound for the next one
  context.reset_states();
  give(std::move(context));
  return results;
}

void register_engine(nb::module_& module) {
  register_process(module);
  nb::class_<PyEngine> engine(
      module, "Engine",
      "A network ready to run, made by lanner.build or lanner.load. Immutable; threads may share it.");
  register_runs(engine);
  register_shapes(engine);
  register_weights(engine);
  register_facts(engine);
}

} // namespace lanner::python
