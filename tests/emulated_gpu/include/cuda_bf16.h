#pragma once
// The parts of CUDA's header of this name that the project's kernels use, for a host's compiler.

#include "tensor/float16.h"

struct __nv_bfloat16 {
  unsigned short bits;
};
inline float __bfloat162float(__nv_bfloat16 x) {
  return lanner::bfloat16_to_float(x.bits);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  return {lanner::float_to_bfloat16(x)};
}
