#pragma once
// What each kind of task measures.

#include <memory>
#include <string>
#include <vector>

#include <lanner/evaluation.h>

namespace lanner::tasks {

/// The measures of one kind of task, added up picture by picture.
class Measure {
public:
  virtual ~Measure() = default;
  /// The result is of the kind.
  virtual void add(const TaskResult& result, const GroundTruth& truth) = 0;
  /// Fills in metrics and classes, and of the `worst` pictures number, score and caption.
  virtual void finish(Evaluation& evaluation, std::size_t worst) const = 0;
};

std::unique_ptr<Measure> measure_classes(const Task& task);
std::unique_ptr<Measure> measure_boxes(const Task& task); ///< detect, segment, pose, obb.
std::unique_ptr<Measure> measure_pixels(const Task& task);

/// How bad an answer is.
struct Badness {
  std::size_t picture = 0;
  double first = 0, second = 0; ///< The greater the worse; the second decides where the first is equal.
};
/// Numbers of the worst, the worst first; of equal ones the first.
std::vector<std::size_t> worst_of(std::vector<Badness> all, std::size_t count);

} // namespace lanner::tasks
