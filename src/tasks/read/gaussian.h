#pragma once
// Rotated boxes as Gaussians (ProbIoU, arXiv 2106.06072), as Ultralytics compares those of its networks.

#include <vector>

#include "tasks/read/overlap.h"

namespace lanner::tasks {

/// A box as the normal distribution with its centre, and the squares of its sides divided by 12 as variances.
struct Gaussian {
  double x = 0, y = 0;
  double across = 0, down = 0, mixed = 0; ///< Covariance: [[across, mixed], [mixed, down]].
};
Gaussian gaussian(const Turned& box);

/// 1 minus the Hellinger distance: 1 where they are equal, 0 where they have nothing in common.
double gaussian_overlap(const Gaussian& a, const Gaussian& b);

/// Boxes of one class, best first. A suppressed box also suppresses others.
class SeenGaussians {
public:
  explicit SeenGaussians(float threshold);
  /// Whether an earlier box overlaps it more than the threshold; adds the box.
  bool covers(const Turned& box);

private:
  double threshold_, furthest_;
  std::vector<Gaussian> boxes_;
};

} // namespace lanner::tasks
