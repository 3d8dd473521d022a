#pragma once
// Turned boxes as Gaussians (ProbIoU, arXiv 2106.06072): how Ultralytics compares those of its networks.

#include <vector>

#include "tasks/read/overlap.h"

namespace lanner::tasks {

/// A box as the normal distribution with its centre, and its sides' squares by 12 as variances.
struct Gaussian {
  double x = 0, y = 0;
  double across = 0, down = 0, mixed = 0; ///< Covariance: [[across, mixed], [mixed, down]].
};
Gaussian gaussian(const Turned& box);

/// One less Hellinger's distance of the two: 1 where they are equal, 0 where they have nothing in common.
double gaussian_overlap(const Gaussian& a, const Gaussian& b);

/// Boxes of one class that were seen, best first. One that was suppressed suppresses too.
class SeenGaussians {
public:
  explicit SeenGaussians(float threshold);
  /// Whether one of them overlaps more than the threshold; the box is one of them from then on.
  bool covers(const Turned& box);

private:
  double threshold_, furthest_;
  std::vector<Gaussian> boxes_;
};

} // namespace lanner::tasks
