#include "engine_options.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/doctor.h>
#include <lanner/error.h>

#include "arguments.h"
#include "check.h"
#include "console.h"
#include "interrupt.h"
#include "limit_option.h"
#include "media.h"
#include "warnings.h"

namespace lanner::tool {
namespace {

/// Sizes of the picture input, where the model leaves them open.
void fix_open_sizes(BuildOptions& build, const Binding& input, const Preprocess& spec, int batch) {
  const auto names_it = [&](const auto& shapes) { return shapes.contains(input.name); };
  if (names_it(build.shapes) || std::ranges::any_of(build.profiles, names_it) ||
      std::ranges::none_of(input.dims, [](std::int64_t dim) { return dim < 0; }))
    return;
  const std::int64_t channels = spec.gray ? 1 : 3;
  const bool single = input.dims.size() == 3; // One picture, without a batch.
  Shape sizes = spec.channels_last ? Shape{spec.height, spec.width, channels}
                                   : Shape{channels, spec.height, spec.width};
  if (input.dims.size() == 2) sizes = Shape{sizes.elements()};
  if (!single) {
    std::vector<std::int64_t> dims(sizes.begin(), sizes.end());
    dims.insert(dims.begin(), input.dims[0] >= 0 ? input.dims[0] : batch);
    sizes = Shape(std::move(dims));
  }
  ShapeRange range = ShapeRange::fixed(sizes);
  // The last run of a clip may have fewer frames.
  if (!single && input.dims[0] < 0) range.min[0] = 1;
  build.shapes[input.name] = range;
}

/// What is wrong with a list of types; nothing where it is right.
std::string wrong_precision(const std::string& text) {
  try {
    static_cast<void>(Precision::parse(text));
    return {};
  } catch (const Error& error) {
    return fmt::format("{}, comma separated", error.message());
  }
}

/// `/head/*=fp32`: names may hold `=`, types do not.
PrecisionPin parse_pin(const std::string& text) {
  const std::size_t at = text.rfind('=');
  check(at != std::string::npos && at > 0, ErrorCode::invalid_argument,
        "--pin '{}': expected NODE=TYPE like '/head/*=fp32'", text);
  return {text.substr(0, at), with_context([&] { return fmt::format("--pin '{}'", text); },
                                           [&] { return parse_precision_type(text.substr(at + 1)); })};
}

/// `layer4*=cuda:1`: names may hold `=`, devices do not.
PlacedNodes parse_place(const std::string& text) {
  const std::size_t at = text.rfind('=');
  check(at != std::string::npos && at > 0, ErrorCode::invalid_argument,
        "--place '{}': expected NODE=DEVICE like 'layer4*=cuda:1'", text);
  return {text.substr(0, at), with_context([&] { return fmt::format("--place '{}'", text); },
                                           [&] { return Device::parse(text.substr(at + 1)); })};
}

/// The first of the devices is where inputs and outputs are.
void read_devices(const EngineOptions& options, BuildOptions& build) {
  const std::vector<Device> devices =
      options.device == "auto" ? std::vector{automatic_device()} : parse_devices(options.device);
  build.device = devices.front();
  build.placement.devices.assign(devices.begin() + 1, devices.end());
  for (const std::string& text : options.places) build.placement.nodes.push_back(parse_place(text));
  build.placement.strict = options.strict;
}

/// Halves of `NAME=VALUE`; names may have `=` in them in no model that was seen.
std::pair<std::string, std::string> halves(const std::string& option, const std::string& text) {
  const std::size_t at = text.find('=');
  check(at != std::string::npos && at > 0 && at + 1 < text.size(), ErrorCode::invalid_argument,
        "{} {}: expected two parts with = between them", option, text);
  return {text.substr(0, at), text.substr(at + 1)};
}

void read_callers(const EngineOptions& options, BuildOptions& build) {
  for (const std::string& text : options.states) {
    auto [input, output] = halves("--state", text);
    build.states.push_back({std::move(input), std::move(output)});
  }
  for (const std::string& text : options.aliases) {
    auto [output, input] = halves("--alias", text);
    build.aliases.push_back({std::move(output), std::move(input)});
  }
  build.overwritable = options.overwritable;
  for (const std::string& text : options.storages) {
    const auto [name, storage] = halves("--storage", text);
    check(build.storages.emplace(name, BindingStorage::parse(storage)).second, ErrorCode::invalid_argument,
          "--storage: '{}' comes twice", name);
  }
}

/// A plan was built once and for all.
void refuse_build_options(const EngineOptions& options) {
  std::vector<std::string> given;
  if (!options.shapes.empty()) given.emplace_back("--shape");
  if (!options.profiles.empty()) given.emplace_back("--profile");
  if (!options.precision.empty()) given.push_back(options.flag("precision"));
  if (!options.pins.empty()) given.emplace_back("--pin");
  if (!options.places.empty()) given.emplace_back("--place");
  if (options.strict) given.emplace_back("--strict");
  if (options.exact) given.emplace_back("--exact");
  if (!options.budget.empty()) given.emplace_back("--budget");
  if (options.deterministic) given.emplace_back("--deterministic");
  if (options.retune) given.emplace_back("--retune");
  if (!options.states.empty()) given.emplace_back("--state");
  if (!options.aliases.empty()) given.emplace_back("--alias");
  if (!options.overwritable.empty()) given.emplace_back("--overwritable");
  if (!options.storages.empty()) given.emplace_back("--storage");
  if (!options.outputs.empty()) given.emplace_back("--outputs");
  if (!options.overridden.empty()) given.emplace_back("--overridden");
  check(given.empty(), ErrorCode::invalid_argument,
        "{}: is a plan, for which {} was decided when it was built; build it again from its model with {}",
        options.model, fmt::join(given, ", "), given.size() == 1 ? "it" : "them");
}

/// Read twice: once for what the model says of itself, once to be built.
SourcePtr open_weights(const std::string& path) {
  static_cast<void>(kind_of(path));
  return open_path(path, given_limits());
}

/// With the operators of the plug-ins, and the backends, that were named.
Environment environment_of(const EngineOptions& options) {
  Environment environment;
  environment.set_backends(options.backends);
  for (const std::string& path : options.plugins) environment.load_plugin(path);
  return environment;
}

/// How long the stages of a build take, by what it reports.
class StageClock {
public:
  void see(const ProgressUpdate& update) {
    count();
    tuning_ = update.stage == "tune" && update.done < update.total;
  }
  BuildTimes times() {
    count();
    return times_;
  }

private:
  using Clock = std::chrono::steady_clock;
  void count() {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    times_.seconds += seconds;
    if (tuning_) times_.tuning += seconds;
  }

