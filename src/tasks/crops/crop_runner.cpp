#include <lanner/crop_runner.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/threads/sole_use.h"
#include "engine/context/given_shapes.h"
#include "engine/context/region_input.h"
#include "engine/state.h"
#include "image/picture_record.h"
#include "tasks/crops/crop_regions.h"
#include "tasks/declare/names.h"
#include "tasks/declare/resolve.h"
#include "tasks/read/reader.h"
#include "tasks/read/result_parts.h"

namespace lanner {
namespace {

constexpr std::int64_t most_in_one_run = 8; ///< Used unless another number is given.

void check_options(const CropOptions& options) {
  check(options.margin >= 0 && options.margin <= 10, ErrorCode::invalid_argument,
        "crops: margin {}: expected a share of the box from 0 to 10", options.margin);
  check(options.max_boxes >= 0, ErrorCode::invalid_argument, "crops: max_boxes {}: expected 0 (all) or more",
        options.max_boxes);
  check(options.batch >= 0, ErrorCode::invalid_argument, "crops: batch {}: expected 0 or more",
        options.batch);
}

/// Index of the only input that a run requires.
std::size_t input_number(const Engine& engine, const CropOptions& options) {
  const std::vector<Binding>& inputs = engine.inputs();
  const auto needed = std::ranges::count_if(inputs, [](const Binding& input) { return !input.defaulted; });
  check(needed == 1, ErrorCode::invalid_argument,
        "crops: the network has {} inputs; expected one, which takes images", needed);
  const auto input = std::ranges::find_if(inputs, [](const Binding& one) { return !one.defaulted; });
  check(options.input.empty() || options.input == input->name, ErrorCode::invalid_argument,
        "crops: the network has no input '{}'; its input is '{}'", one_line(options.input, tasks::shown_text),
        input->name);
  return static_cast<std::size_t>(input - inputs.begin());
}

Preprocess spec_of(const Engine& engine, const std::string& input, const CropOptions& options) {
  const auto spec = options.preprocess ? options.preprocess : engine.preprocess(input);
  check(spec.has_value(), ErrorCode::invalid_argument,
        "crops: the engine has no preprocessing for input {}; give one, or build with it", input);
  check(spec->region.whole(), ErrorCode::invalid_argument,
        "crops: the preprocessing has a region; leave it out, as each box is the region");
  return *spec;
}

/// Most crops in a run.
struct BatchSizes {
  std::int64_t least = 1, most = 1;

  /// The maximum and its halves, ascending, so that kernels are chosen for few batch sizes.
  std::vector<std::int64_t> all() const {
    std::vector<std::int64_t> sizes{least};
    for (std::int64_t half = 1; half < most; half *= 2)
      if (half > least) sizes.push_back(half);
    if (most > least) sizes.push_back(most);
    return sizes;
  }
};

/// Batch sizes that the input was built for, or allows.
BatchSizes sizes_of(const Engine& engine, std::size_t number, const Task& task, int wanted) {
  const EngineState& state = state_of(engine);
  const Binding& input = state.inputs[number];
  const std::int64_t fixed = input.dims.empty() ? 1 : input.dims[0];
  check(fixed < 0 || wanted == 0 || wanted == fixed, ErrorCode::invalid_argument,
        "crops: batch {}: input {} has a fixed first dimension", wanted, input.to_string());
  if (fixed >= 0) return {std::max<std::int64_t>(1, fixed), std::max<std::int64_t>(1, fixed)};
  // Lists of boxes have no batch.
  if (task.head == Head::torchvision) {
    check(wanted <= 1, ErrorCode::invalid_argument, "crops: batch {}: the head torchvision takes one image",
          wanted);
    return {};
  }
  const Type& type = state.graph->body().parameters()[number]->type;
  const SymbolInfo range = type.dims()[0].bounds(state.graph->symbols);
  std::int64_t most = range.max;
  std::int64_t built = 0;
  for (const ShapeProfile& profile : state.profiles)
    if (profile.ranges[number]) built = std::max(built, profile.ranges[number]->max[0]);
  if (built > 0) most = std::min(most, built);
  check(wanted <= most, ErrorCode::invalid_argument, "crops: batch {}: the engine takes {} at most", wanted,
        most);
  most = wanted > 0 ? wanted : std::min(most, std::max(most_in_one_run, range.min));
  return {std::clamp<std::int64_t>(range.min, 1, most), most};
}

/// Results are read in place.
ContextOptions kept(ContextOptions context) {
  context.keep_results = true;
  return context;
}

} // namespace

struct CropRunner::State {
  State(const Engine& shared, Task given, const CropOptions& wanted);
  void run(std::span<const PixelRect> regions, const Image& picture, std::span<TaskResult* const> results,
           const Control& control);
  TaskResult read(const tasks::Outputs& outputs, const Image& picture, const PixelRect& region,
                  std::int64_t element) const;
  void make_ahead(const BatchSizes& wanted);
  std::optional<Shape> shape_of(std::int64_t size) const;
  std::int64_t size_for(std::int64_t left) const;

