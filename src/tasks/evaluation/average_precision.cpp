#include "tasks/evaluation/average_precision.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace lanner::tasks {
namespace {

constexpr std::size_t recall_steps = 101;
constexpr double least_overlap = 0.5, most_overlap = 0.95;
constexpr double tiny = std::numeric_limits<double>::epsilon();

struct AreaRange {
  double least, most;
};
constexpr AreaRange areas[area_ranges] = {{0, 1e10}, {0, 32. * 32}, {32. * 32, 96. * 96}, {96. * 96, 1e10}};
constexpr std::size_t all = 0, small = 1;

/// Evenly spaced, computed like NumPy's linspace, so that an overlap of exactly 0.75 is treated alike.
double step_overlap(std::size_t step) {
  return step + 1 == iou_steps
             ? most_overlap
             : static_cast<double>(step) * ((most_overlap - least_overlap) / (iou_steps - 1)) + least_overlap;
}
double step_recall(std::size_t step) {
  return step + 1 == recall_steps ? 1. : static_cast<double>(step) * (1. / (recall_steps - 1));
}

bool outside(double area, std::size_t range) {
  return area < areas[range].least || area > areas[range].most;
}

/// Mean without NaN.
class Mean {
public:
  void add(double value) {
    if (std::isnan(value)) return;
    sum_ += value;
    ++count_;
  }
  double value() const { return count_ > 0 ? sum_ / count_ : not_measured; }

private:
  double sum_ = 0, count_ = 0;
};

double f1_of(double right, double wrong, double objects) {
  const double whole = right + wrong + objects; // 2 * right + wrong + missed.
  return whole > 0 ? 2 * right / whole : 1;
}

} // namespace

double PictureCounts::f1() const {
  return f1_of(static_cast<double>(right), static_cast<double>(wrong), static_cast<double>(objects));
}

/// One class in one picture.
struct AveragePrecision::Picture {
  std::vector<std::size_t> found, objects; ///< Answers by descending score.
  std::vector<double> overlaps;            ///< Overlap of each answer with each object.
  std::span<const FoundObject> all_found;
  std::span<const TrueObject> all_objects;
};

// An answer matches the object with the greatest overlap; counted objects before ignored ones, and of equal
// overlaps the last. That is COCO's order, which decides ties.
void AveragePrecision::match(const Picture& picture, std::size_t area, std::span<Found> into) const {
  const std::size_t count = picture.objects.size();
  std::vector<bool> ignored(count);
  for (std::size_t g = 0; g < count; ++g) {
    const TrueObject& object = picture.all_objects[picture.objects[g]];
    ignored[g] = object.ignored || object.crowd || outside(object.area, area);
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](std::size_t g) { return !ignored[g]; });
  std::vector<bool> taken;
  for (std::size_t step = 0; step < iou_steps; ++step) {
    taken.assign(count, false);
    const auto bit = static_cast<std::uint16_t>(1u << step);
    for (std::size_t d = 0; d < into.size(); ++d) {
      double best = std::min(step_overlap(step), 1 - 1e-10);
      std::size_t match = count;
      for (const std::size_t g : order) {
        if (taken[g] && !picture.all_objects[picture.objects[g]].crowd) continue;
        if (match < count && !ignored[match] && ignored[g]) break;
        const double overlap = picture.overlaps[d * count + g];
        if (overlap < best) continue;
        best = overlap;
        match = g;
      }
      const bool found = match < count;
      if (found) taken[match] = true;
      if (found) into[d].matched[area] |= bit;
      if (found ? ignored[match] : outside(picture.all_found[picture.found[d]].area, area))
        into[d].ignored[area] |= bit;
    }
  }
}

void AveragePrecision::add(std::span<const FoundObject> found, std::span<const TrueObject> objects,
                           const Overlap& overlap) {
  check(objects_.size() < std::numeric_limits<std::uint32_t>::max(), ErrorCode::limit_exceeded,
        "evaluation: too many pictures");
  const auto number = static_cast<std::uint32_t>(objects_.size());
  objects_.push_back(0);
  std::map<std::int64_t, Picture> classes;
  for (std::size_t d = 0; d < found.size(); ++d) classes[found[d].label].found.push_back(d);
  for (std::size_t g = 0; g < objects.size(); ++g) classes[objects[g].label].objects.push_back(g);
  for (auto& [label, picture] : classes) {
    picture.all_found = found;
    picture.all_objects = objects;
    std::ranges::stable_sort(picture.found, std::ranges::greater{},
                             [&](std::size_t d) { return found[d].score; });
    if (picture.found.size() > most_.back()) picture.found.resize(most_.back());
    for (const std::size_t d : picture.found)
      for (const std::size_t g : picture.objects) picture.overlaps.push_back(overlap(d, g));
    Class& one = classes_[label];
    for (const std::size_t g : picture.objects) {
      const TrueObject& object = objects[g];
      if (object.ignored || object.crowd) continue;
      for (std::size_t area = 0; area < area_ranges; ++area) one.objects[area] += !outside(object.area, area);
      ++objects_.back();
    }
    const std::size_t before = one.found.size();
    for (std::size_t rank = 0; rank < picture.found.size(); ++rank)
      one.found.push_back(
          {found[picture.found[rank]].score, number, static_cast<std::uint32_t>(rank), {}, {}});
    for (std::size_t area = 0; area < area_ranges; ++area)
      match(picture, area, std::span(one.found).subspan(before));
  }
}

