#pragma once
// The CUDA driver, opened at first use.

#include <string>

#include <lanner/error.h>

#include "base/check.h"
#include "device/cuda/driver_api.h"

namespace lanner::cuda {

/// The driver or the reason why there is none.
struct DriverStatus {
  const Driver* driver = nullptr; ///< Initialised; lives as long as the process.
  int version = 0;                ///< 13000 for CUDA 13.0.
  int devices = 0;
  std::string path;
  std::string reason; ///< Why `driver` is null or lists no GPU.
};

/// Opens LANNER_CUDA_DRIVER, else libcuda.so.1, at the first call. Never throws; safe from any thread.
const DriverStatus& driver_status();
/// The same for the named library; every call opens again.
DriverStatus open_driver(const char* library);

/// The driver's function table. Throws Error{unsupported} with the reason and the remedy where there is none.
const Driver& driver();

/// Throws Error{device} (out_of_memory for that status) with the driver's own message unless `status` is
/// success.
void check(Result status, const char* call);

} // namespace lanner::cuda
