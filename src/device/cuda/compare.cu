// Counts elements that differ.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

__device__ float load(const float* p) {
  return *p;
}
__device__ float load(const __half* p) {
  return __half2float(*p);
}
__device__ float load(const __nv_bfloat16* p) {
  return __bfloat162float(*p);
}

struct Found {
  unsigned long long elements, first;
};

__device__ void add(Found* found, unsigned long long index) {
  atomicAdd(&found->elements, 1ull);
  atomicMin(&found->first, index);
}

template<typename T>
__device__ void compare(const T* got, const float* expected, unsigned long long elements,
                        unsigned long long period, float relative, float absolute, float range,
                        Found* found) {
  const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < elements; i += step) {
    const float a = load(got + i), b = expected[i % period];
    if (!(fabsf(b) <= range)) continue;
    if (!(fabsf(a - b) <= absolute + relative * fabsf(b))) add(found, i);
  }
}

} // namespace

#define LANNER_COMPARE(NAME, T)                                                                              \
  extern "C" __global__ void compare_##NAME(const T* got, const float* expected,                             \
                                            unsigned long long elements, unsigned long long period,          \
                                            float relative, float absolute, float range, Found* found) {     \
    compare(got, expected, elements, period, relative, absolute, range, found);                              \
  }
LANNER_COMPARE(f32, float)
LANNER_COMPARE(f16, __half)
LANNER_COMPARE(bf16, __nv_bfloat16)

extern "C" __global__ void compare_words(const unsigned* a, const unsigned* b, unsigned long long words,
                                         Found* found) {
  const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < words; i += step)
    if (a[i] != b[i]) add(found, i);
}
