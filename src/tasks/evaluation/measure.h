#pragma once
// The measures of each kind of task.

#include <memory>
#include <string>
#include <vector>

#include <lanner/evaluation.h>

namespace lanner::tasks {

/// Accumulates the measures of one kind of task, image by image.
class Measure {
public:
  virtual ~Measure() = default;
  /// The result must be of this kind.
  virtual void add(const TaskResult& result, const GroundTruth& truth) = 0;
  /// Fills in metrics and classes, and number, score and caption of the `worst` images.
  virtual void finish(Evaluation& evaluation, std::size_t worst) const = 0;
};

std::unique_ptr<Measure> measure_classes(const Task& task);
std::unique_ptr<Measure> measure_boxes(const Task& task); ///< detect, segment, pose, obb.
std::unique_ptr<Measure> measure_pixels(const Task& task);

/// Badness of an answer.
struct Badness {
  std::size_t picture = 0;
  double first = 0, second = 0; ///< Greater is worse; the second decides ties of the first.
};
/// Indices of the worst, the worst first; equal ones in order.
std::vector<std::size_t> worst_of(std::vector<Badness> all, std::size_t count);

} // namespace lanner::tasks
