#include "options/engine_options.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/doctor.h>
#include <lanner/error.h>
#include <lanner/model_folder.h>

#include "check.h"
#include "input/media.h"
#include "interrupt.h"
#include "options/limit_option.h"
#include "output/console.h"
#include "output/warnings.h"

namespace lanner::tool {
namespace {

/// Sizes of the image input where the model leaves them open.
void fix_open_sizes(BuildOptions& build, const Binding& input, const Preprocess& spec, int batch) {
  const auto names_it = [&](const auto& shapes) { return shapes.contains(input.name); };
  if (names_it(build.shapes) || std::ranges::any_of(build.profiles, names_it) ||
      std::ranges::none_of(input.dims, [](std::int64_t dim) { return dim < 0; }))
    return;
  const std::int64_t channels = spec.gray ? 1 : 3;
  const bool single = input.dims.size() == 3; // Three dimensions: one image, without a batch.
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

/// A plan's build options are fixed, so only options of loading apply.
void refuse_build_options(const EngineOptions& options) {
  std::vector<std::string> given;
  for (const auto& row : build_option_table())
    if (options.given.has(row.info.name) && !find_option(load_option_table(), row.info.name))
      given.push_back(GivenOptions::flag_of(row.info, options.prefix));
  check(given.empty(), ErrorCode::invalid_argument,
        "{}: is a plan, for which {} was fixed when it was built; build it again from its model with {}",
        options.model, fmt::join(given, ", "), given.size() == 1 ? "it" : "them");
}

/// Environment with the given plug-ins and backends.
Environment environment_of(const EngineOptions& options) {
  Environment environment;
  environment.set_backends(options.backends);
  for (const std::string& path : options.plugins) environment.load_plugin(path);
  return environment;
}

/// Measures the stages of a build from its progress reports.
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

/// The first entry of every pass list; the name of a first pass would tie this file to the engine's list.
constexpr const char* as_imported = "import";

constexpr double least_run_budget = 3;

} // namespace

void add_engine_options(Command& command, EngineOptions& options, std::initializer_list<OptionUse> uses) {
  const std::string group = "From model to engine";
  OptionRows rows(command, options.given);
  rows.heading(group).more([](const OptionInfo& info) {
    const auto* of_plans = find_option(load_option_table(), info.name);
    const bool other = of_plans && of_plans->info.help.starts_with("of a plan");
    return other ? std::string(of_plans->info.help) : std::string();
  });
  rows.add(build_option_table());
  command
      .add_option(
          "--plugin", options.plugins,
          "Plug-in library with operators of the model or plan (docs/plugins.md); may be given several times")
      .group(group)
      .one_value();
  command
      .add_option("--backends", options.backends,
                  "Use kernels of these only, comma separated: cuda, onednn, cpu, reference, which is always "
                  "used for nodes without another kernel (default: all)")
      .group(group)
      .delimiter(',')
      .one_value();
  for (const OptionUse use : uses) {
    rows.add(build_option_table(), use);
    for (const auto& row : load_option_table())
      if (row.info.use == use && !find_option(build_option_table(), row.info.name))
        rows.add(load_option_table(), {row.info.name});
  }
  add_limit_option(command);
}

BuildOptions build_options(const EngineOptions& options, double default_budget) {
  BuildOptions build;
  // --tune-at-run is an explicit request, however few images there are.
  build.budget =
      options.given.has("tune_at_run") ? std::max(default_budget, least_run_budget) : default_budget;
  build.limits = given_limits();
  build.environment = environment_of(options);
  {
    const ShownWarnings warnings; // why the device auto is the CPU, for one
    options.given.apply(build, build_option_table(), options.prefix, build.limits);
  }
  build.control.cancel = interrupt_token();
  return build;
}

namespace {

Engine load_plan(const EngineOptions& options) {
  refuse_build_options(options);
  LoadOptions load;
  load.limits = given_limits();
  load.environment = environment_of(options);
  load.control.cancel = interrupt_token();
  GivenOptions given = options.given;
  if (given.text("device") == "auto") given.set("device", {}); // The plan's own.
  given.apply(load, load_option_table(), options.prefix, load.limits);
  const ShownWarnings warnings;
  return Engine::load(std::filesystem::path(options.model), load);
}

Engine import_model(const EngineOptions& options, const std::filesystem::path& path, Files& files) {
  for (const auto& row : load_option_table())
    check(!options.given.has(row.info.name) || find_option(build_option_table(), row.info.name),
          ErrorCode::invalid_argument,
          "{}: is not a plan, and {} is only for plans; lanner verify checks a model's kernels",
          options.model, GivenOptions::flag_of(row.info, options.prefix));
  BuildOptions build;
  build.stop_after = as_imported;
  build.limits = given_limits();
  build.environment = environment_of(options);
  build.control.cancel = interrupt_token();
  for (const std::string_view name : {"outputs", "overridden", "weights"}) {
    const auto& row = *find_option(build_option_table(), name);
    options.given.apply_to(build, row, GivenOptions::flag_of(row.info, options.prefix), build.limits);
  }
  std::vector<std::string> data_files;
  build.on_data_file = [&](const std::filesystem::path& file) { data_files.push_back(file.string()); };
  Engine engine = Engine::build(path, build);
  for (const std::string& file : data_files) files.reads("data of the model", file);
  return engine;
}

} // namespace

ModelFacts inspect(const EngineOptions& options, Files& files) {
  files.reads(options.prefix == "--" ? "the model" : "--then", options.model);
  const std::string weights = options.given.text("weights");
  files.reads(options.flag("weights"), weights);
  for (const std::string& path : options.plugins) files.reads("--plugin", path);
  ModelFacts facts;
  const FileKind kind = kind_of(options.model);
  facts.plan = kind == FileKind::plan;
  check(facts.plan || kind == FileKind::other, ErrorCode::bad_data,
        "{}: is {}; expected a model (ONNX, TensorFlow, Caffe) or a plan of lanner build", options.model,
        kind == FileKind::image ? "a picture" : "a video");
  if (!weights.empty()) static_cast<void>(kind_of(weights)); // Throws where it cannot be read.
  if (facts.plan) {
    facts.engine = load_plan(options);
  } else {
    const std::filesystem::path path(options.model);
    facts.folder = model_folder(path);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored))
      facts.exported = KerasExport::make(open_path(path, given_limits()), given_limits(), interrupt_token());
    facts.engine = import_model(options, path, files);
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
    for (const auto& [input, picture] : build.images)
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
    if (build.budget <= 0 || build.deterministic) (*times)->tuning = 0; // No kernel was timed.
  }
  return engine;
}

std::map<std::string, Shape> take_plan_shapes(EngineOptions& options) {
  VerifyOptions tried;
  const auto& row = *find_option(verify_option_table(), "shapes");
  options.given.apply_to(tried, row, GivenOptions::flag_of(row.info));
  options.given.set("shapes", {});
  return tried.shapes;
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
    print_note(fmt::format("note: open sizes of the model were set to {}, which fit; --shape sets others",
                           fmt::join(found, ", ")));
  return shapes;
}

void note_untimed(const Engine& engine, const EngineOptions& options) {
  if (engine.open_sizes() && !options.given.has("tune_at_run"))
    print_note("note: the model has open sizes that the build does not know, so kernels are chosen by "
               "estimates; --shape or "
               "--profile of lanner build times them, or --tune-at-run here");
}

void prepare_open(const Engine& engine, const std::map<std::string, Shape>& known) {
  if (!engine.open_sizes()) return;
  ProgressBar bar("tune");
  const ShownWarnings warnings;
  engine.prepare({{settled_shapes(engine, known), 0}}, {interrupt_token(), bar.callback()});
}

} // namespace lanner::tool