  Clock::time_point last_ = Clock::now();
  bool tuning_ = false;
  BuildTimes times_;
};

/// A first pass's name would tie this to the engine's list; every list begins with what the importer made.
constexpr const char* as_imported = "import";

constexpr const char* options_group = "From model to engine";

constexpr double least_run_budget = 3;

} // namespace

void add_engine_options(Command& command, EngineOptions& options) {
  const std::string group = options_group;
  command
      .add_option("--shape", options.shapes,
                  "INPUT:SHAPE, like input:1x3x224x224, or a range of shapes, INPUT:MIN:OPT:MAX; kernels are "
                  "tuned for OPT")
      .group(group)
      .one_value();
  command
      .add_option("--outputs", options.outputs,
                  "Names of values inside the model to output in place of its own outputs, comma separated; "
                  "may be given several times")
      .group(group)
      .delimiter(',')
      .one_value();
  command
      .add_option("--overridden", options.overridden,
                  "Initialisers that the model lists among its inputs and that runs will give: inputs of the "
                  "engine, with the model's value where a run gives none; comma separated, or several times")
      .group(group)
      .delimiter(',')
      .one_value();
  command
      .add_option("--weights", options.weights,
                  "Of a Caffe network in text (.prototxt): its .caffemodel. Of a plan that was saved without "
                  "weights: the model, a safetensors file or a plan that has them")
      .group(group);
  command
      .add_option("--precision", options.precision,
                  "Types that kernels may compute in: fp32, fp16, bf16; comma separated (default: fp32)")
      .group(group)
      .check(wrong_precision);
  command
      .add_option("--pin", options.pins,
                  "NODE=TYPE, like '/head/*=fp32': compute nodes of this name in this type; * matches any "
                  "characters, ? one; may be given several times")
      .group(group)
      .one_value();
  command
      .add_flag("--strict", options.strict,
                "Fail where no kernel computes a node in a type of --precision or --pin, or runs it where "
                "--place says")
      .group(group);
  command
      .add_flag("--exact", options.exact,
                "No kernels that compute by another formula and so round differently: no Winograd, no TF32")
      .group(group);
  command
      .add_option("--budget", options.budget,
                  "Time that timing and checking kernels may take, like 10s; 0 chooses by estimates, and "
                  "checks for 2 s at most")
      .group(group);
  command
      .add_option("--device", options.device,
                  "auto, cpu or cuda:0; or several GPUs for --place, like cuda:0,cuda:1")
      .group(group)
      .show_default();
  command
      .add_option("--place", options.places,
                  "NODE=DEVICE, like 'layer4*=cuda:1' or 'head*=cpu': run nodes of this name there; names as "
                  "in --pin; may be given several times")
      .group(group)
      .one_value();
  command
      .add_option("--weight-budget", options.weight_budget,
                  "GPU memory that weights may take, like 512MiB; others are copied from the host before the "
                  "steps that read them")
      .group(group)
      .size_in_bytes();
  command
      .add_option("--threads", options.threads,
                  "Threads of the network (default: all cores that the process may use)")
      .group(group)
      .range(0, 4096);
  command
      .add_flag("--deterministic", options.deterministic,
                "Time nothing: the same model gives the same plan, byte for byte")
      .group(group);
  command.add_flag("--retune", options.retune, "Time kernels again that earlier builds have timed")
      .group(group);
  command
      .add_option(
          "--plugin", options.plugins,
          "Library with operators that the model or plan needs (docs/plugins.md); may be given several times")
      .group(group)
      .one_value();
  command
      .add_option(
          "--backends", options.backends,
          "Take kernels from these alone, comma separated: cuda, onednn, cpu, reference, which serves "
          "beside the others where none has a kernel (default: all)")
      .group(group)
      .delimiter(',')
      .one_value();
  add_limit_option(command);
}

void add_profile_option(Command& command, EngineOptions& options) {
  command
      .add_option("--profile", options.profiles,
                  "INPUT=MIN:OPT:MAX, like input=1x3x224x224:8x3x224x224:32x3x224x224, several inputs comma "
                  "separated: a range of shapes to prepare for; of an input that takes images their number, "
                  "like input=1:4:8; may be given several times")
      .group(options_group)
      .one_value();
}

void add_tune_at_run_option(Command& command, EngineOptions& options) {
  command
      .add_flag(
          "--tune-at-run", options.tune_at_run,
          "Time kernels for sizes that are new when they first run, up to --budget (default: those that "
          "the build was not told are chosen by estimates)")
      .group(options_group);
}

void add_verify_option(Command& command, EngineOptions& options) {
  command
      .add_flag("--verify", options.verify,
                "Refuse a plan that computes something other than its portable IR says, which each of its "
                "variants is tried for on random inputs; a plan's digest is no signature")
      .group(options_group);
}

void add_caller_options(Command& command, EngineOptions& options) {
  const auto add = [&](const char* name, std::vector<std::string>& list, const char* help) {
    command.add_option(name, list, help).group(options_group).one_value();
  };
  add("--state", options.states,
      "INPUT=OUTPUT: keep the output of a run as this input of the next one (docs/state.md)");
  add("--alias", options.aliases, "OUTPUT=INPUT: write the output into the memory of the input");
  add("--overwritable", options.overwritable, "INPUT whose memory a run may overwrite");
  add("--storage", options.storages,
      "NAME=LAYOUT[:TYPE], like input=acdb:fp16, input=any or input=row:u8:pitch=640: memory layout of an "
      "input or output");
}

BuildOptions build_options(const EngineOptions& options, double default_budget) {
  BuildOptions build;
  for (const std::string& text : options.shapes) {
    auto [name, range] = parse_shape(text);
    check(build.shapes.emplace(name, range).second, ErrorCode::invalid_argument,
          "--shape: input '{}' comes twice", name);
  }
  for (const std::string& text : options.profiles) build.profiles.push_back(parse_profile(text));
  read_callers(options, build);
  build.outputs = options.outputs;
  build.overridden = options.overridden;
  if (!options.weights.empty()) build.weights = open_weights(options.weights);
  if (!options.precision.empty()) build.precision = Precision::parse(options.precision);
  for (const std::string& text : options.pins) build.precision.pins.push_back(parse_pin(text));
  build.precision.strict = options.strict;
  build.precision.exact = options.exact;
  // Who asks for timing at runs means it, however few pictures there are.
  if (options.tune_at_run) default_budget = std::max(default_budget, least_run_budget);
  build.budget = options.budget.empty() ? default_budget : parse_duration(options.budget);
  read_devices(options, build);
  build.weight_budget = options.weight_budget;
  build.threads = options.threads;
  build.deterministic = options.deterministic;
  build.retune = options.retune;
  build.tune_at_run = options.tune_at_run;
  build.limits = given_limits();
  build.environment = environment_of(options);
  build.control.cancel = interrupt_token();
  return build;
}

ModelFacts inspect(const EngineOptions& options, Files& files) {
  files.reads(options.prefix == "--" ? "the model" : "--then", options.model);
  files.reads(options.flag("weights"), options.weights);
  for (const std::string& path : options.plugins) files.reads("--plugin", path);
  ModelFacts facts;
  const FileKind kind = kind_of(options.model);
  facts.plan = kind == FileKind::plan;
  check(facts.plan || kind == FileKind::other, ErrorCode::bad_data,
        "{}: is {}; expected a model (ONNX, TensorFlow, Caffe) or a plan of lanner build", options.model,
        kind == FileKind::image ? "a picture" : "a video");
  if (facts.plan) {
    refuse_build_options(options);
    LoadOptions load;
    load.threads = options.threads;
    load.weight_budget = options.weight_budget;
    load.tune_at_run = options.tune_at_run;
    load.verify = options.verify;
    load.limits = given_limits();
    load.environment = environment_of(options);
    if (options.device != "auto") load.device = parse_device(options.device);
    if (!options.weights.empty()) {
      const std::filesystem::path path(options.weights);
      load.weights = open_weights(options.weights);
      load.weights_folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    }
    load.control.cancel = interrupt_token();
    const ShownWarnings warnings;
    facts.engine = Engine::load(std::filesystem::path(options.model), load);
  } else {
    check(!options.verify, ErrorCode::invalid_argument,
          "{}: is no plan, which --verify is for; lanner verify tries a model's kernels", options.model);
    const std::filesystem::path path(options.model);
    facts.folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    BuildOptions build;
    build.stop_after = as_imported;
    build.outputs = options.outputs;
    build.overridden = options.overridden;
    build.limits = given_limits();
    build.environment = environment_of(options);
    if (!options.weights.empty()) build.weights = open_weights(options.weights);
    build.control.cancel = interrupt_token();
    std::vector<std::string> data_files;
    build.on_data_file = [&](const std::filesystem::path& path) { data_files.push_back(path.string()); };
    facts.engine = Engine::build(path, build);
    for (const std::string& path : data_files) files.reads("data of the model", path);
  }
  facts.inputs = facts.engine->inputs();
  facts.open_sizes = facts.engine->open_sizes();
  facts.graph = facts.engine->graph_json();
  return facts;
}

Engine open_engine(ModelFacts& facts, const EngineOptions& options, BuildOptions build, int batch,
                   std::optional<BuildTimes>* times) {
  if (facts.plan) return *facts.engine;
  for (const auto& [input, spec] : build.preprocess)
    fix_open_sizes(build, picture_input(facts.inputs, input), spec, std::max(batch, 1));
  if (batch > 0)
    for (const auto& [input, picture] : build.pictures)
      fix_open_sizes(build, picture_input(facts.inputs, input), picture.preprocess, batch);
  facts.engine.reset();
  const ShownWarnings warnings;
  ProgressBar bar("build");
  StageClock clock;
  build.control.progress = [&clock, draw = bar.callback()](const ProgressUpdate& update) {
    clock.see(update);
    draw(update);
  };
  Engine engine = Engine::build(std::filesystem::path(options.model), build);
  if (times) {
    *times = clock.times();
    if (build.budget <= 0 || build.deterministic) (*times)->tuning = 0; // Nothing was timed.
  }
  return engine;
}

std::map<std::string, Shape> take_plan_shapes(EngineOptions& options) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : options.shapes) {
    const auto [name, range] = parse_shape(text);
    check(shapes.emplace(name, range.opt).second, ErrorCode::invalid_argument,
          "--shape: input '{}' comes twice", name);
  }
  options.shapes.clear();
  return shapes;
}

