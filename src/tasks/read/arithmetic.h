#pragma once
// Operations that are rounded one by one on a host and on a GPU, so that both give bit-identical results:
// compilers would fuse a product and a sum on a GPU.

#include "image/cuda/host_device.h"

namespace lanner::tasks {

LANNER_HOST_DEVICE inline float times(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
LANNER_HOST_DEVICE inline double times(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
/// Clamps to `low` and `high`.
LANNER_HOST_DEVICE inline float between(float low, float high, float share) {
  return low + times(share, high - low);
}
// As std::min and std::max.
template<typename T>
LANNER_HOST_DEVICE inline T lesser(T a, T b) {
  return b < a ? b : a;
}
template<typename T>
LANNER_HOST_DEVICE inline T greater(T a, T b) {
  return a < b ? b : a;
}

} // namespace lanner::tasks
