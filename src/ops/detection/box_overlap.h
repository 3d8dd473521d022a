#pragma once
// Box overlap of non_max_suppression: shared by its definition and a GPU's kernel, whose results are
// bit-identical.

#include "image/cuda/host_device.h"

namespace lanner::ops {

/// Ordered corners; of one box, or of as many as a compiler vector holds.
template<typename Real>
struct Boxes {
  Real top, left, bottom, right;
};
using Box = Boxes<float>;

/// A rounded product, also where a compiler would fuse it with a sum.
template<typename Real>
LANNER_HOST_DEVICE inline Real rounded_product(const Real& a, const Real& b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

// Like std::min and std::max, for NaN too.
template<typename Real>
LANNER_HOST_DEVICE inline Real lesser(const Real& a, const Real& b) {
  return b < a ? b : a;
}
template<typename Real>
LANNER_HOST_DEVICE inline Real greater(const Real& a, const Real& b) {
  return a < b ? b : a;
}

template<typename Real>
LANNER_HOST_DEVICE inline Real area(const Boxes<Real>& box) {
  return rounded_product(greater(Real{}, box.bottom - box.top), greater(Real{}, box.right - box.left));
}

/// From four numbers: two opposite corners, row first, or the centre, column first, with width and height.
LANNER_HOST_DEVICE inline Box read_box(const float* values, bool centered) {
  if (centered) {
    const float x = values[0], y = values[1], half_width = values[2] / 2, half_height = values[3] / 2;
    return {y - half_height, x - half_width, y + half_height, x + half_width};
  }
  return {lesser(values[0], values[2]), lesser(values[1], values[3]), greater(values[0], values[2]),
          greater(values[1], values[3])};
}

/// Intersection over union, from boxes and their areas.
template<typename Real>
LANNER_HOST_DEVICE inline Real overlap(const Boxes<Real>& a, const Real& area_a, const Boxes<Real>& b,
                                       const Real& area_b) {
  const Boxes<Real> common{greater(a.top, b.top), greater(a.left, b.left), lesser(a.bottom, b.bottom),
                           lesser(a.right, b.right)};
  const Real shared = area(common), together = area_a + area_b - shared, ratio = shared / together;
  return together <= Real{} ? Real{} : ratio;
}
LANNER_HOST_DEVICE inline float overlap(const Box& a, const Box& b) {
  return overlap(a, area(a), b, area(b));
}

} // namespace lanner::ops
