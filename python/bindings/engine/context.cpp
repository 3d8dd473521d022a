// Contexts: bindings, runs and results.

#include "engine/context.h"

#include <algorithm>

#include <lanner/error.h>
#include <lanner/image.h>
#include <lanner/video_reader.h>

#include "calls/check.h"
#include "calls/options.h"
#include "calls/warnings.h"
#include "engine/notebook.h"
#include "engine/resources.h"

namespace lanner::python {
namespace {

/// Exclusive use of a context for one call: a call from another thread, or from code of an object being
/// converted, is rejected.
class Alone {
public:
  explicit Alone(std::atomic<bool>& busy) : busy_(busy) {
    check(!busy.exchange(true), ErrorCode::invalid_argument,
          "the context is busy with another call; make one for each thread, or call the engine, which "
          "threads may "
          "share");
  }
  ~Alone() { busy_ = false; }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

private:
  std::atomic<bool>& busy_;
};

/// Unbinds the arrays of a call at its end.
class Bound {
public:
  explicit Bound(Context& context) : context_(context) {}
  ~Bound() { context_.unbind(); }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

private:
  Context& context_;
};

const Binding& binding_of(const std::vector<Binding>& bindings, nb::handle name, std::string_view what) {
  if (nb::isinstance<nb::str>(name)) {
    const std::string wanted = bytes_of(name, "surrogateescape");
    for (const Binding& binding : bindings)
      if (binding.name == wanted) return binding;
  }
  std::vector<std::string_view> known;
  for (const Binding& binding : bindings) known.push_back(binding.name);
  fail(ErrorCode::invalid_argument, "no {} is called {}; there is {}", what, shown(name),
       fmt::join(known, ", "));
}

/// An input, or an overridable initialiser. For any other initialiser the context throws the reason.
const Binding& input_of(Context& context, const Engine& engine, nb::handle name) {
  if (nb::isinstance<nb::str>(name)) {
    const std::string wanted = bytes_of(name, "surrogateescape");
    const auto is_wanted = [&](const Binding& binding) { return binding.name == wanted; };
    if (const auto found = std::ranges::find_if(engine.overridable(), is_wanted);
        found != engine.overridable().end())
      return *found;
    if (std::ranges::none_of(engine.inputs(), is_wanted)) context.bind(wanted, Item{});
  }
  return binding_of(engine.inputs(), name, "input");
}

std::optional<Image> image_of(nb::handle object) {
  if (nb::isinstance<Image>(object)) return nb::cast<Image>(object);
  if (nb::isinstance<Frame>(object)) return nb::cast<const Frame&>(object).image;
  return std::nullopt;
}

/// An image, or several in a list or tuple; empty for anything else.
std::vector<Image> images_of(nb::handle value) {
  if (const auto image = image_of(value)) return {*image};
  const bool several = nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value);
  if (!several || nb::len(value) == 0 || !image_of(value[0])) return {};
  std::vector<Image> images;
  for (nb::handle element : value) {
    const auto one = image_of(element);
    if (!one) fail(ErrorCode::invalid_argument, "expected images only, got {} among them", shown(element));
    images.push_back(*one);
  }
  return images;
}

/// Calls `convert`; its errors name the input or output.
template<typename Convert>
auto converted(std::string_view what, const Binding& binding, Convert&& convert) {
  return with_context([&] { return fmt::format("{} {}", what, binding.name); }, convert);
}

void bind_input(Context& context, const Binding& binding, nb::handle value, std::uintptr_t stream) {
  const std::vector<Image> images = converted("input", binding, [&] { return images_of(value); });
  if (!images.empty()) {
    const ReleasedGil released;
    return context.bind(binding.name, images);
  }
  Item item = converted("input", binding, [&] {
    return binding.overwritten && !binding.state ? Item(to_output(value, stream))
                                                 : to_item(value, binding.sequence, stream);
  });
  const ReleasedGil released;
  context.bind(binding.name, std::move(item));
}

/// Executor and allocator of one call.
struct CallGiven {
  std::shared_ptr<const Executor> executor;
  std::optional<lanner_allocator> allocator;

