#pragma once
// The parts of CUDA's header of this name that the project's kernels use, for a host's compiler.

#include "tensor/float16.h"

struct __half {
  unsigned short bits;
};
inline float __half2float(__half x) {
  return lanner::half_to_float(x.bits);
}
inline __half __float2half_rn(float x) {
  return {lanner::float_to_half(x)};
}
