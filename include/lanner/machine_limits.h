#pragma once
// Peak speed of a machine: the basis of kernel cost estimates.

#include <lanner/cancel.h>
#include <lanner/device.h>

namespace lanner {

/// Peak rates of kernels with a single bottleneck. A CPU's rates are those of one thread.
struct MachineLimits {
  double operations = 0;      ///< f32 operations per second in matrix products; a multiply-add is two.
  double half_operations = 0; ///< The same in f16 or bf16 with f32 sums, on devices with units for it.
  double bytes = 0;           ///< Bytes per second read from or written to memory.
  double cached_bytes = 0;    ///< The same for a core's own cache, or a GPU's.
  double start = 0;           ///< Seconds to start and finish an empty kernel on one thread, or on a GPU.
  double team_start = 0;      ///< Additional seconds with several threads.
  double copied_bytes = 0;    ///< Bytes per second copied from a GPU to the host; 0 for a CPU.
  double copy_start = 0;      ///< Seconds to request and wait for the smallest copy.

  friend bool operator==(const MachineLimits&, const MachineLimits&) = default;
};

/// Measures these on the device with its fastest kernels, in some seconds, and stores them in the cache
/// folder, where later builds find them; deterministic builds use the built-in ones. To be called on a quiet
/// machine. Throws Error{unsupported} for a GPU that cannot be used, Error{cancelled}.
MachineLimits measure_machine(Device device, const Control& control = {});
/// The limits that builds on this device use: measured, else built in.
MachineLimits machine_limits(Device device);

} // namespace lanner
