#pragma once
// Average precision of detections as COCO defines it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <vector>

namespace lanner::tasks {

inline constexpr std::size_t iou_steps = 10;  ///< Of 0.50 to 0.95.
inline constexpr std::size_t area_ranges = 4; ///< All, small, medium, large.
inline constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

struct TrueObject {
  std::int64_t label = 0;
  double area = 0;
  bool crowd = false;   ///< May match any number of answers.
  bool ignored = false; ///< Counts neither as found nor as missed; always set for crowds.
};
struct FoundObject {
  std::int64_t label = 0;
  double score = 0, area = 0;
};
/// Overlap of answer `found` with object `truth` of one picture, 0 to 1.
using Overlap = std::function<double(std::size_t found, std::size_t truth)>;

struct ClassPrecision {
  std::int64_t label = 0, objects = 0;
  double ap = not_measured, ap50 = not_measured, precision = not_measured, recall = not_measured;
};
struct PictureCounts {
  std::int64_t objects = 0, right = 0, wrong = 0;
  std::int64_t missed() const { return objects - right; }
  double f1() const;
};
/// NaN where there was nothing to measure.
struct PrecisionSummary {
  double ap = not_measured, ap50 = not_measured, ap75 = not_measured;
  std::array<double, area_ranges> ap_by_area, ar_by_area; ///< All again, small, medium, large objects.
  std::vector<double> ar_by_most;                         ///< For each limit on the number of answers.
  /// The score with the best mean F1 over classes at an overlap of 0.5, and the figures there.
  double threshold = 0, f1 = not_measured, precision = not_measured, recall = not_measured;
  std::int64_t objects = 0;
  std::vector<ClassPrecision> classes; ///< Classes with objects.
};

/// Matches answers with objects picture by picture and class by class: best score first, each with the
/// remaining object that it overlaps most.
class AveragePrecision {
public:
  /// `most`: limits on answers per class and picture, ascending; all but the last are only for recall. With
  /// or without figures for small objects.
  AveragePrecision(std::vector<std::size_t> most, bool small) : most_(std::move(most)), small_(small) {}

  void add(std::span<const FoundObject> found, std::span<const TrueObject> objects, const Overlap& overlap);
  PrecisionSummary summary() const;
  /// At an overlap of 0.5, for answers with a score of at least `threshold`.
  std::vector<PictureCounts> pictures(double threshold) const;

private:
  struct Found {
    double score = 0;
    std::uint32_t picture = 0, rank = 0;
    std::array<std::uint16_t, area_ranges> matched{}, ignored{}; ///< One bit for each overlap threshold.
  };
  struct Class {
    std::vector<Found> found;
    std::array<std::int64_t, area_ranges> objects{};
  };
  struct Picture;
  void match(const Picture& picture, std::size_t area, std::span<Found> into) const;
  double precision_of(const Class& one, const std::vector<std::uint32_t>& order, std::size_t area,
                      std::size_t step) const;
  double recall_of(const Class& one, std::size_t area, std::size_t step, std::size_t most) const;
  double recall(std::size_t area, std::size_t most) const;
  void find_threshold(PrecisionSummary& summary) const;
  void tell_classes_at(PrecisionSummary& summary) const;

  const std::vector<std::size_t> most_;
  const bool small_;
  std::map<std::int64_t, Class> classes_;
  std::vector<std::uint32_t> objects_; ///< Counted objects of each picture.
};

} // namespace lanner::tasks
