// YOLOv5 and v7 before the sigmoid: one output for each stride.

#include <algorithm>

#include "tasks/cuda/rows.h"
#include "tasks/heads/boxes.h"
#include "tasks/heads/scores.h"
#include "tasks/heads/yolo.h"

namespace lanner::tasks {
namespace {

constexpr std::int64_t fixed = 5;
constexpr std::size_t most_levels = 5;
constexpr Part parts[] = {{"level0", 4}, {"level1", 4}, {"level2", 4}, {"level3", 4}, {"level4", 4}};
constexpr TaskKind kinds[] = {TaskKind::detect};

void propose(const Facts& facts, std::vector<Reading>& readings) {
  std::vector<const Binding*> levels;
  for (const Part& part : parts)
    if (const Binding* given = facts.given(std::string(part.name))) levels.push_back(given);
  if (levels.empty()) {
    levels = facts.all([](const Binding& output) { return has_rank(output, 5) && output.dims[4] > fixed; });
    // Fine cells first, as anchors are listed.
    std::ranges::stable_sort(levels, std::ranges::greater{},
                             [](const Binding* output) { return output->dims[2]; });
  }
  if (levels.empty() || levels.size() > most_levels) return;
  if (!facts.asked(Head::yolo_v5_raw) && levels.size() < 2) return;
  const std::int64_t channels = levels[0]->dims.back();
  const bool alike = std::ranges::all_of(
      levels, [&](const Binding* output) { return has_rank(*output, 5) && output->dims.back() == channels; });
  const std::int64_t classes = channels < 0 ? -1 : channels - fixed;
  if (!alike || classes == 0 || (facts.labels() > 0 && classes >= 0 && classes != facts.labels())) return;
  Reading reading = reading_of(yolo_v5_raw_row, TaskKind::detect, classes, Ground::names, {});
  for (std::size_t i = 0; i < levels.size(); ++i)
    reading.task.outputs[std::string(parts[i].name)] = levels[i]->name;
  readings.push_back(std::move(reading));
}

/// One output: [anchors, H, W, 5 + C].
void read_level(const HeadRun& run, std::size_t level, std::size_t& anchor, Candidates& found) {
  const Values& values = run.part(parts[level].name);
  const Shape& whole = values.whole();
  const std::int64_t anchors = whole[0], height = whole[1], width = whole[2], channels = whole[3];
  check(channels > fixed && height > 0 && width > 0, ErrorCode::invalid_argument,
        "head yolo_v5_raw: level {} is {}, expected [anchors, H, W, 5 + C]", level, whole.to_string());
  check_class_count(run.task, channels - fixed);
  check(run.task.anchors.size() >= (anchor + static_cast<std::size_t>(anchors)) * 2,
        ErrorCode::invalid_argument,
        "head yolo_v5_raw: {} numbers of anchors were given, level {} needs more: width and height of {} "
        "anchors",
        run.task.anchors.size(), level, anchors);
  const auto stride = [&](std::int64_t input, std::int64_t cells) {
    return run.task.strides.empty() ? static_cast<float>(input) / static_cast<float>(cells)
                                    : run.task.strides.at(level);
  };
  const float across = stride(run.width, width), down = stride(run.height, height);
  const ScoreScale scale(Activation::sigmoid, run.threshold);
  for (std::int64_t place = 0; place < values.size() / channels; ++place) {
    const std::int64_t at = place * channels, row = values.number(place);
    const float raw = values[at + 4];
    if (!std::isfinite(raw)) fail_not_finite(row);
    if (raw < scale.least()) continue;
    std::int64_t label = 0;
    for (std::int64_t c = 0; c < channels - fixed; ++c) {
      const float value = values[at + fixed + c];
      if (!std::isfinite(value)) fail_not_finite(row);
      if (value > values[at + fixed + label]) label = c;
    }
    const float score = sigmoid(raw) * sigmoid(values[at + fixed + label]);
    if (!scale.passes(score)) continue;
    const auto column = static_cast<float>(row % width), line = static_cast<float>(row / width % height);
    const std::size_t size = (anchor + static_cast<std::size_t>(row / (width * height))) * 2;
    const auto side = [&](std::int64_t i, float whole) {
      const float twice = 2 * sigmoid(values[at + i]);
      return twice * twice * whole;
    };
    const float x = (2 * sigmoid(values[at]) - 0.5f + column) * across,
                y = (2 * sigmoid(values[at + 1]) - 0.5f + line) * down;
    const float half_width = side(2, run.task.anchors[size]) / 2,
                half_height = side(3, run.task.anchors[size + 1]) / 2;
    const std::array<float, 4> box{x - half_width, y - half_height, x + half_width, y + half_height};
    check_box(box, row);
    found.add({box, 0, score, static_cast<std::int32_t>(label), row});
  }
  anchor += static_cast<std::size_t>(anchors);
}

Candidates decode(const HeadRun& run) {
  Candidates found(run.most);
  std::size_t anchor = 0;
  check(run.task.strides.empty() || run.task.strides.size() == run.parts.size(), ErrorCode::invalid_argument,
        "head yolo_v5_raw: {} strides were given for {} outputs", run.task.strides.size(), run.parts.size());
  for (std::size_t level = 0; level < run.parts.size(); ++level) read_level(run, level, anchor, found);
  check(run.task.anchors.size() == anchor * 2, ErrorCode::invalid_argument,
        "head yolo_v5_raw: {} numbers of anchors were given, the outputs have {} anchors of two",
        run.task.anchors.size(), anchor);
  return found;
}

std::vector<RowScan> scans(const HeadRun& run) {
  std::vector<RowScan> all;
  for (const Part& part : parts) {
    if (!run.has(part.name)) continue;
    const Values& values = run.part(part.name);
    const std::int64_t channels = values.dim(3);
    if (channels <= fixed) continue;
    RowScan scan{part.name,
                 scan_of(Activation::sigmoid, run.threshold, values.size() / channels, channels - fixed),
                 {{part.name, 0, channels, 1, channels}}};
    scan.scores.begin = fixed;
    scan.scores.pitch = channels;
    scan.scores.step = 1;
    add_objectness(scan.scores, Activation::sigmoid, run.threshold, 4);
    all.push_back(std::move(scan));
  }
  return all;
}

} // namespace

const HeadRow yolo_v5_raw_row{
    .head = Head::yolo_v5_raw,
    .expects = "for each stride an output [N, anchors, H, W, 5 + C]",
    .parts = parts,
    .kinds = kinds,
    .form = BoxForm::cxcywh,
    .activation = Activation::sigmoid,
    .propose = propose,
    .decode = decode,
    .scans = scans,
};

} // namespace lanner::tasks