  CallGiven(nb::handle runs, nb::handle allocates)
      : executor(to_executor(runs)), allocator(to_allocator(allocates)) {}
  RunResources resources() const { return {executor.get(), allocator ? &*allocator : nullptr}; }
};

Stream stream_of(std::uintptr_t handle) {
  return {reinterpret_cast<void*>(handle)};
}

/// An example like `{"x": array}`, with the first names.
std::string dict_of(const std::vector<Binding>& bindings) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, bindings.size()); ++i)
    text += fmt::format("{}\"{}\": array", i > 0 ? ", " : "", bindings[i].name);
  return fmt::format("{{{}{}}}", text, bindings.size() > most ? ", ..." : "");
}

nb::dict to_outputs(const Engine& engine, nb::handle outputs) {
  if (nb::isinstance<nb::dict>(outputs)) return nb::borrow<nb::dict>(outputs);
  return to_dict("outputs", outputs,
                 fmt::format("a dict from output name to memory, like {}", dict_of(engine.outputs())));
}

} // namespace

nb::dict to_inputs(const Engine& engine, nb::handle inputs, const nb::kwargs& others) {
  for (const auto& [name, value] : others)
    fail_type(fmt::format("unknown option {}; inputs come in one dict, like {}", shown(name),
                          dict_of(engine.inputs())));
  if (nb::isinstance<nb::dict>(inputs)) return nb::borrow<nb::dict>(inputs);
  return to_dict("inputs", inputs,
                 fmt::format("a dict from input name to value, like {}", dict_of(engine.inputs())));
}

std::uintptr_t to_stream(nb::handle stream) {
  return to_value<std::uintptr_t>("stream", stream,
                                  "the handle of a CUDA stream, a number like torch.cuda.Stream.cuda_stream");
}

void bind_inputs(Context& context, const Engine& engine, const nb::dict& inputs, std::uintptr_t stream) {
  for (const auto& [name, borrowed] : inputs) {
    const Binding& binding = input_of(context, engine, name);
    const nb::object value = nb::borrow(borrowed); // converting it calls code that may change the dict
    bind_input(context, binding, value, stream);
  }
}

void run(Context& context, std::uintptr_t stream, const RunResources& resources) {
  Interruptible interruptible;
  GatheredWarnings warnings;
  interruptible.run([&] { context.run(stream_of(stream), interruptible.control(), resources); });
  warnings.give();
}

nb::dict outputs_of(const Context& context, const Engine& engine) {
  nb::dict results;
  for (const Binding& binding : engine.outputs())
    results[text_of(binding.name)] = from_item(context.output(binding.name));
  return results;
}

PyContext::PyContext(const Engine& engine, const ContextOptions& options)
    : engine_(engine), context_(engine.create_context(options)) {}

void PyContext::bind(const nb::dict& inputs, const nb::dict& outputs, std::uintptr_t stream) {
  bind_inputs(context_, engine_, inputs, stream);
  for (const auto& [name, borrowed] : outputs) {
    const nb::object value = nb::borrow(borrowed);
    const Binding& binding = binding_of(engine_.outputs(), name, "output");
    context_.bind_output(binding.name,
                         converted("output", binding, [&] { return to_output(value, stream); }));
  }
}

nb::dict PyContext::run(nb::handle inputs, nb::handle outputs, nb::handle stream, nb::handle executor,
                        nb::handle allocator, const nb::kwargs& others) {
  const nb::dict values = to_inputs(engine_, inputs, others), memory = to_outputs(engine_, outputs);
  const std::uintptr_t queue = to_stream(stream);
  const CallGiven given(executor, allocator);
  const Alone alone(busy_);
  context_.unbind();
  const Bound bound(context_);
  bind(values, memory, queue);
  python::run(context_, queue, given.resources());
  return outputs_of(context_, engine_);
}

