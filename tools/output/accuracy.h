#pragma once
// Accuracy of a detector, from the files of answers and ground truth.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lanner::tool {

/// Matches boxes frame by frame, best overlap first, each box once, down to an IoU of 0.5.
struct Accuracy {
  struct Class {
    std::string label;
    std::int64_t drawn = 0, found = 0;
    double overlap = 0;             ///< Sum of the matches' IoU.
    std::vector<std::int64_t> said; ///< Of the matches, by the answered class.
  };
  std::int64_t frames = 0, detections = 0;
  std::vector<Class> classes;
  double ap = 0,
         ap50 = 0; ///< COCO's mean average precision of the answers in the file; NaN without objects.
  std::array<std::int64_t, 20> histogram{}; ///< Of the matches' IoU, in steps of 0.05.

  std::int64_t objects() const;
  std::int64_t found() const;
  double mean_iou() const;       ///< Over all true boxes; an unmatched one counts 0.
  double class_accuracy() const; ///< Share of the matches with the right class.
  double recall() const;
  double precision() const;
};

/// Reads both files; each holds one JSON object a line. Throws Error{bad_data} with file and line.
Accuracy measure_accuracy(const std::string& answers, const std::string& truth);

} // namespace lanner::tool
