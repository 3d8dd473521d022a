// Accuracy of classification.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <lanner/classes.h>

#include "base/check.h"
#include "tasks/evaluation/measure.h"
#include "tasks/read/result_parts.h"

namespace lanner::tasks {
namespace {

constexpr std::size_t few = 5;

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole)
                   : std::numeric_limits<double>::quiet_NaN();
}

class ClassMeasure : public Measure {
public:
  explicit ClassMeasure(const Task& task) : task_(task) {}

  void add(const TaskResult& result, const GroundTruth& truth) override {
    const ResultParts parts = parts_of(result);
    check(parts.count > 0, ErrorCode::invalid_argument, "evaluation: the answer has no class");
    check(truth.label >= 0, ErrorCode::invalid_argument, "evaluation: the ground truth has no class");
    const std::span<const std::int64_t> top = parts.labels.first(std::min(few, parts.labels.size()));
    five_ = five_ && parts.labels.size() >= few;
    Class& one = classes_[truth.label];
    ++one.pictures;
    ++said_[top[0]];
    one.first += top[0] == truth.label;
    one.five += std::ranges::find(top, truth.label) != top.end();
    if (top[0] != truth.label) {
      ++one.taken[top[0]];
      wrong_.push_back({pictures_, parts.scores[0], 0});
      const auto place = std::ranges::find(parts.labels, truth.label);
      captions_[pictures_] = {truth.label, top[0],
                              place == parts.labels.end()
                                  ? -1
                                  : parts.scores[static_cast<std::size_t>(place - parts.labels.begin())],
                              parts.scores[0]};
    }
    ++pictures_;
  }

  void finish(Evaluation& evaluation, std::size_t worst) const override {
    Class all;
    double classes = 0;
    for (const auto& [number, one] : classes_) {
      all.pictures += one.pictures;
      all.first += one.first;
      all.five += one.five;
      classes += share(one.first, one.pictures);
      ClassEvaluation told{number, class_label(task_, number), one.pictures, {}, remark(one)};
      told.metrics.push_back({"top1", "top-1", share(one.first, one.pictures)});
      if (five_) told.metrics.push_back({"top5", "top-5", share(one.five, one.pictures)});
      const auto said = said_.find(number);
      told.metrics.push_back(
          {"precision", "precision", share(one.first, said == said_.end() ? 0 : said->second)});
      evaluation.classes.push_back(std::move(told));
    }
    const auto count = static_cast<std::int64_t>(classes_.size());
    evaluation.metrics.push_back({"top1", "top-1", share(all.first, all.pictures)});
    if (five_) evaluation.metrics.push_back({"top5", "top-5", share(all.five, all.pictures)});
    evaluation.metrics.push_back({"class_mean", "mean of classes' top-1",
                                  count > 0 ? classes / static_cast<double>(count) : share(0, 0)});
    for (const std::size_t number : worst_of(wrong_, worst)) {
      const Wrong& wrong = captions_.at(number);
      WorstImage picture;
      picture.picture = number;
      picture.score = wrong.score;
      picture.caption = fmt::format("is {}; said {} ({:.2f})", class_label(task_, wrong.truth),
                                    class_label(task_, wrong.said), wrong.score);
      if (wrong.own >= 0)
        picture.caption += fmt::format(", {} ({:.2f})", class_label(task_, wrong.truth), wrong.own);
      evaluation.worst.push_back(std::move(picture));
    }
  }

private:
  struct Class {
    std::int64_t pictures = 0, first = 0, five = 0;
    std::map<std::int64_t, std::int64_t> taken; ///< Wrong answers that were this class.
  };
  struct Wrong {
    std::int64_t truth = 0, said = 0;
    float own = 0, score = 0;
  };

  std::string remark(const Class& one) const {
    const auto most = std::ranges::max_element(one.taken, {}, [](const auto& entry) { return entry.second; });
    return most == one.taken.end()
               ? std::string()
               : fmt::format("taken for {} ({})", class_label(task_, most->first), most->second);
  }

  const Task task_;
  std::map<std::int64_t, Class> classes_;
  std::map<std::int64_t, std::int64_t> said_;
  std::vector<Badness> wrong_;
  std::map<std::size_t, Wrong> captions_;
  std::size_t pictures_ = 0;
  bool five_ = true; ///< Every answer has five classes.
};

} // namespace

std::unique_ptr<Measure> measure_classes(const Task& task) {
  return std::make_unique<ClassMeasure>(task);
}

} // namespace lanner::tasks
