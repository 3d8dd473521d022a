// YOLOv8, v9, v11, v12: box, classes and extras of each cell; no objectness.

#include <algorithm>
#include <limits>

#include "tasks/cuda/rows.h"
#include "tasks/heads/boxes.h"
#include "tasks/heads/scores.h"
#include "tasks/heads/yolo.h"

namespace lanner::tasks {
namespace {

constexpr std::int64_t fixed = 4;
constexpr Part parts[] = {{"boxes", 2}, {"prototypes", 3}};
constexpr TaskKind kinds[] = {TaskKind::detect, TaskKind::segment, TaskKind::pose, TaskKind::obb};

void propose(const Facts& facts, std::vector<Reading>& readings) {
  const YoloOutputs outputs = yolo_outputs(facts);
  if (!outputs.boxes) return;
  const std::int64_t first = outputs.boxes->dims[1], second = outputs.boxes->dims[2];
  const TaskKind kind = facts.wanted.kind.value_or(outputs.prototypes ? TaskKind::segment : TaskKind::detect);
  const auto extras = extra_channels(facts.wanted, kind, outputs.coefficients());
  const std::int64_t channels = facts.labels() > 0 && extras ? fixed + facts.labels() + *extras : -1;
  const auto shape = yolo_shape(first, second, channels, facts.width, facts.height);
  if (!shape) {
    if (facts.asked(Head::yolo_v8))
      propose_yolo(facts, yolo_v8_row, outputs, {}, fixed, Ground::shapes, readings);
    return;
  }
  const bool grid =
      shape->places < 0 ? shape->channels_first : is_grid(shape->places, facts.width, facts.height, 1);
  if (facts.asked(Head::yolo_v8) || grid)
    propose_yolo(facts, yolo_v8_row, outputs, *shape, fixed, Ground::shapes, readings);
}

/// The best class for a block of cells, whose scores are stored channel by channel.
class ColumnBlock {
public:
  void load(const Values& values, std::int64_t first, std::int64_t step, std::int64_t classes,
            std::int64_t count) {
    float buffer[block_size];
    std::fill_n(most_, count, -std::numeric_limits<float>::infinity());
    std::fill_n(poison_, count, 0.f);
    for (std::int64_t c = 0; c < classes; ++c) {
      const float* scores = values.run(first + c * step, count, buffer);
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) {
        most_[i] = scores[i] > most_[i] ? scores[i] : most_[i];
        poison_[i] += scores[i] * 0;
      }
    }
  }
  float most(std::int64_t i) const {
    return most_[i];
  }
  bool finite(std::int64_t i) const {
    return poison_[i] == 0;
  }

private:
  float most_[block_size], poison_[block_size];
};

void read_columns(const HeadRun& run, const YoloLayout& layout, const auto& emit) {
  const Values& values = run.part("boxes");
  const ScoreScale scale(*run.task.activation, run.threshold);
  const std::int64_t places = layout.shape.places, first = fixed * places;
  ColumnBlock block;
  for (std::int64_t from = 0; from < places; from += block_size) {
    const std::int64_t count = std::min(block_size, places - from);
    block.load(values, first + from, places, layout.classes, count);
    for (std::int64_t i = 0; i < count; ++i) {
      if (!block.finite(i)) fail_not_finite(from + i);
      if (block.most(i) < scale.least()) continue;
      const float score = scale(block.most(i));
      if (!scale.passes(score)) continue;
      std::int64_t label = 0;
      while (values[first + label * places + from + i] != block.most(i)) ++label;
      emit(from + i, static_cast<std::int32_t>(label), score);
    }
  }
}

Candidates decode(const HeadRun& run) {
  const YoloLayout layout = yolo_layout(run, fixed);
  const Values& values = run.part("boxes");
  const bool turned = *run.task.kind == TaskKind::obb;
  const BoxReader box(run, values, 0, layout.pitch(), layout.step());
  Candidates found(run.most);
  const Rows extras{values, (fixed + layout.classes) * layout.step(), layout.pitch(), layout.step(),
                    layout.extras};
  const auto emit = [&](std::int64_t row, std::int32_t label, float score) {
    found.add({turned ? box.centred(row) : box(row), turned ? extras.at(row, 0) : 0, score, label, row});
  };
  if (layout.shape.channels_first)
    read_columns(run, layout, emit);
  else
    for_each_class({values, fixed, layout.pitch(), layout.shape.places, layout.classes},
                   {*run.task.activation, -1, 0, false, run.threshold}, emit);
  found.extras = extras;
  return found;
}

std::vector<RowScan> scans(const HeadRun& run) {
  return scan_yolo(run, fixed, false);
}

} // namespace

const HeadRow yolo_v8_row{
    .head = Head::yolo_v8,
    .expects = "one output [N, 4 + C + extra, A] or [N, A, 4 + C + extra], and prototypes [N, P, h, w]",
    .parts = parts,
    .kinds = kinds,
    .form = BoxForm::cxcywh,
    .propose = propose,
    .decode = decode,
    .scans = scans,
};

} // namespace lanner::tasks
