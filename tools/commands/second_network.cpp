#include "commands/second_network.h"

#include <algorithm>

#include <fmt/format.h>

#include <lanner/classes.h>
#include <lanner/error.h>

#include "check.h"
#include "input/media.h"
#include "options/limit_option.h"

namespace lanner::tool {
namespace {

constexpr int default_batch = 8; ///< Crops in one run, where the model leaves the batch open.

/// The first network's build options that are about how, not what. For a plan only options of loading remain.
EngineOptions engine_options(const SecondNetworkOptions& options, const EngineOptions& first) {
  EngineOptions engine;
  engine.prefix = options.task.prefix;
  engine.model = options.model();
  engine.given = options.engine;
  engine.plugins = first.plugins;
  engine.backends = first.backends;
  const auto take_over = [&](const auto& table) {
    for (const auto& row : table)
      if (row.info.second_network) engine.given.copy(row.info.name, first.given);
  };
  kind_of(options.model()) == FileKind::plan ? take_over(load_option_table())
                                             : take_over(build_option_table());
  if (const std::string devices = first.given.text("device"); !devices.empty())
    engine.given.set("device", {devices.substr(0, devices.find(','))});
  return engine;
}

/// The image must be its only required input, and a fixed batch cannot be changed.
void check_input(const SecondNetworkOptions& options, const std::vector<Binding>& inputs) {
  const auto needed = std::ranges::count_if(inputs, [](const Binding& input) { return !input.defaulted; });
  check(needed == 1, ErrorCode::invalid_argument,
        "--then {}: the model has {} inputs, expected one, which takes images", options.model(), needed);
  const Binding& input = *std::ranges::find_if(inputs, [](const Binding& one) { return !one.defaulted; });
  const std::int64_t fixed = input.dims.empty() ? -1 : input.dims[0];
  check(fixed < 0 || options.batch == 0 || options.batch == fixed, ErrorCode::invalid_argument,
        "--then-batch {}: input {} has a fixed first dimension", options.batch, input.to_string());
}

CropOptions crop_options(const SecondNetworkOptions& options, const lanner::Task& first) {
  CropOptions crops;
  crops.margin = static_cast<float>(options.margin);
  crops.max_boxes = options.max_boxes;
  crops.batch = options.batch;
  crops.limits = given_limits();
  for (const std::string& name : options.classes)
    crops.classes.push_back(
        with_context([] { return "--then-classes"; }, [&] { return class_number(first, name); }));
  return crops;
}

/// Errors name the second network.
template<typename Work>
auto about_second_network(const std::string& model, Work work) {
  return with_context([&] { return "--then " + model; }, std::move(work));
}

} // namespace

SecondNetworkOptions::SecondNetworkOptions() {
  task.prefix = preprocess.prefix = "--then-";
  preprocess.regions = false;
}

void add_second_network_options(Command& command, SecondNetworkOptions& options) {
  const std::string group = "A second network, run on the region of each box";
  command
      .add_option("--then", options.models,
                  "Its model or plan, like a classifier after a detector. Its own options are the "
                  "options below with then- in front: --then-task, --then-labels, --then-score-threshold, "
                  "--then-preset, --then-size ...")
      .group(group)
      .one_value();
  command.add_option("--then-classes", options.classes, "Only boxes of these classes, comma separated")
      .group(group)
      .delimiter(',')
      .one_value();
  command.add_option("--then-margin", options.margin, "Around each box, as a share of its sides, like 0.1")
      .group(group)
      .range(0.0, 10.0);
  command
      .add_option("--then-max-boxes", options.max_boxes,
                  "At most this many of these boxes per image, the best")
      .group(group)
      .range(1, 1 << 20);
  command
      .add_option(
          "--then-batch", options.batch,
          "Boxes in one run, where the model leaves the batch open (default: 8, or what the plan takes)")
      .group(group)
      .range(1, 4096);
  OptionRows(command, options.engine)
      .heading(group)
      .prefix("--then-")
      .add(build_option_table(), {"precision", "weights"});
  add_task_options(command, options.task);
  add_preprocess_options(command, options.preprocess);
}

void declare_second_network(const SecondNetworkOptions& options, Files& files) {
  const bool given = !options.engine.empty() || !options.classes.empty() || options.margin > 0 ||
                     options.max_boxes > 0 || options.batch > 0 || options.task.given() ||
                     options.preprocess.given();
  check(!given || options.given(), ErrorCode::invalid_argument,
        "options that begin with --then- are for a second network; name it by --then MODEL");
  check(options.models.size() < 2, ErrorCode::invalid_argument,
        "--then: names one second network, {} were given", options.models.size());
  declare_task_files(options.task, files);
}

SecondNetwork::SecondNetwork(const SecondNetworkOptions& options, const EngineOptions& engine,
                             const lanner::Task& first, Files& files) {
  check(has_boxes(*first.kind), ErrorCode::invalid_argument,
        "--then {}: the first network's task {} finds no boxes for the second to run on; expected "
        "detect, "
        "segment, pose or obb",
        options.model(), to_string(*first.kind));
  crops_ = crop_options(options, first);
  engine_options_ = engine_options(options, engine);
  facts_ = inspect(engine_options_, files);
  check_input(options, facts_.inputs);
  about_second_network(options.model(), [&] {
    const Binding& input = picture_input(facts_.inputs, "");
    picture_ = resolve_preprocess(options.preprocess, *facts_.engine, facts_.folder, input);
    as_one_size(picture_);
    task_ = resolve_task(*facts_.engine, given_task(options.task), picture_.spec);
  });
  check(task_.task.kind != TaskKind::none, ErrorCode::invalid_argument,
        "--then {}: task {}; give --then-task", options.model(), task_.reason);
  // Lists of boxes have no batch.
  const Binding& first_input = picture_input(facts_.inputs, "");
  if (crops_.batch == 0 && first_input.dims.size() == 3) crops_.batch = 1;
  if (crops_.batch == 0 && !facts_.plan && first_input.dims[0] < 0)
    crops_.batch = task_.task.head == Head::torchvision ? 1 : default_batch;
}

CropRunner SecondNetwork::open(double budget) {
  BuildOptions build = build_options(engine_options_, budget);
  build.images[picture_.input].preprocess = picture_.spec;
  engine_ = open_engine(facts_, engine_options_, std::move(build), crops_.batch, &times_);
  crops_.preprocess = picture_.spec;
  return about_second_network(engine_options_.model,
                              [&] { return CropRunner(*engine_, task_.task, crops_); });
}

} // namespace lanner::tool
