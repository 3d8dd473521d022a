#pragma once
// Functions that nvcc compiles for host and device, and other compilers for the host.

#ifdef __CUDACC__
#define LANNER_HOST_DEVICE __host__ __device__
#else
#define LANNER_HOST_DEVICE
#endif