nb::dict PyContext::enqueue(nb::handle inputs, nb::handle stream, nb::handle outputs, nb::handle executor,
                            nb::handle allocator, const nb::kwargs& others) {
  const nb::dict values = to_inputs(engine_, inputs, others), memory = to_outputs(engine_, outputs);
  const std::uintptr_t queue = to_stream(stream);
  const CallGiven given(executor, allocator);
  const Alone alone(busy_);
  context_.unbind(); // not afterwards: a GPU may still read and write the arrays
  bind(values, memory, queue);
  Interruptible interruptible;
  GatheredWarnings warnings;
  interruptible.run([&] { context_.enqueue(stream_of(queue), interruptible.control(), given.resources()); });
  warnings.give();
  return outputs_of(context_, engine_);
}

void PyContext::unbind() {
  const Alone alone(busy_);
  context_.unbind();
}

void PyContext::reset_states() {
  const Alone alone(busy_);
  context_.reset_states();
}

nb::object PyContext::state(nb::handle input) const {
  const Alone alone(busy_);
  const Binding& binding = binding_of(engine_.inputs(), input, "input");
  const Item value = context_.state(binding.name);
  return value.tensor.defined() ? nb::cast(value.tensor) : nb::none();
}

std::uint64_t PyContext::arena_bytes() const {
  const Alone alone(busy_);
  return context_.arena_bytes();
}

nb::list PyContext::profile() const {
  const Alone alone(busy_);
  nb::list list;
  for (const StepProfile& step : context_.profile()) {
    nb::dict entry;
    entry["name"] = text_of(step.name);
    entry["op"] = step.op;
    entry["kernel"] = step.kernel;
    entry["backend"] = step.backend;
    nb::list sources;
    for (const std::string& source : step.sources) sources.append(text_of(source));
    entry["sources"] = sources;
    entry["bytes"] = step.bytes;
    entry["flops"] = step.flops;
    entry["runs"] = step.runs;
    entry["seconds"] = step.seconds;
    list.append(entry);
  }
  return list;
}

static void register_binding(nb::module_& module) {
  nb::class_<Binding>(module, "Binding", "An input or output of an engine.")
      .def_prop_ro(
          "name", [](const Binding& self) { return text_of(self.name); },
          "Name, as inputs and results are keyed.")
      .def_prop_ro(
          "dtype", [](const Binding& self) { return std::string(to_string(self.dtype)); },
          "Element type: `f32`, `u8`, `i64`, `string`.")
      .def_prop_ro(
          "shape",
          [](const Binding& self) {
            nb::list dims;
            for (std::size_t i = 0; i < self.dims.size(); ++i)
              if (self.dims[i] >= 0)
                dims.append(self.dims[i]);
              else
                dims.append(text_of(self.dim_names[i]));
            return nb::tuple(dims);
          },
          nb::sig("def shape(self) -> tuple[int | str, ...]"),
          "Size of each dimension; a name or an expression if it may vary.")
      .def_ro("sequence", &Binding::sequence, "Whether it is a sequence or an optional: a list, or None.")
      .def_ro("storage", &Binding::storage,
              "Memory layout of its arrays: `row` (row-major), `acdb`, `f16 aBcd16b`; dtype is theirs.")
      .def_ro("image", &Binding::image, "Pixel format of an input that takes images, or `any`; else empty.")
      .def_ro("state", &Binding::state, "Whether it is part of a state; as an input it need not be given.")
      .def_ro("overwritten", &Binding::overwritten, "Whether a run may overwrite this input's array.")
      .def_ro("defaulted", &Binding::defaulted,
              "Whether it is an input that need not be given, as the model has a value for it.")
      .def("__repr__", [](const Binding& self) { return text_of(self.to_string()); });
}