  SoleUse use{"CropRunner"};
  Engine engine;
  CropOptions options;
  std::size_t number; ///< The input that takes images.
  std::shared_ptr<const Task> task;
  std::string reason;
  Preprocess spec;                 ///< With all sizes fixed, for reading outputs.
  std::vector<std::int64_t> sizes; ///< Batch sizes of runs, ascending, with kernels ready.
  RegionInput input;
  Context context;
};

CropRunner::State::State(const Engine& shared, Task given, const CropOptions& wanted)
    : engine(shared), options(wanted), number(input_number(shared, wanted)),
      spec(spec_of(shared, shared.inputs()[number].name, wanted)),
      input(shared, shared.inputs()[number].name, spec),
      context(shared.create_context(kept(wanted.context))) {
  check_options(options);
  ResolvedTask found = resolve_task(engine, given, spec);
  check(found.task.kind != TaskKind::none, ErrorCode::invalid_argument,
        "crops: task {}; expected one with answers for a crop", found.reason);
  tasks::complete_reading(engine, found.task, spec);
  make_ahead(sizes_of(engine, number, found.task, options.batch));
  task = std::make_shared<const Task>(std::move(found.task));
  reason = std::move(found.reason);
}

/// Shape of the input for this many crops; none where height or width are not known in advance.
std::optional<Shape> CropRunner::State::shape_of(std::int64_t size) const {
  const Binding& binding = engine.inputs()[number];
  if (!binding.image.empty()) return Shape{size, static_cast<std::int64_t>(picture_record_bytes)};
  if (spec.width == 0 || spec.height == 0) return std::nullopt;
  Shape one = output_shape(spec, spec.width, spec.height);
  if (binding.dims.size() == 3) return one;
  if (binding.dims.size() == 2) return Shape{size, one.elements()};
  std::vector<std::int64_t> dims(one.begin(), one.end());
  dims.insert(dims.begin(), size);
  return Shape(dims);
}

/// Makes kernels for each batch size now, as a run should not stop for them in the middle of a clip only
/// because a picture has another number of boxes. On a GPU a few crops take as long as a full batch, and
/// kernels take long to make, so there is one size. A model with an open batch may accept only some sizes:
/// others are left out, unless they were requested.
void CropRunner::State::make_ahead(const BatchSizes& wanted) {
  const EngineState& shared = state_of(engine);
  std::vector<std::int64_t> all = wanted.all();
  if (!engine.device().is_host()) all = {wanted.most};
  std::optional<Error> refused;
  for (const std::int64_t size : all) {
    GivenShapes given(shared.inputs.size());
    given[number] = shape_of(size);
    try {
      const auto shapes = given[number] ? completed_shapes(*shared.graph, given, shared.opt) : std::nullopt;
      if (shapes) shared.variant(*shapes, context.threads());
      sizes.push_back(size);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument || size == options.batch) throw;
      refused = error;
    }
  }
  if (sizes.empty()) throw Error(*refused);
}

