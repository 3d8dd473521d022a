// Engines and contexts.

#include <mutex>

#include <fmt/format.h>

#include <lanner/doctor.h>
#include <lanner/engine.h>
#include <lanner/error.h>
#include <lanner/image.h>
#include <lanner/video_reader.h>

#include "bindings.h"

namespace lanner::python {
namespace {

Shape to_shape(nb::handle value) {
  Shape shape;
  for (nb::handle size : value) shape.push_back(nb::cast<std::int64_t>(size));
  return shape;
}

/// `(1, 3, 224, 224)`, or three of them: smallest, typical, largest.
ShapeRange to_range(nb::handle value) {
  const bool nested = nb::len(value) == 3 && !nb::isinstance<nb::int_>(value[0]);
  return nested ? ShapeRange{to_shape(value[0]), to_shape(value[1]), to_shape(value[2])}
                : ShapeRange::fixed(to_shape(value));
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

const Binding& binding_of(const Engine& engine, const std::string& name) {
  for (const Binding& binding : engine.inputs())
    if (binding.name == name) return binding;
  std::vector<std::string> known;
  for (const Binding& binding : engine.inputs()) known.push_back(binding.name);
  fail(ErrorCode::invalid_argument, "no input is called '{}'; there is {}", name, fmt::join(known, ", "));
}

/// Binds a tensor, an image, a frame or a list of these.
void bind(Context& context, const Binding& binding, nb::handle value) {
  std::vector<Image> images;
  const auto image_of = [](nb::handle object) -> std::optional<Image> {
    if (nb::isinstance<Image>(object)) return nb::cast<Image>(object);
    if (nb::isinstance<Frame>(object)) return nb::cast<const Frame&>(object).image;
    return std::nullopt;
  };
  if (const auto image = image_of(value)) {
    images.push_back(*image);
  } else if (nb::isinstance<nb::list>(value) && nb::len(value) > 0 && image_of(value[0])) {
    for (nb::handle element : value) {
      const auto one = image_of(element);
      check(one.has_value(), ErrorCode::invalid_argument, "input {}: the list mixes images with other things",
            binding.name);
      images.push_back(*one);
    }
  }
  if (!images.empty()) {
    nb::gil_scoped_release release;
    context.bind(binding.name, images);
  } else {
    Item item = to_item(value, binding.sequence);
    nb::gil_scoped_release release;
    context.bind(binding.name, std::move(item));
  }
}

nb::dict outputs_of(const Context& context, const Engine& engine) {
  nb::dict results;
  for (const Binding& binding : engine.outputs())
    results[binding.name.c_str()] = from_item(context.output(binding.name));
  return results;
}

/// A CUstream as Python's frameworks give it: a number, 0 for the default stream.
Stream stream_of(std::uintptr_t handle) {
  return {reinterpret_cast<void*>(handle)};
}

nb::dict PyEngine::call(const nb::dict& inputs, std::uintptr_t stream) const {
  Context context = take();
  for (const auto& [name, value] : inputs)
    bind(context, binding_of(engine_, nb::cast<std::string>(name)), value);
  {
    nb::gil_scoped_release release;
    context.run(stream_of(stream));
  }
  nb::dict results = outputs_of(context, engine_);
  give(std::move(context));
  return results;
}

/// A context that knows its engine, for names and outputs.
struct PyContext {
  Engine engine;
  Context context;

  nb::dict run(const nb::dict& inputs, const nb::dict& outputs, std::uintptr_t stream) {
    bind_all(inputs, outputs);
    {
      nb::gil_scoped_release release;
      context.run(stream_of(stream));
    }
    return outputs_of(context, engine);
  }

  nb::dict enqueue(const nb::dict& inputs, std::uintptr_t stream, const nb::dict& outputs) {
    bind_all(inputs, outputs);
    {
      nb::gil_scoped_release release;
      context.enqueue(stream_of(stream));
    }
    return outputs_of(context, engine);
  }

private:
  void bind_all(const nb::dict& inputs, const nb::dict& outputs) {
    for (const auto& [name, value] : inputs)
      bind(context, binding_of(engine, nb::cast<std::string>(name)), value);
    for (const auto& [name, value] : outputs)
      context.bind_output(nb::cast<std::string>(name), to_tensor(value));
  }
};

nb::list profile(const PyContext& self) {
  nb::list list;
  for (const StepProfile& step : self.context.profile()) {
    nb::dict entry;
    entry["name"] = step.name;
    entry["op"] = step.op;
    entry["kernel"] = step.kernel;
    entry["backend"] = step.backend;
    entry["sources"] = step.sources;
    entry["bytes"] = step.bytes;
    entry["flops"] = step.flops;
    entry["runs"] = step.runs;
    entry["seconds"] = step.seconds;
    list.append(entry);
  }
  return list;
}

std::string folder_of(nb::handle model) {
  if (!nb::isinstance<nb::str>(model) && !nb::hasattr(model, "__fspath__")) return {};
  const nb::module_ os = nb::module_::import_("os");
  const std::string path = nb::cast<std::string>(os.attr("fsdecode")(model));
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

PyEngine build(nb::handle model, const std::string& precision, const nb::dict& shapes, int threads,
               double budget, const std::string& device, bool deterministic, const nb::dict& preprocess,
               nb::handle weights, nb::object progress) {
  BuildOptions options;
  if (!weights.is_none()) options.weights = to_source(weights);
  options.precision = precision;
  options.threads = threads;
  options.budget = budget;
  options.deterministic = deterministic;
  options.device = device == "auto" ? automatic_device() : Device::parse(device);
  for (const auto& [name, shape] : shapes) options.shapes[nb::cast<std::string>(name)] = to_range(shape);
  for (const auto& [name, spec] : preprocess)
    options.preprocess[nb::cast<std::string>(name)] = nb::cast<Preprocess>(spec);
  Interruptible interruptible(std::move(progress));
  options.control = interruptible.control();
  const SourcePtr source = to_source(model);
  const std::string folder = folder_of(model);
  return PyEngine(interruptible.run([&] { return Engine::build(source, options, folder); }));
}

PyEngine load(nb::handle plan, int threads, const std::optional<std::string>& device) {
  LoadOptions options;
  options.threads = threads;
  if (device) options.device = *device == "auto" ? automatic_device() : Device::parse(*device);
  Interruptible interruptible;
  options.control = interruptible.control();
  const SourcePtr source = to_source(plan);
  return PyEngine(interruptible.run([&] { return Engine::load(source, options); }));
}

nb::list bindings(const std::vector<Binding>& list) {
  nb::list result;
  for (const Binding& binding : list) result.append(binding);
  return result;
}

} // namespace

void register_engine(nb::module_& module) {
  module.def(
      "add_library_folders",
      [](const std::vector<std::string>& folders) {
        const std::vector<std::filesystem::path> paths(folders.begin(), folders.end());
        add_library_folders(paths);
      },
      nb::arg("folders"),
      "Where CUDA's libraries are looked for before the loader's folders; to be called before the first use "
      "of a GPU. "
      "Those of PyPI's nvidia packages are known already.");

  nb::class_<Binding>(module, "Binding", "An input or output of an engine.")
      .def_ro("name", &Binding::name)
      .def_prop_ro("dtype", [](const Binding& self) { return std::string(to_string(self.dtype)); })
      .def_prop_ro(
          "shape",
          [](const Binding& self) {
            nb::list dims;
            for (std::size_t i = 0; i < self.dims.size(); ++i)
              if (self.dims[i] >= 0)
                dims.append(self.dims[i]);
              else
                dims.append(self.dim_names[i]);
            return nb::tuple(dims);
          },
          nb::sig("def shape(self) -> tuple[int | str, ...]"),
          "Sizes; a name or an expression where a size is open.")
      .def_ro("sequence", &Binding::sequence)
      .def("__repr__", &Binding::to_string);

  nb::class_<PyContext>(module, "Context",
                        "One caller's state to run an engine: memory and threads. One thread at a time.")
      .def("__call__", &PyContext::run, nb::arg("inputs"), nb::kw_only(), nb::arg("outputs") = nb::dict(),
           nb::arg("stream") = 0,
           nb::sig("def __call__(self, inputs: dict[str, typing.Any], *, outputs: dict[str, typing.Any] = "
                   "{}, stream: "
                   "int = 0) -> dict[str, Tensor]"),
           "Runs to completion; a dict from output name to Tensor.\n\noutputs: arrays that results are "
           "written to. "
           "stream: a CUDA stream's handle, as torch.cuda.Stream.cuda_stream is.")
      .def("enqueue", &PyContext::enqueue, nb::arg("inputs"), nb::arg("stream"), nb::kw_only(),
           nb::arg("outputs") = nb::dict(),
           nb::sig("def enqueue(self, inputs: dict[str, typing.Any], stream: int, *, outputs: dict[str, "
                   "typing.Any] = "
                   "{}) -> dict[str, Tensor]"),
           "Queues a run on a CUDA stream and returns; inputs and results may be touched once the stream is "
           "synchronised, or by later work of that stream. On the CPU the run is done at return.")
      .def_prop_ro("threads", [](const PyContext& self) { return self.context.threads(); })
      .def_prop_ro("arena_bytes", [](const PyContext& self) { return self.context.arena_bytes(); })
      .def("profile", &profile, nb::sig("def profile(self) -> list[dict[str, typing.Any]]"),
           "A dict for each step, in order; empty unless the context was made with profile=True.");

  nb::class_<PyEngine>(module, "Engine", "An immutable network ready to run; threads may share it.")
      .def("__call__", &PyEngine::call, nb::arg("inputs"), nb::kw_only(), nb::arg("stream") = 0,
           nb::sig(
               "def __call__(self, inputs: dict[str, typing.Any], *, stream: int = 0) -> dict[str, Tensor]"),
           "Runs on a dict from input name to array, Tensor, Image, Frame or list of images; a dict from "
           "output name to Tensor.")
      .def(
          "create_context",
          [](const PyEngine& self, int threads, bool profile) {
            return PyContext{self.get(), self.get().create_context({threads, profile})};
          },
          nb::arg("threads") = 0, nb::arg("profile") = false)
      .def(
          "save",
          [](const PyEngine& self, nb::handle path) {
            const std::string name = nb::cast<std::string>(nb::module_::import_("os").attr("fsdecode")(path));
            nb::gil_scoped_release release;
            self.get().save(name);
          },
          nb::arg("path"), nb::sig("def save(self, path: str | os.PathLike[str]) -> None"),
          "Writes a plan beside the path and renames it.")
      .def_prop_ro("name", [](const PyEngine& self) { return self.get().name(); })
      .def_prop_ro(
          "inputs", [](const PyEngine& self) { return bindings(self.get().inputs()); },
          nb::sig("def inputs(self) -> list[Binding]"))
      .def_prop_ro(
          "outputs", [](const PyEngine& self) { return bindings(self.get().outputs()); },
          nb::sig("def outputs(self) -> list[Binding]"))
      .def_prop_ro("threads", [](const PyEngine& self) { return self.get().threads(); })
      .def_prop_ro("metadata", [](const PyEngine& self) { return self.get().metadata(); })
      .def(
          "ir", [](const PyEngine& self) { return self.get().ir(); }, "The canonical graph as text.")
      .def(
          "lowered_ir", [](const PyEngine& self) { return self.get().lowered_ir(); },
          "The graph as it runs, with storages and kernels.")
      .def(
          "explain",
          [](const PyEngine& self) {
            return nb::module_::import_("json").attr("loads")(self.get().explain_json());
          },
          nb::sig("def explain(self) -> dict[str, typing.Any]"), "What was decided for each node and why.");

  module.def(
      "build", &build, nb::arg("model"), nb::kw_only(), nb::arg("precision") = "fp32",
      nb::arg("shapes") = nb::dict(), nb::arg("threads") = 0, nb::arg("budget") = 10.0,
      nb::arg("device") = "auto", nb::arg("deterministic") = false, nb::arg("preprocess") = nb::dict(),
      nb::arg("weights") = nb::none(), nb::arg("progress") = nb::none(),
      nb::sig("def build(model: object, *, precision: str = 'fp32', shapes: dict[str, typing.Any] = "
              "{}, threads: int = 0, "
              "budget: float = 10.0, device: str = 'auto', deterministic: bool = False, "
              "preprocess: dict[str, Preprocess] = {}, weights: object = None, "
              "progress: collections.abc.Callable[[str, int, int], object] | None = None) -> Engine"),
      "Imports, optimises and tunes a model.\n\nmodel: path, bytes or an onnx.ModelProto; ONNX, TensorFlow "
      "GraphDef (binary or text) or Caffe. weights: of a Caffe net in text its .caffemodel. shapes: "
      "input name to shape, or to (smallest, "
      "typical, largest). budget: seconds that timing kernels may take; 0 chooses by heuristics. "
      "preprocess: input name to Preprocess. "
      "progress: called with (stage, done, total).");
  module.def("load", &load, nb::arg("plan"), nb::kw_only(), nb::arg("threads") = 0,
             nb::arg("device") = nb::none(),
             "Opens a plan that Engine.save wrote. device: where it runs when that is not the plan's own, "
             "which tunes "
             "again.");
}

} // namespace lanner::python