static void register_state(nb::class_<PyContext>& context) {
  context
      .def("unbind", &PyContext::unbind,
           "Releases the arrays of enqueue(). Work that is still queued on the GPU may use them: call it "
           "before that work is done only where their memory is reused in the order of the stream, as "
           "PyTorch's allocator does.")
      .def("reset_states", &PyContext::reset_states,
           "Sets all states to zeros for the next run; docs/state.md.")
      .def("state", &PyContext::state, nb::arg("input"),
           nb::sig("def state(self, input: str) -> Tensor | None"),
           "A copy of the state that the next run reads as this input; None where there is none "
           "yet.\n\ninput: name of the state's input")
      .def_prop_ro("threads", &PyContext::threads, "Threads of its runs.")
      .def_prop_ro("arena_bytes", &PyContext::arena_bytes,
                   "Bytes of working memory for the shapes of the last run.")
      .def("profile", &PyContext::profile, nb::sig("def profile(self) -> list[dict[str, typing.Any]]"),
           "Time of each step since the context was made, in order: dicts with name, op, kernel, backend, "
           "sources (nodes of the model), bytes and flops of a run, runs, and seconds of all runs. Empty "
           "unless it was made with profile=True.")
      .def(
          "_repr_html_",
          [](const PyContext& self) {
            return context_html(self.engine(), self.threads(), self.arena_bytes());
          },
          nb::sig("def _repr_html_(self) -> str"))
      .def("__repr__", [](const PyContext& self) {
        return text_of(context_text(self.engine(), self.threads()), "backslashreplace");
      });
}

void register_context(nb::module_& module) {
  register_binding(module);
  nb::class_<PyContext> context(
      module, "Context",
      "Memory and threads to run an engine, made by Engine.create_context. For one thread "
      "at a time: a call during another call raises InvalidArgument.");
  context
      .def(
          "__call__", &PyContext::run, nb::arg("inputs").none() = nb::none(), nb::kw_only(),
          nb::arg("outputs").none() = nb::dict(), nb::arg("stream").none() = 0,
          nb::arg("executor") = nb::none(), nb::arg("allocator") = nb::none(), nb::arg("others"),
          nb::sig("def __call__(self, inputs: collections.abc.Mapping[str, object], *, outputs: "
                  "collections.abc.Mapping[str, object] = {}, stream: int = 0, "
                  "executor: typing.Callable[[int, typing.Callable[[int], None]], typing.Any] | None = None, "
                  "allocator: tuple[int, int, int] | None = None) -> dict[str, Tensor]"),
          "Runs the network to completion: a dict from output name to Tensor. Arrays are not held after it. "
          "Raises InvalidArgument for unknown names and wrong types or shapes.\n\ninputs: dict from input "
          "name to array, Tensor, Image, Frame or list of images\noutputs: dict from output name to array or "
          "tensor that the result is written to: contiguous, writable, of the result's type and "
          "shape; one in the memory of an input is computed apart and copied there, two that overlap are "
          "refused\nstream: handle of a CUDA stream to run on, such as "
          "torch.cuda.Stream.cuda_stream\nexecutor: runs the loops of this run in place of the "
          "environment's; see Environment\nallocator: gives the memory of this run's results in place of the "
          "environment's; see Environment")
      .def(
          "enqueue", &PyContext::enqueue, nb::arg("inputs").none() = nb::none(),
          nb::arg("stream").none() = nb::none(), nb::kw_only(), nb::arg("outputs").none() = nb::dict(),
          nb::arg("executor") = nb::none(), nb::arg("allocator") = nb::none(), nb::arg("others"),
          nb::sig("def enqueue(self, inputs: collections.abc.Mapping[str, object], stream: int, *, outputs: "
                  "collections.abc.Mapping[str, object] = {}, "
                  "executor: typing.Callable[[int, typing.Callable[[int], None]], typing.Any] | None = None, "
                  "allocator: tuple[int, int, int] | None = None) -> dict[str, Tensor]"),
          "Queues a run on a CUDA stream and returns. Inputs and results may be used once the stream is "
          "synchronised, or by later work on that stream. On the CPU the run is complete at return. The "
          "context holds the arrays until its next call, or unbind().\n\ninputs: as of a call\nstream: "
          "handle of the CUDA stream\noutputs: as of a call\nexecutor: as of a call\nallocator: as of a "
          "call");
  register_state(context);
}

} // namespace lanner::python
