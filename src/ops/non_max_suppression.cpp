#include <algorithm>
#include <limits>

#include "base/check.h"
#include "ops/arguments.h"
#include "ops/box_overlap.h"
#include "ops/suppression.h"
#include "ops/table.h"

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

Thresholds thresholds_of(std::span<const Tensor> inputs) {
  const auto given = [&](std::size_t i) { return i < inputs.size() && inputs[i].defined(); };
  const auto real = [&](std::size_t i, float fallback) {
    return given(i) ? static_cast<float>(read_real(inputs[i], "threshold")) : fallback;
  };
  const std::int64_t most = given(2) ? read_integer(inputs[2], "max_output_boxes_per_class") : 0;
  return {std::max<std::int64_t>(most, 0), real(3, 0), real(4, -std::numeric_limits<float>::infinity())};
}

/// Numbers of the boxes kept of one class, best first.
static std::vector<std::int64_t> select_boxes(std::span<const Box> boxes, std::span<const float> scores,
                                              const Thresholds& limit) {
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (scores[i] >= limit.score) order.push_back(static_cast<std::int64_t>(i));
  const auto score = [&](std::int64_t i) { return scores[static_cast<std::size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return score(a) > score(b); });
  std::vector<std::int64_t> kept;
  for (const std::int64_t candidate : order) {
    if (static_cast<std::int64_t>(kept.size()) >= limit.most) break;
    const Box& box = boxes[static_cast<std::size_t>(candidate)];
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](std::int64_t other) {
      return overlap(box, boxes[static_cast<std::size_t>(other)]) > limit.overlap;
    });
    if (!covered) kept.push_back(candidate);
  }
  return kept;
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
  std::vector<std::int64_t> selected;
  for (std::int64_t n = 0; n < boxes.shape()[0]; ++n) {
    std::vector<Box> read;
    for (std::int64_t i = 0; i < count; ++i)
      read.push_back(read_box(boxes.as<float>().data() + (n * count + i) * 4, centered));
    for (std::int64_t c = 0; c < classes; ++c) {
      const auto first = static_cast<std::size_t>((n * classes + c) * count);
      const auto line = scores.as<float>().subspan(first, static_cast<std::size_t>(count));
      for (const std::int64_t box : select_boxes(read, line, limit))
        selected.insert(selected.end(), {n, c, box});
    }
  }
  Tensor& y = context.allocate(0, DType::i64, {static_cast<std::int64_t>(selected.size() / 3), 3});
  std::copy(selected.begin(), selected.end(), y.as<std::int64_t>().begin());
}

std::vector<OpDef> non_max_suppression_ops() {
  return {OpDef{.name = "non_max_suppression",
                .min_inputs = 2,
                .max_inputs = 5,
                .attributes = {integer_attribute("center_point_box", 0)},
                .infer = infer_non_max_suppression,
                .reference = run_non_max_suppression,
                .expand = {}}};
}

} // namespace lanner::ops
