#pragma once
// Boxes as non_max_suppression compares them: one text for its definition and for a GPU's kernel, whose
// results are equal bit by bit.

#include "image/cuda/host_device.h"

namespace lanner::ops {

/// Corners in order.
struct Box {
  float top, left, bottom, right;
};

/// Rounded, also where a compiler would make one operation of it and a sum.
LANNER_HOST_DEVICE inline float rounded_product(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

// As std::min and std::max, in what they make of NaN too.
LANNER_HOST_DEVICE inline float lesser(float a, float b) {
  return b < a ? b : a;
}
LANNER_HOST_DEVICE inline float greater(float a, float b) {
  return a < b ? b : a;
}

LANNER_HOST_DEVICE inline float area(const Box& box) {
  return rounded_product(greater(0.0F, box.bottom - box.top), greater(0.0F, box.right - box.left));
}

/// Of four numbers: two opposite corners, row first, or the centre, column first, with width and height.
LANNER_HOST_DEVICE inline Box read_box(const float* values, bool centered) {
  if (centered) {
    const float x = values[0], y = values[1], half_width = values[2] / 2, half_height = values[3] / 2;
    return {y - half_height, x - half_width, y + half_height, x + half_width};
  }
  return {lesser(values[0], values[2]), lesser(values[1], values[3]), greater(values[0], values[2]),
          greater(values[1], values[3])};
}

/// Intersection over union.
LANNER_HOST_DEVICE inline float overlap(const Box& a, const Box& b) {
  const Box common{greater(a.top, b.top), greater(a.left, b.left), lesser(a.bottom, b.bottom),
                   lesser(a.right, b.right)};
  const float shared = area(common), together = area(a) + area(b) - shared;
  return together <= 0 ? 0 : shared / together;
}

} // namespace lanner::ops
