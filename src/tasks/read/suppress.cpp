#include "tasks/read/suppress.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include <lanner/task.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "tasks/cuda/suppress.h"
#include "tasks/cuda/work_queue.h"
#include "tasks/read/gaussian.h"

namespace lanner::tasks {
namespace {

/// Remaining boxes of one class, stored so that a loop compares several at once.
class KeptUpright {
public:
  explicit KeptUpright(float threshold) : threshold_(threshold) {}
  /// Whether an earlier box overlaps it more than the threshold; otherwise adds it.
  bool covers(const Edges& box) {
    if (covers(box, threshold_)) return true;
    add(box);
    return false;
  }

private:
  /// A loop without early exit, over blocks, vectorises.
  bool covers(const Edges& box, float threshold) const {
    constexpr std::size_t block = 64;
    const float own = area(box);
    for (std::size_t from = 0; from < areas_.size(); from += block) {
      const std::size_t to = std::min(areas_.size(), from + block);
      int any = 0;
#pragma omp simd reduction(| : any)
      for (std::size_t i = from; i < to; ++i) {
        const float width = std::min(right_[i], box[2]) - std::max(left_[i], box[0]);
        const float height = std::min(bottom_[i], box[3]) - std::max(top_[i], box[1]);
        const float shared = (width > 0 ? width : 0) * (height > 0 ? height : 0);
        any |= shared > threshold * (own + areas_[i] - shared) ? 1 : 0;
      }
      if (any) return true;
    }
    return false;
  }
  void add(const Edges& box) {
    left_.push_back(box[0]);
    top_.push_back(box[1]);
    right_.push_back(box[2]);
    bottom_.push_back(box[3]);
    areas_.push_back(area(box));
  }

  float threshold_;
  std::vector<float> left_, top_, right_, bottom_, areas_;
};

class KeptTurned {
public:
  explicit KeptTurned(float threshold) : threshold_(threshold) {}
  bool covers(const Turned& box) {
    const RotatedBox own = rotated_box(box);
    const bool covered = std::ranges::any_of(
        boxes_, [&](const RotatedBox& other) { return overlap_of(other, own) > threshold_; });
    if (!covered) boxes_.push_back(own);
    return covered;
  }

private:
  float threshold_;
  std::vector<RotatedBox> boxes_;
};

template<typename Kept, typename Box>
std::vector<std::int64_t> suppressed_of(const Suppression& given, std::span<const Box> boxes) {
  constexpr std::size_t often = 256;
  std::unordered_map<std::int64_t, Kept> kept;
  std::vector<std::int64_t> result;
  std::size_t seen = 0;
  for (const std::int64_t i : by_score(given.scores)) {
    if (++seen % often == 0) check_deadline();
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t label = given.labels.empty() ? 0 : given.labels[at];
    if (kept.try_emplace(label, given.iou_threshold).first->second.covers(boxes[at])) continue;
    result.push_back(i);
    if (given.most > 0 && static_cast<std::int64_t>(result.size()) == given.most) break;
  }
  return result;
}

} // namespace

std::vector<std::int64_t> by_score(std::span<const float> scores) {
  std::vector<std::int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::int64_t i) { return scores[static_cast<std::size_t>(i)]; });
  return order;
}

std::vector<std::int64_t> suppressed(const Suppression& given) {
  if (!given.upright.empty()) return suppressed_of<KeptUpright>(given, given.upright);
  return given.gaussian ? suppressed_of<SeenGaussians>(given, given.turned)
                        : suppressed_of<KeptTurned>(given, given.turned);
}

} // namespace lanner::tasks

namespace lanner {
namespace {

void check_type(const Tensor& tensor, DType type, std::string_view what) {
  check(tensor.dtype() == type, ErrorCode::invalid_argument, "suppress_boxes: {} are {}{}, expected {}", what,
        to_string(tensor.dtype()), tensor.shape().to_string(), to_string(type));
}

Tensor on_host(const Tensor& tensor) {
  if (!tensor.layout().row_major()) return tensor.clone();
  return tensor.device().is_host() ? tensor : tasks::cuda::fetched(tensor);
}

/// Whether a GPU compares the boxes: where all are on it, and comparing takes longer than a copy.
bool compared_there(const Tensor& boxes, const Tensor& scores, const Tensor& labels) {
  constexpr std::int64_t least = 512;
  const auto lies = [&](const Tensor& tensor) {
    return tensor.device() == boxes.device() && tensor.layout().row_major();
  };
  return !boxes.device().is_host() && lies(boxes) && lies(scores) && (!labels.defined() || lies(labels)) &&
         boxes.shape()[0] >= least && boxes.shape()[0] <= tasks::cuda::most_sorted &&
         tasks::cuda::has_kernels();
}

} // namespace

std::vector<std::int64_t> suppress_boxes(const Tensor& boxes, const Tensor& scores, const Tensor& labels,
                                         float iou_threshold, std::int64_t max_kept) {
  const bool turned = boxes.rank() == 2 && boxes.shape()[1] == 5;
  check(boxes.rank() == 2 && (turned || boxes.shape()[1] == 4), ErrorCode::invalid_argument,
        "suppress_boxes: boxes are {}{}, expected f32[K, 4] or f32[K, 5]", to_string(boxes.dtype()),
        boxes.shape().to_string());
  const std::int64_t count = boxes.shape()[0];
  check(scores.shape() == Shape{count} && (!labels.defined() || labels.shape() == Shape{count}),
        ErrorCode::invalid_argument, "suppress_boxes: got {} boxes, but scores are {} and labels {}", count,
        scores.shape().to_string(), labels.shape().to_string());
  check(iou_threshold >= 0 && iou_threshold <= 1 && max_kept >= 0, ErrorCode::invalid_argument,
        "suppress_boxes: iou_threshold is {} and max_kept {}, expected 0 to 1 and 0 or more", iou_threshold,
        max_kept);
  check_type(boxes, DType::f32, "boxes");
  check_type(scores, DType::f32, "scores");
  if (labels.defined()) check_type(labels, DType::i64, "labels");
  if (compared_there(boxes, scores, labels))
    return tasks::cuda::suppressed_there(boxes, scores, labels, iou_threshold, max_kept);
  const Tensor host_boxes = on_host(boxes), host_scores = on_host(scores);
  const Tensor host_labels = labels.defined() ? on_host(labels) : Tensor();
  const auto numbers = host_boxes.as<float>();
  const auto finite = [](float value) { return std::isfinite(value); };
  check(std::ranges::all_of(numbers, finite) && std::ranges::all_of(host_scores.as<float>(), finite),
        ErrorCode::bad_data, "suppress_boxes: a box or a score is not finite");
  std::vector<tasks::Edges> upright(turned ? 0 : static_cast<std::size_t>(count));
  std::vector<tasks::Turned> rotated(turned ? static_cast<std::size_t>(count) : 0);
  for (std::size_t i = 0; i < upright.size(); ++i) {
    const float* box = numbers.data() + i * 4;
    upright[i] = {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]),
                  std::max(box[1], box[3])};
  }
  for (std::size_t i = 0; i < rotated.size(); ++i) std::copy_n(numbers.data() + i * 5, 5, rotated[i].begin());
  return tasks::suppressed(
      {upright, rotated, host_scores.as<float>(),
       labels.defined() ? host_labels.as<std::int64_t>() : std::span<const std::int64_t>(), iou_threshold,
       max_kept});
}

} // namespace lanner