double AveragePrecision::precision_of(const Class& one, const std::vector<std::uint32_t>& order,
                                      std::size_t area, std::size_t step) const {
  const auto objects = static_cast<double>(one.objects[area]);
  if (objects == 0) return not_measured;
  std::vector<double> precision, recall;
  double right = 0, wrong = 0;
  for (const std::uint32_t i : order) {
    const Found& found = one.found[i];
    const bool ignored = (found.ignored[area] >> step & 1) != 0;
    const bool matched = (found.matched[area] >> step & 1) != 0;
    right += matched && !ignored;
    wrong += !matched && !ignored;
    recall.push_back(right / objects);
    precision.push_back(right / (right + wrong + tiny));
  }
  for (std::size_t i = precision.size(); i-- > 1;)
    precision[i - 1] = std::max(precision[i - 1], precision[i]);
  double sum = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < recall_steps; ++i) {
    while (at < recall.size() && recall[at] < step_recall(i)) ++at;
    if (at == recall.size()) break;
    sum += precision[at];
  }
  return sum / recall_steps;
}

double AveragePrecision::recall_of(const Class& one, std::size_t area, std::size_t step,
                                   std::size_t most) const {
  if (one.objects[area] == 0) return not_measured;
  std::int64_t right = 0;
  for (const Found& found : one.found)
    right +=
        found.rank < most && (found.matched[area] >> step & 1) != 0 && (found.ignored[area] >> step & 1) == 0;
  return static_cast<double>(right) / static_cast<double>(one.objects[area]);
}

double AveragePrecision::recall(std::size_t area, std::size_t most) const {
  Mean mean;
  for (const auto& [label, one] : classes_)
    for (std::size_t step = 0; step < iou_steps; ++step) mean.add(recall_of(one, area, step, most));
  return mean.value();
}

PrecisionSummary AveragePrecision::summary() const {
  PrecisionSummary summary;
  std::array<std::array<Mean, iou_steps>, area_ranges> means;
  std::array<Mean, area_ranges> whole;
  for (const auto& entry : classes_) {
    const auto& one = entry.second;
    std::vector<std::uint32_t> order(one.found.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::uint32_t i) { return one.found[i].score; });
    Mean own;
    ClassPrecision told{entry.first, one.objects[all]};
    for (std::size_t area = 0; area < area_ranges; ++area)
      for (std::size_t step = 0; step < iou_steps; ++step) {
        const double precision = precision_of(one, order, area, step);
        means[area][step].add(precision);
        whole[area].add(precision);
        if (area == all) own.add(precision);
        if (area == all && step == 0) told.ap50 = precision;
      }
    told.ap = own.value();
    summary.objects += told.objects;
    if (told.objects > 0) summary.classes.push_back(told);
  }
  summary.ap = whole[all].value();
  summary.ap50 = means[all][0].value();
  summary.ap75 = means[all][5].value();
  for (std::size_t area = 0; area < area_ranges; ++area) {
    const bool told = area != small || small_;
    summary.ap_by_area[area] = told ? whole[area].value() : not_measured;
    summary.ar_by_area[area] = told ? recall(area, most_.back()) : not_measured;
  }
  for (const std::size_t most : most_) summary.ar_by_most.push_back(recall(all, most));
  find_threshold(summary);
  tell_classes_at(summary);
  return summary;
}

// Descending through the scores of all classes: each score changes only the F1 of its own class.
void AveragePrecision::find_threshold(PrecisionSummary& summary) const {
  struct Step {
    double score;
    std::size_t place;
    bool right;
  };
  struct Counts {
    double right = 0, wrong = 0, objects = 0;
    double f1() const { return f1_of(right, wrong, objects); }
  };
  std::vector<Step> steps;
  std::vector<Counts> counts;
  for (const auto& [label, one] : classes_) {
    if (one.objects[all] == 0) continue;
    for (const Found& found : one.found)
      if ((found.ignored[all] & 1) == 0)
        steps.push_back({found.score, counts.size(), (found.matched[all] & 1) != 0});
    counts.push_back({0, 0, static_cast<double>(one.objects[all])});
  }
  if (counts.empty()) return;
  std::ranges::stable_sort(steps, std::ranges::greater{}, &Step::score);
  double sum = 0, best = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Counts& one = counts[steps[i].place];
    sum -= one.f1();
    (steps[i].right ? one.right : one.wrong) += 1;
    sum += one.f1();
    const bool last = i + 1 == steps.size() || steps[i + 1].score != steps[i].score;
    if (!last || sum <= best + 1e-12) continue; // Sums have rounding errors; of equal ones the highest score.
    best = sum;
    summary.threshold = steps[i].score;
  }
}

void AveragePrecision::tell_classes_at(PrecisionSummary& summary) const {
  Mean precision, recall, f1;
  for (ClassPrecision& told : summary.classes) {
    double right = 0, wrong = 0;
    for (const Found& found : classes_.at(told.label).found) {
      if (found.score < summary.threshold || (found.ignored[all] & 1) != 0) continue;
      ((found.matched[all] & 1) != 0 ? right : wrong) += 1;
    }
    told.precision = right + wrong > 0 ? right / (right + wrong) : 0;
    told.recall = right / static_cast<double>(told.objects);
    precision.add(told.precision);
    recall.add(told.recall);
    f1.add(f1_of(right, wrong, static_cast<double>(told.objects)));
  }
  summary.precision = precision.value();
  summary.recall = recall.value();
  summary.f1 = f1.value();
}

std::vector<PictureCounts> AveragePrecision::pictures(double threshold) const {
  std::vector<PictureCounts> counts(objects_.size());
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i].objects = objects_[i];
  for (const auto& [label, one] : classes_) {
    if (one.objects[all] == 0) continue; // For a class without ground truth.
    for (const Found& found : one.found) {
      if (found.score < threshold || (found.ignored[all] & 1) != 0) continue;
      PictureCounts& picture = counts[found.picture];
      ++((found.matched[all] & 1) != 0 ? picture.right : picture.wrong);
    }
  }
  return counts;
}

} // namespace lanner::tasks
