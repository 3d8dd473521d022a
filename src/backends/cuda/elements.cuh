#pragma once
// Elements of tensors in device code: loaded as floats, stored with one rounding.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace lanner::cuda {

__device__ inline float load(const float* p) {
  return *p;
}
__device__ inline float load(const __half* p) {
  return __half2float(*p);
}
__device__ inline float load(const __nv_bfloat16* p) {
  return __bfloat162float(*p);
}
__device__ inline float load(const signed char* p) {
  return *p;
}
__device__ inline float load(const unsigned char* p) {
  return *p;
}
__device__ inline void store(float* p, float value) {
  *p = value;
}
__device__ inline void store(__half* p, float value) {
  *p = __float2half_rn(value);
}
__device__ inline void store(__nv_bfloat16* p, float value) {
  *p = __float2bfloat16_rn(value);
}

/// Of whole numbers and infinities; what lies beyond the type's range becomes its end.
template<typename T>
__device__ inline void store_byte(T* p, float value, float least) {
  const float most = least + 255;
  *p = static_cast<T>(static_cast<int>(value < least ? least : value > most ? most : value));
}
__device__ inline void store(signed char* p, float value) {
  store_byte(p, value, -128);
}
__device__ inline void store(unsigned char* p, float value) {
  store_byte(p, value, 0);
}

/// Elements moved as one.
template<typename T, int n>
struct alignas(sizeof(T) * n) Pack {
  T values[n];
};

} // namespace lanner::cuda
