#pragma once
// The target that a graph is lowered for.

#include <optional>
#include <string>
#include <vector>

#include <lanner/device.h>
#include <lanner/placement.h>
#include <lanner/precision.h>

#include "device/machine_limits.h"
#include "graph/storage/storage.h"

namespace lanner {

/// Properties of one of the further GPUs.
struct Processor {
  std::string isa;
  std::optional<MachineLimits> limits;
};

/// A device, further GPUs, and the choices that a build has on them.
struct Target {
  Device device;   ///< Where inputs and outputs are, and everything not placed elsewhere.
  int threads = 1; ///< Fixed for a Context; oneDNN binds it to primitives.
  Precision precision;
  bool deterministic = false;
  std::string isa;      ///< CPU features or GPU architecture, part of timing keys.
  std::string host_isa; ///< CPU features, for steps that run on the host in a GPU program.
  /// The basis of cost estimates; unset: the built-in limits.
  std::optional<MachineLimits> limits, host_limits;
  DevicePlacement placement;
  std::vector<Processor> further; ///< Of placement.devices, by number.

  /// The device, and the further GPUs.
  std::vector<Device> devices() const;
  /// The same target for kernels that run on another of its devices; for the host everything is known. Throws
  /// Error{bad_data} for a device that is not among them.
  Target on(Device other) const;
  /// The same for kernels that run on a device of this kind: the target's own, or the host.
  Target for_device(DeviceKind kind) const { return kind == DeviceKind::cpu ? on({}) : *this; }

  /// The same without further GPUs: for work that runs on one device.
  Target alone() const {
    Target same = *this;
    same.placement = {};
    same.further.clear();
    return same;
  }

  MachineLimits machine() const { return limits.value_or(shipped_limits(device.kind)); }

  /// Storage of a lowered graph's inputs and outputs: row-major on the device.
  Storage storage() const {
    Storage storage;
    storage.device = device;
    return storage;
  }
};

} // namespace lanner
