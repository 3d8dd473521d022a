// Engines and contexts.

#include <mutex>

#include <fmt/format.h>

#include <lanner/doctor.h>
#include <lanner/engine.h>
#include <lanner/error.h>
#include <lanner/threads.h>

#include "context.h"
#include "verification.h"
#include "warnings.h"

namespace lanner::python {
namespace {

Shape to_shape(nb::handle value) {
  Shape shape;
  for (nb::handle size : value) shape.push_back(nb::cast<std::int64_t>(size));
  return shape;
}

/// `(1, 3, 224, 224)`, or three of them: min, opt, max.
ShapeRange to_range(nb::handle value) {
  const bool nested = nb::len(value) == 3 && PyIndex_Check(nb::object(value[0]).ptr()) == 0;
  return nested ? ShapeRange{to_shape(value[0]), to_shape(value[1]), to_shape(value[2])}
                : ShapeRange::fixed(to_shape(value));
}

/// An option by input name.
template<typename Value, typename Convert>
std::map<std::string, Value> by_input(std::string_view option, const nb::dict& given, Convert&& convert) {
  std::map<std::string, Value> values;
  for (const auto& [key, value] : given) {
    const std::string name = with_option_named(option, key, [&] {
      if (!nb::isinstance<nb::str>(key)) throw std::bad_cast();
      return bytes_of(key, "surrogateescape");
    });
    values[name] =
        with_option_named(fmt::format("{} of {}", option, name), value, [&] { return convert(value); });
  }
  return values;
}

std::string name_of(nb::handle given) {
  if (!nb::isinstance<nb::str>(given)) throw std::bad_cast();
  return bytes_of(given, "surrogateescape");
}

/// Names to names.
template<typename Pair>
std::vector<Pair> pairs_of(std::string_view option, const nb::dict& given) {
  std::vector<Pair> pairs;
  for (const auto& [from, to] : by_input<std::string>(option, given, name_of)) pairs.push_back({from, to});
  return pairs;
}

std::vector<std::string> names_of(std::string_view option, nb::handle given) {
  return with_option_named(option, given, [&] {
    std::vector<std::string> names;
    for (nb::handle one : given) names.push_back(name_of(one));
    return names;
  });
}

/// A list of dicts.
std::vector<nb::dict> dicts_of(std::string_view option, nb::handle given) {
  return with_option_named(option, given, [&] {
    std::vector<nb::dict> dicts;
    for (nb::handle one : given) dicts.push_back(nb::cast<nb::dict>(one));
    return dicts;
  });
}

/// A number, or several.
std::vector<int> to_threads(nb::handle given) {
  return with_option_named("threads", given, [&] {
    if (PyIndex_Check(given.ptr()) != 0) return std::vector<int>{nb::cast<int>(given)};
    std::vector<int> numbers;
    for (nb::handle one : given) numbers.push_back(nb::cast<int>(one));
    return numbers;
  });
}

/// What Python calls an engine: with contexts of its own for `engine(...)`, so that threads may share it.
class PyEngine {
public:
  explicit PyEngine(Engine engine) : engine_(std::move(engine)), pool_(std::make_shared<Pool>()) {}
  const Engine& get() const { return engine_; }

  nb::dict call(const nb::dict& inputs, std::uintptr_t stream) const;

private:
  struct Pool {
    std::mutex mutex;
    std::vector<Context> idle;
  };
  Context take() const {
    const std::lock_guard lock(pool_->mutex);
    if (pool_->idle.empty()) return engine_.create_context();
    Context context = std::move(pool_->idle.back());
    pool_->idle.pop_back();
    return context;
  }
  void give(Context context) const {
    const std::lock_guard lock(pool_->mutex);
    pool_->idle.push_back(std::move(context));
  }

