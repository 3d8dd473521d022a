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

// `shape`, or (min, opt, max) of shapes.
#define LANNER_SHAPE "collections.abc.Sequence[int]"
#define LANNER_RANGE LANNER_SHAPE " | tuple[" LANNER_SHAPE ", " LANNER_SHAPE ", " LANNER_SHAPE "]"
#define LANNER_NAMES "collections.abc.Mapping[str, str]"

/// What kernels may be, and where they run.
constexpr std::array kernel_keywords{
    Keyword{"precision", "str | collections.abc.Iterable[str]", "'fp32'", "names like fp16,fp32"}.of(
        "types that kernels may compute in: fp32, fp16, bf16, as a list or separated by commas; fp32 is "
        "always "
        "allowed, unless strict"),
    Keyword{"pins", LANNER_NAMES, "{}", "a dict like {\"/head/*\": \"fp32\"}"}.of(
        "type by name of a node, or by a pattern with * and ?: {\"/head/*\": \"fp32\"}"),
    Keyword{"strict", "bool", "False"}.of(
        "raise Error where no kernel computes a node in the precision, or on the device, that was asked for"),
    Keyword{"exact", "bool", "False"}.of(
        "no kernels that compute by another formula and round differently, such as Winograd's"),
    Keyword{"shapes", "collections.abc.Mapping[str, " LANNER_RANGE "]", "{}",
            "a dict like {\"x\": (1, 3, 224, 224)}"}
        .of("input name to shape, or to (min, opt, max): the shapes that the engine accepts; opt is tuned. "
            "Sizes "
            "that the model leaves open and nothing here tells stay open: kernels are then chosen at the "
            "first "
            "run of each, by estimates, or ahead by Engine.prepare"),
    Keyword{"profiles", "collections.abc.Sequence[collections.abc.Mapping[str, " LANNER_RANGE "]]", "[]",
            "a list of dicts like {\"x\": ((1, 3, 8, 8), (2, 3, 8, 8), (4, 3, 8, 8))}"}
        .of("dicts like shapes, ranges to prepare for: the opt shapes of each are tuned, other shapes in a "
            "range "
            "use the same kernels, and shapes outside of all ranges run too"),
    Keyword{"threads", "int", "0"}.of("of each context; 0: default_threads()"),
    Keyword{"budget", "float", "10.0"}.of("seconds that timing and checking kernels may take; 0 chooses by "
                                          "estimates, and checks for 2 s at most"),
    Keyword{"device", "str | collections.abc.Sequence[str]", "'auto'", "a name like cuda:0, or several"}.of(
        "\"cpu\", \"cuda:0\", \"auto\": the first GPU, else the CPU; or several GPUs, of which the first "
        "holds "
        "inputs and outputs"),
    Keyword{"placement", LANNER_NAMES, "{}", "a dict like {\"layer4*\": \"cuda:1\"}"}.of(
        "device by name or pattern of nodes: {\"layer4*\": \"cuda:1\", \"head*\": \"cpu\"}; docs/devices.md"),
    Keyword{"deterministic", "bool", "False"}.of(
        "nothing is timed, and the same model gives the same plan, byte for byte"),
    Keyword{"retune", "bool", "False"}.of("time kernels again, also those that earlier builds have timed"),
    Keyword{"tune_at_run", "bool", "False"}.of("time kernels for shapes that are new to the engine at their "
                                               "first run, which then takes up to budget "
                                               "seconds; not kept in plans"),
};

/// What inputs and outputs are.
constexpr std::array binding_keywords{
    Keyword{"preprocess", "collections.abc.Mapping[str, Preprocess]", "{}",
            "a dict like {\"x\": Preprocess()}"}
        .of("input name to Preprocess, by which images given to that input become tensors; element type, and "
            "a "
            "size that it leaves open, are the input's. Default: what the model declares in its metadata "
            "lanner.preprocess"),
    Keyword{"pictures", "collections.abc.Mapping[str, Preprocess | tuple[str, Preprocess]]", "{}",
            "a dict like {\"x\": Preprocess()}"}
        .of("input name to Preprocess, or to (pixel format, Preprocess) where all images have that format: "
            "the "
            "input takes images of any size, which a kernel on the engine's device converts as part of the "
            "run; "
            "docs/pictures.md"),
    Keyword{"states", LANNER_NAMES, "{}", "a dict like {\"input\": \"output\"}"}.of(
        "input name to output name: the context keeps the output of a run as that input of the next one; "
        "docs/state.md"),
    Keyword{"aliases", LANNER_NAMES, "{}", "a dict like {\"output\": \"input\"}"}.of(
        "output name to input name: the output is written into the memory of the input"),
    Keyword{"outputs", "list[str] | tuple[str, ...]", "[]", "a list of names"}.of(
        "names of values inside the model that the engine gives, in this order, instead of the model's own "
        "outputs"),
    Keyword{"overridden", "list[str] | tuple[str, ...]", "[]", "a list of names"}.of(
        "initialisers that the model lists among its inputs and that runs will give: inputs of the engine, "
        "with the model's value where a run gives none; see Engine.overridable"),
    Keyword{"overwritable", "collections.abc.Sequence[str]", "[]", "a list of names"}.of(
        "inputs whose memory a run may overwrite"),
    Keyword{"storages", LANNER_NAMES, "{}", "a dict like {\"x\": \"acdb\"}"}.of(
        "memory layout of an input or output: \"acdb\" (channels last), \"acdb:float16\", "
        "\"row:uint8:pitch=640\", or \"any\": what costs least"),
    Keyword{"metadata", LANNER_NAMES, "{}", "a dict like {\"lanner.task\": \"detect\"}"}.of(
        "text by key, added to the model's own metadata and kept in plans; an equal key replaces the "
        "model's"),
};

