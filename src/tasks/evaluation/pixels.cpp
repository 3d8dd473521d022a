// Accuracy of semantic segmentation.

#include <algorithm>

#include <fmt/format.h>

#include <lanner/classes.h>

#include "base/check.h"
#include "tasks/evaluation/measure.h"
#include "tasks/read/result_parts.h"

namespace lanner::tasks {
namespace {

constexpr std::int64_t most_pixel_classes = 1 << 16;

struct Counts {
  std::int64_t truth = 0, said = 0, right = 0; ///< Pixels.

  bool seen() const { return truth + said > 0; }
  double iou() const {
    return seen() ? static_cast<double>(right) / static_cast<double>(truth + said - right)
                  : std::numeric_limits<double>::quiet_NaN();
  }
};

/// Over classes in the ground truth or the answer.
double mean_iou(const std::vector<Counts>& classes) {
  double sum = 0, count = 0;
  for (const Counts& one : classes)
    if (one.seen()) sum += one.iou(), count += 1;
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

Counts sum_of(const std::vector<Counts>& classes) {
  Counts all;
  for (const Counts& one : classes) all.truth += one.truth, all.said += one.said, all.right += one.right;
  return all;
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole)
                   : std::numeric_limits<double>::quiet_NaN();
}

class PixelMeasure : public Measure {
public:
  explicit PixelMeasure(const Task& task) : task_(task) {}

  void add(const TaskResult& result, const GroundTruth& truth) override {
    const auto said = elements_of<std::int32_t>(result.classes, {result.height, result.width}, "classes");
    const auto known =
        elements_of<std::int32_t>(truth.classes, {result.height, result.width}, "the ground truth's classes");
    const auto [least, most] = std::ranges::minmax(known);
    const std::int64_t count =
        std::max<std::int64_t>(std::max(most, *std::ranges::max_element(said)) + std::int64_t{1}, 1);
    check(least >= -1 && count <= most_pixel_classes, ErrorCode::invalid_argument,
          "evaluation: a pixel is of class {}, expected less than {}", least < -1 ? least : count - 1,
          most_pixel_classes);
    std::vector<Counts> picture(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i] < 0) continue;
      ++picture[static_cast<std::size_t>(known[i])].truth;
      if (said[i] >= 0) ++picture[static_cast<std::size_t>(said[i])].said;
      picture[static_cast<std::size_t>(known[i])].right += known[i] == said[i];
    }
    if (classes_.size() < picture.size()) classes_.resize(picture.size());
    for (std::size_t k = 0; k < picture.size(); ++k) {
      classes_[k].truth += picture[k].truth;
      classes_[k].said += picture[k].said;
      classes_[k].right += picture[k].right;
    }
    const Counts all = sum_of(picture);
    const double iou = mean_iou(picture);
    if (all.truth > 0) bad_.push_back({pictures_, -iou, -share(all.right, all.truth)});
    ++pictures_;
  }

  void finish(Evaluation& evaluation, std::size_t worst) const override {
    double accuracy = 0, count = 0;
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      const Counts& one = classes_[k];
      if (!one.seen()) continue;
      if (one.truth > 0) accuracy += share(one.right, one.truth), count += 1;
      evaluation.classes.push_back({static_cast<std::int64_t>(k),
                                    class_label(task_, static_cast<std::int64_t>(k)),
                                    one.truth,
                                    {{"iou", "IoU", one.iou()},
                                     {"accuracy", "accuracy", share(one.right, one.truth)},
                                     {"precision", "precision", share(one.right, one.said)}},
                                    {}});
    }
    const Counts all = sum_of(classes_);
    evaluation.metrics.push_back({"miou", "mIoU", mean_iou(classes_)});
    evaluation.metrics.push_back({"pixel_accuracy", "pixel accuracy", share(all.right, all.truth)});
    evaluation.metrics.push_back(
        {"class_accuracy", "mean of classes' accuracy", count > 0 ? accuracy / count : share(0, 0)});
    for (const std::size_t number : worst_of(bad_, worst)) {
      const Badness& bad = *std::ranges::find(bad_, number, &Badness::picture);
      WorstImage picture;
      picture.picture = number;
      picture.score = -bad.first;
      picture.caption =
          fmt::format("mIoU {:.3f}, {:.1f} % of its pixels are right", -bad.first, -bad.second * 100);
      evaluation.worst.push_back(std::move(picture));
    }
  }

private:
  const Task task_;
  std::vector<Counts> classes_;
  std::vector<Badness> bad_;
  std::size_t pictures_ = 0;
};

} // namespace

std::unique_ptr<Measure> measure_pixels(const Task& task) {
  return std::make_unique<PixelMeasure>(task);
}

} // namespace lanner::tasks
