#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "base/limits/paced_deadline.h"
#include "ops/definition/rows.h"
#include "ops/detection/box_overlap.h"
#include "ops/detection/suppression.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_non_max_suppression(InferContext& context) {
  require_rank(context, 0, 3);
  require_rank(context, 1, 3);
  const Type &boxes = context.input(0), &scores = context.input(1);
  Dim most(INT32_MAX);
  if (boxes.ranked() && scores.ranked()) {
    require_equal(boxes.dims()[2], 4, "the boxes' last size");
    require_equal(scores.dims()[0], boxes.dims()[0], "the scores' batch size");
    require_equal(scores.dims()[2], boxes.dims()[1], "the scores' last size");
    Dim per_class = boxes.dims()[1];
    if (const auto bound = known_scalar(context, 2)) per_class = min(per_class, max(*bound, 0));
    most = scores.dims()[0] * scores.dims()[1] * per_class;
  }
  context.set_output(0, Type(DType::i64, Dims{context.fresh("selected", most), Dim(3)}));
}

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The smallest number above `threshold`; NaN, which no number reaches, where there is none.
static float above(float threshold) {
  return threshold == infinity ? std::numeric_limits<float>::quiet_NaN()
                               : std::nextafter(threshold, infinity);
}

Thresholds thresholds_of(std::span<const Tensor> inputs) {
  const auto given = [&](std::size_t i) { return i < inputs.size() && inputs[i].defined(); };
  const auto real = [&](std::size_t i, float fallback) {
    return given(i) ? static_cast<float>(read_real(inputs[i], "threshold")) : fallback;
  };
  const std::int64_t most = given(2) ? read_integer(inputs[2], "max_output_boxes_per_class") : 0;
  return {std::max<std::int64_t>(most, 0), real(3, 0), given(4) ? above(real(4, 0)) : -infinity};
}

namespace {

using Four = float __attribute__((vector_size(16)));

Four four(float value) {
  return Four{value, value, value, value};
}

Boxes<Four> four(const Box& box) {
  return {four(box.top), four(box.left), four(box.bottom), four(box.right)};
}

/// The selected boxes of a class, in vectors of four: each candidate is compared with all of them.
class SelectedBoxes {
public:
  void add(const Box& box);
  /// Whether one of them overlaps with `box` by more than `limit`.
  bool cover(const Box& box, float limit) const;

private:
  struct Group {
    Boxes<Four> boxes;
    Four areas; ///< NaN for an unused slot, which overlaps with nothing.
  };
  CountedVector<Group> groups_;
  std::size_t count_ = 0;
};

void SelectedBoxes::add(const Box& box) {
  const std::size_t lane = count_++ % 4;
  if (lane == 0) groups_.push_back({four(Box{}), four(std::numeric_limits<float>::quiet_NaN())});
  Group& group = groups_.back();
  group.boxes.top[lane] = box.top;
  group.boxes.left[lane] = box.left;
  group.boxes.bottom[lane] = box.bottom;
  group.boxes.right[lane] = box.right;
  group.areas[lane] = area(box);
}

bool SelectedBoxes::cover(const Box& box, float limit) const {
  constexpr std::size_t block = 4; // groups between two checks of the result
  const Boxes<Four> own = four(box);
  const Four own_area = four(area(box)), most = four(limit);
  for (std::size_t first = 0; first < groups_.size(); first += block) {
    const std::size_t last = std::min(first + block, groups_.size());
    auto covered = most < most;
    for (std::size_t i = first; i < last; ++i)
      covered |= overlap(own, own_area, groups_[i].boxes, groups_[i].areas) > most;
    if ((covered[0] | covered[1] | covered[2] | covered[3]) != 0) return true;
  }
  return false;
}

struct Candidate {
  float score;
  std::int64_t box;
};

} // namespace

