#pragma once
// What a graph is lowered for.

#include <optional>
#include <string>
#include <vector>

#include <lanner/device.h>
#include <lanner/placement.h>
#include <lanner/precision.h>

#include "device/machine_limits.h"
#include "graph/storage/storage.h"

namespace lanner {

/// What is known of a GPU of the set.
struct Processor {
  std::string isa;
  std::optional<MachineLimits> limits;
};

/// A device, others beside it, and the freedoms a build has on them.
struct Target {
  Device device;   ///< Where inputs and outputs are, and what is placed nowhere else.
  int threads = 1; ///< Fixed for a Context; oneDNN binds it to primitives.
  Precision precision;
  bool deterministic = false;
  std::string isa;      ///< CPU features or GPU architecture, part of timing keys.
  std::string host_isa; ///< CPU features, for the steps that run on the host beside a GPU.
  /// What estimates are made of; unset: the shipped ones.
  std::optional<MachineLimits> limits, host_limits;
  DevicePlacement placement;
  std::vector<Processor> further; ///< Of placement.devices, by number.

  /// The device, and the GPUs beside it.
  std::vector<Device> devices() const;
  /// The same freedoms for kernels that run on another device of the set; for those of the host all is there.
  /// Throws Error{bad_data} where it is not of the set.
  Target on(Device other) const;
  /// The same for kernels that run on a device of this kind: the target's own, or the host.
  Target for_device(DeviceKind kind) const { return kind == DeviceKind::cpu ? on({}) : *this; }

  /// The same without the devices beside it, where nothing is placed elsewhere: for what runs on one device.
  Target alone() const {
    Target same = *this;
    same.placement = {};
    same.further.clear();
    return same;
  }

  MachineLimits machine() const { return limits.value_or(shipped_limits(device.kind)); }

  /// How inputs and outputs of a lowered graph are stored: row-major on the device.
  Storage storage() const {
    Storage storage;
    storage.device = device;
    return storage;
  }
};

} // namespace lanner