/// What the call itself needs.
constexpr std::array call_keywords{
    Keyword{"weights", "object"}.of(
        "path or bytes of the .caffemodel that belongs to a Caffe network in text"),
    Keyword{"weight_budget", "int"}.of("bytes of GPU memory that weights may take; see Engine.weight_budget"),
    Keyword{"limits", "collections.abc.Mapping[str, float | str]"}.of(
        "bounds on what the model may make the build and the engine's contexts use, like {\"total_bytes\": "
        "\"4GiB\", \"seconds\": 60}; docs/limits.md"),
    Keyword{"environment", "Environment", "..."}.of("operators of plug-ins, log, threads and memory to use"),
    Keyword{"progress",
            "collections.abc.Callable[[str, int, int], object]",
            {},
            "a function of (stage, done, total)"}
        .of("called with (stage, done, total) while the build runs; an exception ends the build"),
    Keyword{"dynamic_shapes", "object"}.of(
        "of a torch module only: as torch.export.export takes them; docs/pytorch.md"),
};

#undef LANNER_NAMES
#undef LANNER_RANGE
#undef LANNER_SHAPE

std::span<const Keyword> build_keywords() {
  static const std::vector<Keyword> keywords = [] {
    std::vector<Keyword> list(kernel_keywords.begin(), kernel_keywords.end());
    list.insert(list.end(), binding_keywords.begin(), binding_keywords.end());
    list.insert(list.end(), call_keywords.begin(), call_keywords.end());
    return list;
  }();
  return keywords;
}

constexpr std::array load_keywords{
    Keyword{"threads", "int", "0"}.of("of each context; 0: what the plan was built for, at most the cores of "
                                      "this machine"),
    Keyword{"device", "str"}.of("where to run when that is not the plan's own device, which tunes again"),
    Keyword{"weights", "object"}.of("for a plan that was saved without weights: path or bytes of the model, "
                                    "of a safetensors file or of a "
                                    "plan that has them"),
    Keyword{"weight_budget", "int"}.of("bytes of GPU memory that weights may take; see Engine.weight_budget"),
    Keyword{"tune_at_run", "bool", "False"}.of("as of build, within the budget that the plan was built with"),
    Keyword{"verify", "bool", "False"}.of("refuse a plan that computes something other than its portable IR "
                                          "says, which each of its variants is tried for on random inputs; a "
                                          "plan's digest is no signature"),
    Keyword{"limits", "collections.abc.Mapping[str, float | str]"}.of("as of build"),
    Keyword{"environment", "Environment", "..."}.of("as of build; with the operators that the plan needs"),
};

std::string_view expected_of(std::string_view name) {
  return std::ranges::find(build_keywords(), name, &Keyword::name)->expected;
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
  else if (name == "tune_at_run")
    options.tune_at_run = nb::cast<bool>(value);
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
    options.outputs = to_names(value);
  else if (name == "overridden")
    options.overridden = to_names(value);
  else if (name == "overwritable")
    options.overwritable = to_names(value);
  else if (name == "metadata")
    options.metadata = values_of(name, value, "a text", [](nb::handle one) {
      if (!nb::isinstance<nb::str>(one)) throw std::bad_cast();
      return bytes_of(one, "surrogateescape");
    });
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
  apply_options(keywords, build_keywords(), [&](const std::string& name, nb::handle value) {
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
    } else if (name == "tune_at_run") {
      options.tune_at_run = nb::cast<bool>(value);
    } else if (name == "verify") {
      options.verify = nb::cast<bool>(value);
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

std::string build_docs() {
  return "Imports, optimises and tunes a model. Warnings of the build are Python's, category "
         "RuntimeWarning.\n\n"
         "model: path, bytes or an onnx.ModelProto, of ONNX, TensorFlow (a frozen GraphDef in binary or "
         "text) "
         "or Caffe; or a torch.nn.Module, a torch.export.ExportedProgram or a keras.Model\n"
         "example_inputs: of a torch module only: what its forward takes, as a tensor, a tuple, or a dict by "
         "name\n" +
         keyword_docs(build_keywords()) +
         "\n\nRaises BadData for a malformed model, Unsupported for what Lanner cannot run, NotFound for a "
         "missing file, InvalidArgument for options that do not fit the model, LimitExceeded past a limit.";
}

} // namespace

void register_build(nb::module_& module) {
  module.def("build", &build, nb::arg("model").none(), nb::arg("others"), nb::arg("options"),
             nb::sig(signature("def build(model: object, example_inputs: object | None = None",
                               build_keywords(), "Engine")
                         .c_str()),
             build_docs().c_str());
  module.def(
      "load", &load, nb::arg("plan").none(), nb::arg("others"), nb::arg("options"),
      nb::sig(signature("def load(plan: object", load_keywords, "Engine").c_str()),
      ("Opens a plan that Engine.save or `lanner build` wrote.\n\nplan: path or bytes\n" +
       keyword_docs(load_keywords) +
       "\n\nRaises BadData for bytes that are no plan or a damaged one, Unsupported for a plan of another "
       "version or device.")
          .c_str());
}

} // namespace lanner::python