  Engine engine_;
  std::shared_ptr<Pool> pool_;
};

nb::dict PyEngine::call(const nb::dict& inputs, std::uintptr_t stream) const {
  Context context = take();
  bind_inputs(context, engine_, inputs);
  run(context, stream);
  nb::dict results = outputs_of(context, engine_);
  context.unbind(); // Nothing of this caller's is left for the next one.
  context.reset_states();
  give(std::move(context));
  return results;
}

std::string folder_of(nb::handle model) {
  if (!nb::isinstance<nb::str>(model) && !nb::hasattr(model, "__fspath__")) return {};
  const std::filesystem::path parent = std::filesystem::path(path_of(model)).parent_path();
  return parent.empty() ? "." : parent.string();
}

/// Shapes of one variant or a list of several, each for every number of threads.
void prepare(const PyEngine& engine, nb::handle shapes, nb::handle threads, nb::object progress) {
  std::vector<nb::dict> wanted;
  if (nb::isinstance<nb::dict>(shapes))
    wanted.push_back(nb::cast<nb::dict>(shapes));
  else
    wanted = dicts_of("shapes", shapes);
  std::vector<Variant> variants;
  for (const nb::dict& one : wanted)
    for (const int number : to_threads(threads))
      variants.push_back({by_input<Shape>("shapes", one, to_shape), number});
  Interruptible interruptible(std::move(progress));
  const Control control = interruptible.control();
  GatheredWarnings warnings;
  interruptible.run([&] { engine.get().prepare(variants, control); });
  warnings.give();
}

/// `'fp16,fp32'`, or a set of such names; with the other words of the policy.
Precision to_precision(nb::handle types, const nb::dict& pins, bool strict, bool exact) {
  Precision precision;
  if (nb::isinstance<nb::str>(types)) {
    precision = Precision::parse(nb::cast<std::string>(types));
  } else {
    precision.types.clear();
    for (nb::handle name : types) precision.types.insert(parse_precision_type(nb::cast<std::string>(name)));
  }
  for (const auto& [pattern, type] : pins)
    precision.pins.push_back(
        {nb::cast<std::string>(pattern), parse_precision_type(nb::cast<std::string>(type))});
  precision.strict = strict;
  precision.exact = exact;
  return precision;
}

/// `'cuda:0,cuda:1'`, or a list of such names; the first is the engine's own.
void take_devices(BuildOptions& options, nb::handle devices, const nb::dict& placement, bool strict) {
  std::string text;
  if (nb::isinstance<nb::str>(devices)) {
    text = nb::cast<std::string>(devices);
  } else {
    for (nb::handle name : devices) text += (text.empty() ? "" : ",") + nb::cast<std::string>(name);
  }
  const std::vector<Device> set = text == "auto" ? std::vector{automatic_device()} : parse_devices(text);
  options.device = set.front();
  options.placement.devices.assign(set.begin() + 1, set.end());
  for (const auto& [pattern, device] : placement)
    options.placement.nodes.push_back(
        {nb::cast<std::string>(pattern), Device::parse(nb::cast<std::string>(device))});
  options.placement.strict = strict;
}

/// A Preprocess, or (name of a pixel format, Preprocess).
PictureOptions to_picture(nb::handle value) {
  if (nb::isinstance<Preprocess>(value)) return {{}, nb::cast<Preprocess>(value)};
  const bool pair = nb::isinstance<nb::tuple>(value) && nb::len(value) == 2;
  if (!pair) throw std::bad_cast();
  return {parse_pixel_format(nb::cast<std::string>(value[0])), nb::cast<Preprocess>(value[1])};
}

PyEngine build(nb::handle model, nb::handle precision, const nb::dict& pins, bool strict, bool exact,
               const nb::dict& shapes, const nb::handle profiles, int threads, double budget,
               nb::handle device, const nb::dict& placement, bool deterministic, bool retune,
               const nb::dict& preprocess, const nb::dict& pictures, const nb::dict& states,
               const nb::dict& aliases, nb::handle overwritable, const nb::dict& storages, nb::handle weights,
               std::optional<std::uint64_t> weight_budget, nb::handle limits, const Environment& environment,
               nb::object progress) {
  BuildOptions options;
  options.weight_budget = weight_budget;
  options.limits = to_limits(limits);
  options.environment = environment;
  if (!weights.is_none()) options.weights = to_source(weights, options.limits);
  options.precision = to_precision(precision, pins, strict, exact);
  options.threads = threads;
  options.budget = budget;
  options.deterministic = deterministic;
  options.retune = retune;
  take_devices(options, device, placement, strict);
  options.shapes = by_input<ShapeRange>("shapes", shapes, to_range);
  for (const nb::dict& profile : dicts_of("profiles", profiles))
    options.profiles.push_back(by_input<ShapeRange>("profiles", profile, to_range));
  options.preprocess = by_input<Preprocess>("preprocess", preprocess,
                                            [](nb::handle value) { return nb::cast<Preprocess>(value); });
  options.pictures = by_input<PictureOptions>("pictures", pictures, to_picture);
  options.states = pairs_of<StateNames>("states", states);
  options.aliases = pairs_of<AliasNames>("aliases", aliases);
  options.overwritable = names_of("overwritable", overwritable);
  options.storages = by_input<BindingStorage>("storages", storages, [](nb::handle value) {
    return BindingStorage::parse(nb::cast<std::string>(value));
  });
  Interruptible interruptible(std::move(progress));
  options.control = interruptible.control();
  const SourcePtr source = to_source(model, options.limits);
  const std::string folder = folder_of(model);
  GatheredWarnings warnings;
  PyEngine engine(interruptible.run([&] { return Engine::build(source, options, folder); }));
  warnings.give();
  return engine;
}

PyEngine refit(const PyEngine& engine, const nb::dict& given) {
  const auto weights = by_input<Tensor>("weights", given, [](nb::handle value) { return to_tensor(value); });
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

PyEngine load(nb::handle plan, int threads, const std::optional<std::string>& device, nb::handle weights,
              std::optional<std::uint64_t> weight_budget, nb::handle limits, const Environment& environment) {
  LoadOptions options;
  options.weight_budget = weight_budget;
  options.environment = environment;
  options.limits = to_limits(limits);
  options.threads = threads;
  if (device) options.device = *device == "auto" ? automatic_device() : Device::parse(*device);
  if (!weights.is_none()) {
    options.weights = to_source(weights, options.limits);
    options.weights_folder = folder_of(weights);
  }
  Interruptible interruptible;
  options.control = interruptible.control();
  const SourcePtr source = to_source(plan, options.limits);
  GatheredWarnings warnings;
  PyEngine engine(interruptible.run([&] { return Engine::load(source, options); }));
  warnings.give();
  return engine;
}

nb::list bindings(const std::vector<Binding>& list) {
  nb::list result;
  for (const Binding& binding : list) result.append(binding);
  return result;
}

} // namespace

void register_engine(nb::module_& module) {
  module.def("default_threads", &default_threads, nb::sig("def default_threads() -> int"),
             "Threads of what is made without a number of its own: what set_threads() said, else "
             "LANNER_THREADS, else as many as there are cores that this process may keep busy now.");
  module.def("set_threads", &set_threads, nb::arg("count"), nb::sig("def set_threads(count: int) -> None"),
             "Sets that number for every engine, decoder and reader made from now on; 0 takes it back.");
  module.def(
      "add_library_folders",
      [](nb::handle folders) {
        std::vector<std::filesystem::path> paths;
        for (nb::handle folder : folders) paths.emplace_back(path_of(folder));
        add_library_folders(paths);
      },
      nb::arg("folders"), nb::sig("def add_library_folders(folders: collections.abc.Sequence[str]) -> None"),
      "Where CUDA's libraries are looked for before the loader's folders; to be called before the first use "
      "of a GPU. "
      "Those of PyPI's nvidia packages are known already.");

  nb::class_<PyEngine>(module, "Engine", "An immutable network ready to run; threads may share it.")
      .def("__call__", &PyEngine::call, nb::arg("inputs"), nb::kw_only(), nb::arg("stream") = 0,
           nb::sig(
               "def __call__(self, inputs: dict[str, typing.Any], *, stream: int = 0) -> dict[str, Tensor]"),
           "Runs on a dict from input name to array, Tensor, Image, Frame or list of images; a dict from "
           "output name to Tensor.")
      .def(
          "create_context",
          [](const PyEngine& self, int threads, bool profile) {
            return new PyContext(self.get(), {threads, profile});
          },
          nb::arg("threads") = 0, nb::arg("profile") = false)
      .def(
          "save",
          [](const PyEngine& self, nb::handle path, bool weights) {
            const std::string name = path_of(path);
            ReleasedGil release;
            self.get().save(name, {.weights = weights});
          },
          nb::arg("path"), nb::kw_only(), nb::arg("weights") = true,
          nb::sig("def save(self, path: str | os.PathLike[str], *, weights: bool = True) -> None"),
          "Writes a plan beside the path and renames it. weights: False leaves out what is made of the "
          "model's "
          "weights; lanner.load(path, weights=model) takes them from there.")
      .def("refit", &refit, nb::arg("weights"),
           nb::sig("def refit(self, weights: dict[str, typing.Any]) -> Engine"),
           "An engine whose weights of these names have other values, arrays of the same type and shape; "
           "others "
           "keep theirs. Kernels stay, nothing is timed, this engine and its contexts are not touched. A "
           "weight "
           "that became one constant with others may ask for those too: the error says which.")
      .def_prop_ro("weights", &weights_of,
                   nb::sig("def weights(self) -> dict[str, tuple[str, tuple[int, ...]]]"),
                   "The model's weights that refit takes: name to element type and shape.")
      .def_prop_rw(
          "weight_budget", [](const PyEngine& self) { return self.get().weight_budget(); },
          [](PyEngine& self, std::optional<std::uint64_t> bytes) {
            ReleasedGil release;
            self.get().set_weight_budget(bytes);
          },
          nb::for_getter(nb::sig("def weight_budget(self) -> int | None")),
          nb::for_setter(nb::sig("def weight_budget(self, bytes: int | None, /) -> None")),
          "Bytes of the GPU that weights may take, buffers of one context included; None: all lie there. "
          "Others are copied from the host ahead of the steps that read them. Contexts take it up at their "
          "next run.")
      .def_prop_ro(
          "streamable_weights", [](const PyEngine& self) { return self.get().streamable_weights(); },
          "Bytes of weights that a budget may keep from the GPU.")
      .def_prop_ro(
          "least_weight_budget", [](const PyEngine& self) { return self.get().least_weight_budget(); },
          "The least that weight_budget may be.")
      .def("prepare", &prepare, nb::arg("shapes"), nb::kw_only(), nb::arg("threads") = 0,
           nb::arg("progress") = nb::none(),
           nb::sig("def prepare(self, shapes: dict[str, collections.abc.Sequence[int]] | "
                   "collections.abc.Sequence[dict[str, collections.abc.Sequence[int]]], *, threads: int | "
                   "collections.abc.Sequence[int] = 0, progress: collections.abc.Callable[[str, int, int], "
                   "object] | None = None) -> None"),
           "Tunes kernels for these input shapes, or for several, ahead of their first run, within the "
           "build's budget and while contexts go on running; save keeps them. threads: of contexts, 0 for "
           "the engine's; several for each of them.")
      .def_prop_ro("name", [](const PyEngine& self) { return text_of(self.get().name()); })
      .def_prop_ro(
          "inputs", [](const PyEngine& self) { return bindings(self.get().inputs()); },
          nb::sig("def inputs(self) -> list[Binding]"))
      .def_prop_ro(
          "outputs", [](const PyEngine& self) { return bindings(self.get().outputs()); },
          nb::sig("def outputs(self) -> list[Binding]"))
      .def_prop_ro("threads", [](const PyEngine& self) { return self.get().threads(); })
      .def_prop_ro(
          "metadata",
          [](const PyEngine& self) {
            nb::dict metadata;
            for (const auto& [key, value] : self.get().metadata()) metadata[text_of(key)] = text_of(value);
            return metadata;
          },
          nb::sig("def metadata(self) -> dict[str, str]"))
      .def(
          "ir", [](const PyEngine& self) { return text_of(self.get().ir()); }, "The canonical graph as text.")
      .def(
          "lowered_ir", [](const PyEngine& self) { return text_of(self.get().lowered_ir()); },
          "The graph as it runs, with storages and kernels.")
      .def(
          "explain",
          [](const PyEngine& self) {
            return nb::module_::import_("json").attr("loads")(self.get().explain_json());
          },
          nb::sig("def explain(self) -> dict[str, typing.Any]"), "What was decided for each node and why.")
      .def(
          "verify",
          [](const PyEngine& self, const nb::dict& shapes, const nb::dict& inputs, std::uint64_t seed,
             int runs, int contexts, int threads, nb::object reproducer, nb::object progress) {
            return verify(self.get(), {shapes, inputs, seed, runs, contexts, threads, std::move(reproducer),
                                       std::move(progress)});
          },
          nb::arg("shapes") = nb::dict(), nb::arg("inputs") = nb::dict(), nb::kw_only(), nb::arg("seed") = 0,
          nb::arg("runs") = 10, nb::arg("contexts") = 2, nb::arg("threads") = 0,
          nb::arg("reproducer") = nb::none(), nb::arg("progress") = nb::none(),
          nb::sig(
              "def verify(self, shapes: dict[str, collections.abc.Sequence[int]] = {}, "
              "inputs: dict[str, typing.Any] = {}, *, seed: int = 0, runs: int = 10, contexts: int = 2, "
              "threads: int = 0, reproducer: str | os.PathLike[str] | None = None, "
              "progress: collections.abc.Callable[[str, int, int], object] | None = None) -> Verification"),
          "Compares every node's kernel with what the node's definition gives on the same values, then "
          "several "
          "contexts at work at once. inputs that are not given are random. reproducer: path of the ONNX "
          "model "
          "that is written of the first node that differs; what it read goes beside it, to "
          "NAME.inputs.safetensors. The result is true where nothing differs.");

  module.def(
      "build", &build, nb::arg("model"), nb::kw_only(), nb::arg("precision") = "fp32",
      nb::arg("pins") = nb::dict(), nb::arg("strict") = false, nb::arg("exact") = false,
      nb::arg("shapes") = nb::dict(), nb::arg("profiles") = nb::list(), nb::arg("threads") = 0,
      nb::arg("budget") = 10.0, nb::arg("device") = "auto", nb::arg("placement") = nb::dict(),
      nb::arg("deterministic") = false, nb::arg("retune") = false, nb::arg("preprocess") = nb::dict(),
      nb::arg("pictures") = nb::dict(), nb::arg("states") = nb::dict(), nb::arg("aliases") = nb::dict(),
      nb::arg("overwritable") = nb::list(), nb::arg("storages") = nb::dict(), nb::arg("weights") = nb::none(),
      nb::arg("weight_budget") = nb::none(), nb::arg("limits") = nb::none(),
      nb::arg("environment") = Environment(), nb::arg("progress") = nb::none(),
      nb::sig("def build(model: object, *, precision: str | collections.abc.Iterable[str] = 'fp32', "
              "pins: dict[str, str] = {}, strict: bool = False, exact: bool = False, shapes: dict[str, "
              "typing.Any] = "
              "{}, profiles: collections.abc.Sequence[dict[str, typing.Any]] = [], threads: int = 0, "
              "budget: float = 10.0, device: str | collections.abc.Sequence[str] = 'auto', "
              "placement: dict[str, str] = {}, deterministic: bool = False, "
              "retune: bool = False, "
              "preprocess: dict[str, Preprocess] = {}, "
              "pictures: dict[str, Preprocess | tuple[str, Preprocess]] = {}, states: dict[str, str] = {}, "
              "aliases: dict[str, str] = {}, overwritable: collections.abc.Sequence[str] = [], "
              "storages: dict[str, str] = {}, weights: object = None, weight_budget: int | None = None, "
              "limits: dict[str, float | str] | None = None, environment: Environment = ..., "
              "progress: collections.abc.Callable[[str, int, "
              "int], object] | None = None) -> Engine"),
      "Imports, optimises and tunes a model.\n\nmodel: path, bytes or an onnx.ModelProto; ONNX, TensorFlow "
      "GraphDef (binary or text) or Caffe. weights: of a Caffe net in text its .caffemodel. shapes: "
      "input name to shape, or to (min, "
      "opt, max): what the engine takes. profiles: dicts of the same, ranges to be ready for; the "
      "build tunes the opt shapes of each, other shapes in a range take over their kernels, and shapes "
      "in none run too. precision: types that kernels may compute in, fp32, fp16, bf16; fp32 always, unless "
      "strict. pins: type by name of a node, or by a pattern with * and ?: {\"/head/*\": \"fp32\"}. strict: "
      "a node that no kernel computes as it was asked for, or runs where it was placed, is an error. exact: "
      "no kernels that compute by "
      "another formula, like Winograd's. budget: seconds that timing kernels may take; 0 chooses by "
      "heuristics. "
      "device: auto, cpu or cuda:0, or several GPUs, of which the first has inputs and outputs. placement: "
      "device by name of a node or pattern: {\"layer4*\": \"cuda:1\", \"head*\": \"cpu\"}. "
      "deterministic: the same model gives the same plan, nothing is timed. retune: kernels are timed again "
      "that earlier builds have timed. "
      "preprocess: input name to Preprocess. pictures: input name to Preprocess, or to (format, Preprocess) "
      "where all images have one: the input takes images, of any size, which a kernel on the engine's device "
      "reads where they lie. "
      "states: input name to output name, values that each context keeps: the output's after a run is the "
      "input's at the next one. aliases: output name to input name, outputs that are written into the "
      "input's "
      "array. overwritable: inputs whose arrays a run may write over. storages: how arrays of an input or "
      "output lie, like \"acdb\", \"acdb:float16\", \"row:uint8:pitch=640\", or \"any\" for what costs "
      "least. "
      "weight_budget: bytes of the GPU that weights may take, see Engine.weight_budget. "
      "limits: what the model may make the build and the engine's contexts do, like {\"total_bytes\": "
      "\"4GiB\", \"seconds\": 60}; see docs/limits.md. environment: operators from plug-ins, see "
      "Environment. "
      "progress: called with (stage, done, total).");
  module.def(
      "load", &load, nb::arg("plan"), nb::kw_only(), nb::arg("threads") = 0, nb::arg("device") = nb::none(),
      nb::arg("weights") = nb::none(), nb::arg("weight_budget") = nb::none(), nb::arg("limits") = nb::none(),
      nb::arg("environment") = Environment(),
      nb::sig("def load(plan: object, *, threads: int = 0, device: str | None = None, weights: object = "
              "None, weight_budget: int | None = None, limits: dict[str, float | str] | None = None, "
              "environment: Environment = ...) -> Engine"),
      "Opens a plan that Engine.save wrote. device: where it runs when that is not the plan's own, "
      "which tunes again. weights: for a plan that was saved without, the model, a safetensors file or a "
      "plan that has them. weight_budget, limits, environment: as of build.");
}

} // namespace lanner::python
