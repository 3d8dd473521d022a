#pragma once
// What a graph is lowered for.

#include <optional>
#include <string>
#include <vector>

#include <lanner/device.h>
#include <lanner/precision.h>

#include "device/machine_limits.h"
#include "graph/storage.h"

namespace lanner {

/// A device and the freedoms a build has on it.
struct Target {
  Device device;
  int threads = 1; ///< Fixed for a Context; oneDNN binds it to primitives.
  Precision precision;
  bool deterministic = false;
  std::string isa;      ///< CPU features or GPU architecture, part of timing keys.
  std::string host_isa; ///< CPU features, for the steps that run on the host beside a GPU.
  /// What estimates are made of; unset: the shipped ones.
  std::optional<MachineLimits> limits, host_limits;

  /// The same freedoms for kernels that run on a device of this kind: the target's own, or the host.
  Target for_device(DeviceKind kind) const {
    Target other = *this;
    if (kind != DeviceKind::cpu || device.is_host()) return other;
    other.device = {};
    other.isa = host_isa;
    other.limits = host_limits;
    other.precision = {};
    return other;
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
