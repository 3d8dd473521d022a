#pragma once
// How fast a machine is at its best: what estimates of kernels are made of.

#include <lanner/cancel.h>
#include <lanner/device.h>

namespace lanner {

/// What kernels reach where one thing alone holds them up. A CPU's rates are those of one thread.
struct MachineLimits {
  double operations = 0;      ///< Of f32 a second in matrix products; a multiply-add is two.
  double half_operations = 0; ///< The same in f16 or bf16 with sums in f32, where a device has units for it.
  double bytes = 0;           ///< A second that are read or written in memory.
  double cached_bytes = 0;    ///< The same of what lies in a core's own cache, or a GPU's.
  double start = 0;           ///< Seconds until a kernel of one thread, or of a GPU, has begun and ended.
  double team_start = 0;      ///< What it takes more with several threads.
  double copied_bytes = 0;    ///< A second that come from a GPU to memory of the host; 0 for a CPU.
  double copy_start = 0;      ///< Seconds until the host has asked for and waited for the smallest of them.

  friend bool operator==(const MachineLimits&, const MachineLimits&) = default;
};

/// Measures these on the device by its fastest kernels, in some seconds, and keeps them in the cache folder,
/// where later builds find them; deterministic builds use shipped ones. To be called on a quiet machine.
/// Throws Error{unsupported} for a GPU that cannot be used, Error{cancelled}.
MachineLimits measure_machine(Device device, const Control& control = {});
/// What builds on this device use: measured, else shipped.
MachineLimits machine_limits(Device device);

} // namespace lanner
