#pragma once
// Functions that nvcc compiles for both sides and other compilers for theirs.

#ifdef __CUDACC__
#define LANNER_HOST_DEVICE __host__ __device__
#else
#define LANNER_HOST_DEVICE
#endif