std::map<std::string, Shape> settled_shapes(const Engine& engine, const std::map<std::string, Shape>& known,
                                            int batch) {
  const std::map<std::string, Shape> shapes = engine.sample_shapes(known, batch);
  std::vector<std::string> found;
  for (const Binding& input : engine.inputs()) {
    const auto shape = shapes.find(input.name);
    if (shape == shapes.end() || known.contains(input.name)) continue;
    if (!input.ranked || std::ranges::any_of(input.dims, [](std::int64_t dim) { return dim < 0; }))
      found.push_back(fmt::format("{}:{}", input.name, fmt::join(shape->second, "x")));
  }
  if (!found.empty() && engine.open_sizes())
    print_note(fmt::format("note: sizes that the model leaves open: {}, which fit; --shape sets others",
                           fmt::join(found, ", ")));
  return shapes;
}

void note_untimed(const Engine& engine, const EngineOptions& options) {
  if (engine.open_sizes() && !options.tune_at_run)
    print_note(
        "note: sizes are open that the build was not told, so kernels are chosen by estimates; --shape or "
        "--profile of lanner build times them, or --tune-at-run here");
}

void prepare_open(const Engine& engine, const std::map<std::string, Shape>& known) {
  if (!engine.open_sizes()) return;
  ProgressBar bar("tune");
  const ShownWarnings warnings;
  engine.prepare({{settled_shapes(engine, known), 0}}, {interrupt_token(), bar.callback()});
}

} // namespace lanner::tool