std::int64_t CropRunner::State::size_for(std::int64_t left) const {
  const auto larger = std::ranges::upper_bound(sizes, left);
  return larger == sizes.begin() ? *larger : *std::prev(larger);
}

/// A crop's result in pixels of the whole picture; maps and images in the crop's own.
TaskResult CropRunner::State::read(const tasks::Outputs& outputs, const Image& picture,
                                   const PixelRect& region, std::int64_t element) const {
  const TaskKind kind = *task->kind;
  const bool map = kind == TaskKind::semantic || kind == TaskKind::depth || kind == TaskKind::image;
  Preprocess of_region = spec;
  if (!map) of_region.region = region;
  const std::int32_t width = map ? region.width : picture.width,
                     height = map ? region.height : picture.height;
  TaskResult result = tasks::read_result(*task, of_region, outputs, width, height, element, options.limits);
  result.region = kind == TaskKind::image ? tasks::seen_region(spec, region) : region;
  return result;
}

/// Runs one batch; repeats the last region for a network with fixed batch sizes.
void CropRunner::State::run(std::span<const PixelRect> regions, const Image& picture,
                            std::span<TaskResult* const> results, const Control& control) {
  input.bind(context, picture, regions);
  context.run({}, control);
  tasks::Outputs outputs;
  for (const Binding& output : engine.outputs())
    if (!output.sequence) outputs[output.name] = context.output(output.name).tensor;
  for (std::size_t n = 0; n < results.size(); ++n)
    *results[n] = read(outputs, picture, regions[n], static_cast<std::int64_t>(n));
}

CropRunner::CropRunner(const Engine& engine, Task task, const CropOptions& options)
    : state_(std::make_unique<State>(engine, std::move(task), options)) {}
CropRunner::~CropRunner() = default;
CropRunner::CropRunner(CropRunner&&) noexcept = default;
CropRunner& CropRunner::operator=(CropRunner&&) noexcept = default;

void CropRunner::run(const Image& picture, TaskResult& found, const Control& control) {
  run(picture, found, state_->options.classes, control);
}

void CropRunner::run(const Image& picture, TaskResult& found, std::span<const std::int64_t> classes,
                     const Control& control) {
  const SoleUse::Call call(state_->use);
  check(picture.defined(), ErrorCode::invalid_argument, "crops: no image was given");
  check(has_boxes(found.kind), ErrorCode::invalid_argument, "crops: a result of the task {} has no boxes",
        to_string(found.kind));
  check(found.width == picture.width && found.height == picture.height, ErrorCode::invalid_argument,
        "crops: expected the image of the result, {}x{} pixels, got {}x{}", found.width, found.height,
        picture.width, picture.height);
  const std::vector<PixelRect> all = tasks::crop_regions(found, classes, state_->options);
  std::vector<TaskResult> crops(all.size(), tasks::empty_result(*state_->task));
  std::vector<PixelRect> regions;
  std::vector<TaskResult*> results;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].whole()) {
      regions.push_back(all[i]);
      results.push_back(&crops[i]);
    }
  for (std::size_t done = 0; done < regions.size();) {
    const auto left = static_cast<std::int64_t>(regions.size() - done);
    const auto size = static_cast<std::size_t>(state_->size_for(left));
    const std::size_t count = std::min(size, regions.size() - done);
    std::vector<PixelRect> batch(regions.begin() + static_cast<std::ptrdiff_t>(done),
                                 regions.begin() + static_cast<std::ptrdiff_t>(done + count));
    batch.resize(size, batch.back());
    state_->run(batch, picture, std::span(results).subspan(done, count), control);
    done += count;
  }
  found.crops = std::move(crops);
  found.crop_task = state_->task;
}

const Task& CropRunner::task() const noexcept {
  return *state_->task;
}
const std::string& CropRunner::reason() const noexcept {
  return state_->reason;
}
const Context& CropRunner::context() const noexcept {
  return state_->context;
}

} // namespace lanner