/// Indices of the selected boxes of one class, best first, the first of equal ones.
static CountedVector<std::int64_t> select_boxes(std::span<const Box> boxes, std::span<const float> scores,
                                                const Thresholds& limit) {
  CountedVector<Candidate> candidates;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (scores[i] >= limit.score) candidates.push_back({scores[i], static_cast<std::int64_t>(i)});
  PacedDeadline look;
  std::ranges::sort(candidates, [&](const Candidate& a, const Candidate& b) {
    look();
    return a.score > b.score || (a.score == b.score && a.box < b.box);
  });
  SelectedBoxes accepted;
  CountedVector<std::int64_t> selected;
  for (const Candidate& candidate : candidates) {
    if (static_cast<std::int64_t>(selected.size()) >= limit.most) break;
    look(selected.size() + 1);
    const Box& box = boxes[static_cast<std::size_t>(candidate.box)];
    if (accepted.cover(box, limit.overlap)) continue;
    accepted.add(box);
    selected.push_back(candidate.box);
  }
  return selected;
}

static void check_shapes(const Shape& boxes, const Shape& scores) {
  const bool fit = boxes.rank() == 3 && boxes[2] == 4 && scores.rank() == 3 && scores[0] == boxes[0] &&
                   scores[2] == boxes[1];
  check(fit, ErrorCode::invalid_argument,
        "boxes {} and scores {}: expected [batch, boxes, 4] and [batch, classes, boxes]", boxes.to_string(),
        scores.to_string());
}

static void run_non_max_suppression(KernelContext& context) {
  const Tensor &boxes = context.input(0), &scores = context.input(1);
  check_shapes(boxes.shape(), scores.shape());
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < 5; ++i) inputs.push_back(context.has(i) ? context.input(i) : Tensor{});
  const Thresholds limit = thresholds_of(inputs);
  const bool centered = context.attributes().flag("center_point_box");
  const std::int64_t classes = scores.shape()[1], count = boxes.shape()[1];
  CountedVector<Box> read;
  for (std::int64_t i = 0; i < boxes.shape()[0] * count; ++i)
    read.push_back(read_box(boxes.as<float>().data() + i * 4, centered));
  CountedVector<CountedVector<std::int64_t>> kept(static_cast<std::size_t>(boxes.shape()[0] * classes));
  for_each_row(context.threads(), boxes.shape()[0] * classes, [&](std::int64_t row) {
    const auto size = static_cast<std::size_t>(count), first = static_cast<std::size_t>(row) * size;
    const auto image = static_cast<std::size_t>(row / classes) * size;
    kept[static_cast<std::size_t>(row)] =
        select_boxes(std::span(read).subspan(image, size), scores.as<float>().subspan(first, size), limit);
  });
  std::int64_t selected = 0;
  for (const auto& line : kept) selected += static_cast<std::int64_t>(line.size());
  Tensor& y = context.allocate(0, DType::i64, {selected, 3});
  auto out = y.as<std::int64_t>().begin();
  for (std::size_t row = 0; row < kept.size(); ++row)
    for (const std::int64_t box : kept[row])
      for (const std::int64_t value :
           {static_cast<std::int64_t>(row) / classes, static_cast<std::int64_t>(row) % classes, box})
        *out++ = value;
}

std::vector<OpDef> non_max_suppression_ops() {
  return {OpDef{.name = "non_max_suppression",
                .min_inputs = 2,
                .max_inputs = 5,
                .operands = {{"boxes", DType::f32, 0, "B N 4"},
                             {"scores", DType::f32, 0, "B _ N"},
                             one_element("max_output_boxes_per_class", dtypes::counts),
                             one_element("iou_threshold", dtypes::floats),
                             one_element("score_threshold", dtypes::floats)},
                .attributes = {flag_attribute("center_point_box", false)},
                .infer = infer_non_max_suppression,
                .reference = run_non_max_suppression,
                .expand = {},
                .traits = {.pattern = Pattern::selection, .discontinuous = true}}};
}

} // namespace lanner::ops
