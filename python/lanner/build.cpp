// What build and load take, and the engines that come of it.

#include <algorithm>
#include <array>

#include <lanner/doctor.h>
#include <lanner/error.h>

#include "check.h"
#include "engine.h"
#include "keywords.h"
#include "options.h"
#include "warnings.h"

namespace lanner::python {
namespace {

constexpr std::array build_keywords{
    Keyword{"precision", "str | collections.abc.Iterable[str]", "'fp32'", "names like fp16,fp32"},
    Keyword{"pins", "collections.abc.Mapping[str, str]", "{}", "a dict like {\"/head/*\": \"fp32\"}"},
    Keyword{"strict", "bool", "False"},
    Keyword{"exact", "bool", "False"},
    Keyword{
        "shapes",
        "collections.abc.Mapping[str, collections.abc.Sequence[int] | tuple[collections.abc.Sequence[int], "
        "collections.abc.Sequence[int], collections.abc.Sequence[int]]]",
        "{}", "a dict like {\"x\": (1, 3, 224, 224)}"},
    Keyword{"profiles",
            "collections.abc.Sequence[collections.abc.Mapping[str, collections.abc.Sequence[int] | "
            "tuple[collections.abc.Sequence[int], collections.abc.Sequence[int], "
            "collections.abc.Sequence[int]]]]",
            "[]", "a list of dicts like {\"x\": ((1, 3, 8, 8), (2, 3, 8, 8), (4, 3, 8, 8))}"},
    Keyword{"threads", "int", "0"},
    Keyword{"budget", "float", "10.0"},
    Keyword{"device", "str | collections.abc.Sequence[str]", "'auto'", "a name like cuda:0, or several"},
    Keyword{"placement", "collections.abc.Mapping[str, str]", "{}", "a dict like {\"layer4*\": \"cuda:1\"}"},
    Keyword{"deterministic", "bool", "False"},
    Keyword{"retune", "bool", "False"},
    Keyword{"preprocess", "collections.abc.Mapping[str, Preprocess]", "{}",
            "a dict like {\"x\": Preprocess()}"},
    Keyword{"pictures", "collections.abc.Mapping[str, Preprocess | tuple[str, Preprocess]]", "{}",
            "a dict like {\"x\": Preprocess()}"},
    Keyword{"states", "collections.abc.Mapping[str, str]", "{}", "a dict like {\"input\": \"output\"}"},
    Keyword{"aliases", "collections.abc.Mapping[str, str]", "{}", "a dict like {\"output\": \"input\"}"},
    Keyword{"outputs", "list[str] | tuple[str, ...]", "[]", "a list of names"},
    Keyword{"overwritable", "collections.abc.Sequence[str]", "[]", "a list of names"},
    Keyword{"storages", "collections.abc.Mapping[str, str]", "{}", "a dict like {\"x\": \"acdb\"}"},
    Keyword{"weights", "object"},
    Keyword{"weight_budget", "int"},
    Keyword{"limits", "collections.abc.Mapping[str, float | str]"},
    Keyword{"environment", "Environment", "..."},
    Keyword{"progress",
            "collections.abc.Callable[[str, int, int], object]",
            {},
            "a function of (stage, done, total)"},
    Keyword{"dynamic_shapes", "object"},
};

constexpr std::array load_keywords{
    Keyword{"threads", "int", "0"},
    Keyword{"device", "str"},
    Keyword{"weights", "object"},
    Keyword{"weight_budget", "int"},
    Keyword{"limits", "collections.abc.Mapping[str, float | str]"},
    Keyword{"environment", "Environment", "..."},
};

std::string_view expected_of(std::string_view name) {
  return std::ranges::find(build_keywords, name, &Keyword::name)->expected;
}

/// An option that is a dict.
template<typename Convert>
auto values_of(const std::string& name, nb::handle value, std::string_view expected, Convert&& convert) {
  return by_name(name, to_dict(name, value, expected_of(name)), expected, convert);
}

/// Names to names.
template<typename Pair>
std::vector<Pair> pairs_of(const std::string& name, nb::handle value) {
  std::vector<Pair> pairs;
  for (const auto& [from, to] : values_of(name, value, "a name", to_name)) pairs.push_back({from, to});
  return pairs;
}

std::vector<std::string> names_of(nb::handle value) {
  if (nb::isinstance<nb::str>(value)) throw std::bad_cast(); // else each letter would be one
  std::vector<std::string> names;
  for (nb::handle one : value) names.push_back(to_name(one));
  return names;
}

/// `'fp16,fp32'`, or a set of such names.
std::set<DType> to_types(nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return Precision::parse(nb::cast<std::string>(value)).types;
  std::set<DType> types;
  for (nb::handle name : value) types.insert(parse_precision_type(nb::cast<std::string>(name)));
  return types;
}

/// `'cuda:0,cuda:1'`, or a list of such names; the first is the engine's own.
void take_devices(BuildOptions& options, nb::handle value) {
  std::string text;
  if (nb::isinstance<nb::str>(value)) {
    text = nb::cast<std::string>(value);
  } else {
    for (nb::handle name : value) text += (text.empty() ? "" : ",") + nb::cast<std::string>(name);
  }
  const std::vector<Device> set = text == "auto" ? std::vector{automatic_device()} : parse_devices(text);
  options.device = set.front();
  options.placement.devices.assign(set.begin() + 1, set.end());
}

/// A Preprocess, or (name of a pixel format, Preprocess).
PictureOptions to_picture(nb::handle value) {
  if (nb::isinstance<Preprocess>(value)) return {{}, nb::cast<Preprocess>(value)};
  const bool pair = nb::isinstance<nb::tuple>(value) && nb::len(value) == 2;
  if (!pair) throw std::bad_cast();
  return {parse_pixel_format(nb::cast<std::string>(value[0])), nb::cast<Preprocess>(value[1])};
}

/// What kernels may be; false where it is no such option.
bool apply_kernels(BuildOptions& options, const std::string& name, nb::handle value) {
  if (name == "precision")
    options.precision.types = to_types(value);
  else if (name == "pins")
    for (const auto& [pattern, type] : values_of(name, value, "a name", to_name))
      options.precision.pins.push_back({pattern, parse_precision_type(type)});
  else if (name == "strict")
    options.precision.strict = options.placement.strict = nb::cast<bool>(value);
  else if (name == "exact")
    options.precision.exact = nb::cast<bool>(value);
  else if (name == "threads")
    options.threads = nb::cast<int>(value);
  else if (name == "budget")
    options.budget = nb::cast<double>(value);
  else if (name == "device")
    take_devices(options, value);
  else if (name == "placement")
    for (const auto& [pattern, device] : values_of(name, value, "a name", to_name))
      options.placement.nodes.push_back({pattern, Device::parse(device)});
  else if (name == "deterministic")
    options.deterministic = nb::cast<bool>(value);
  else if (name == "retune")
    options.retune = nb::cast<bool>(value);
  else
    return false;
  return true;
}

/// What inputs and outputs are; false where it is no such option.
bool apply_bindings(BuildOptions& options, const std::string& name, nb::handle value) {
  if (name == "shapes")
    options.shapes = values_of(name, value, expected_range, to_range);
  else if (name == "profiles")
    for (const nb::dict& profile : to_dicts(name, value, expected_of(name)))
      options.profiles.push_back(by_name(name, profile, expected_range, to_range));
  else if (name == "preprocess")
    options.preprocess =
        values_of(name, value, "a Preprocess", [](nb::handle one) { return nb::cast<Preprocess>(one); });
  else if (name == "pictures")
    options.pictures = values_of(name, value, "a Preprocess, or a pair of a format and one", to_picture);
  else if (name == "states")
    options.states = pairs_of<StateNames>(name, value);
  else if (name == "aliases")
    options.aliases = pairs_of<AliasNames>(name, value);
  else if (name == "outputs")
    options.outputs = names_of(value);
  else if (name == "overwritable")
    options.overwritable = names_of(value);
  else if (name == "storages")
    options.storages = values_of(name, value, "a storage like acdb", [](nb::handle one) {
      return BindingStorage::parse(nb::cast<std::string>(one));
    });
  else
    return false;
  return true;
}

/// What build and load share; false where it is no such option. `weights` are opened later, within the
/// limits.
template<typename Options>
bool apply_common(Options& options, nb::object& weights, const std::string& name, nb::handle value) {
  if (name == "weights")
    weights = nb::borrow(value);
  else if (name == "weight_budget")
    options.weight_budget = nb::cast<std::uint64_t>(value);
  else if (name == "limits")
    options.limits = to_limits(value);
  else if (name == "environment")
    options.environment = nb::cast<const Environment&>(value);
  else
    return false;
  return true;
}

std::string folder_of(nb::handle model) {
  if (!nb::isinstance<nb::str>(model) && !nb::hasattr(model, "__fspath__")) return {};
  const std::filesystem::path parent = std::filesystem::path(path_of(model)).parent_path();
  return parent.empty() ? "." : parent.string();
}

PyEngine build(nb::handle model, const nb::args& others, const nb::kwargs& keywords) {
  check_named("build", others, "precision=\"fp16\"");
  BuildOptions options;
  if (!keywords.contains("device") || nb::object(keywords["device"]).is_none())
    options.device = automatic_device();
  nb::object weights = nb::none(), progress = nb::none();
  apply_options(keywords, build_keywords, [&](const std::string& name, nb::handle value) {
    if (name == "progress") {
      if (PyCallable_Check(value.ptr()) == 0) throw std::bad_cast();
      progress = nb::borrow(value);
      return;
    }
    if (name == "dynamic_shapes") // lanner.build() in Python takes it for those modules
      fail_type(fmt::format("dynamic_shapes: expected for a torch.nn.Module alone, got it for a {}",
                            nb::cast<std::string>(model.type().attr("__name__"))));
    const bool applied = apply_kernels(options, name, value) || apply_bindings(options, name, value) ||
                         apply_common(options, weights, name, value);
    check(applied, ErrorCode::internal, "the option '{}' is not applied", name);
  });
  if (!weights.is_none()) options.weights = to_source(weights, options.limits);
  Interruptible interruptible(std::move(progress));
  options.control = interruptible.control();
  const SourcePtr source = to_source(model, options.limits);
  const std::string folder = folder_of(model);
  GatheredWarnings warnings;
  PyEngine engine(interruptible.run([&] { return Engine::build(source, options, folder); }));
  warnings.give();
  return engine;
}

PyEngine load(nb::handle plan, const nb::args& others, const nb::kwargs& keywords) {
  check_named("load", others, "threads=2");
  LoadOptions options;
  nb::object weights = nb::none();
  apply_options(keywords, load_keywords, [&](const std::string& name, nb::handle value) {
    if (name == "threads") {
      options.threads = nb::cast<int>(value);
    } else if (name == "device") {
      const auto device = nb::cast<std::string>(value);
      options.device = device == "auto" ? automatic_device() : Device::parse(device);
    } else {
      check(apply_common(options, weights, name, value), ErrorCode::internal,
            "the option '{}' is not applied", name);
    }
  });
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

} // namespace

void register_build(nb::module_& module) {
  module.def(
      "build", &build, nb::arg("model").none(), nb::arg("others"), nb::arg("options"),
      nb::sig(
          signature("def build(model: object, example_inputs: object | None = None", build_keywords, "Engine")
              .c_str()),
      "Imports, optimises and tunes a model.\n\nmodel: path, bytes or an onnx.ModelProto; ONNX, TensorFlow "
      "GraphDef (binary or text) or Caffe; a torch.nn.Module, a torch.export.ExportedProgram or a "
      "keras.Model. example_inputs: of a module, what its forward takes: a tensor, a tuple, or a dict by "
      "name. "
      "dynamic_shapes: of a module, as torch.export.export takes them; see docs/pytorch.md. "
      "weights: of a Caffe net in text its .caffemodel. shapes: "
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
      "preprocess: input name to Preprocess, whose type, and size where it has none, are the input's; for "
      "others "
      "it is what the model declares in its metadata, lanner.preprocess. outputs: names of values of the "
      "model "
      "that the engine gives out, in this order, in place of the model's own outputs. pictures: input name "
      "to Preprocess, or to (format, Preprocess) "
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
      "load", &load, nb::arg("plan").none(), nb::arg("others"), nb::arg("options"),
      nb::sig(signature("def load(plan: object", load_keywords, "Engine").c_str()),
      "Opens a plan that Engine.save wrote. device: where it runs when that is not the plan's own, "
      "which tunes again. weights: for a plan that was saved without, the model, a safetensors file or a "
      "plan that has them. weight_budget, limits, environment: as of build.");
}

} // namespace lanner::python
