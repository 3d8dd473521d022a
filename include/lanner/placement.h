#pragma once
// Placement of a network's nodes on devices.

#include <string>
#include <string_view>
#include <vector>

#include <lanner/device.h>

namespace lanner {

/// A device for certain nodes.
struct PlacedNodes {
  /// Matches names of the model's nodes, or of values in the IR. `*` matches any characters, `?` one.
  std::string pattern;
  Device device; ///< One of the engine's devices; the host always is one.
};

/// Devices of an engine in addition to its own, where its inputs and outputs are, and the nodes that run
/// there. Nodes without a placement run on the engine's own device or, where no kernel of that supports them,
/// on the host.
struct DevicePlacement {
  /// GPUs in addition to an engine's own, which must be a GPU too; each once, at most 7. Nodes without a
  /// placement use none of them.
  std::vector<Device> devices;
  /// The first pattern that matches a node applies. A pattern that matches nothing, and a device that is not
  /// one of the engine's, are Error{invalid_argument}.
  std::vector<PlacedNodes> nodes;
  /// A node that no kernel runs on its device is Error{unsupported}, which names it; else it runs on the
  /// host, which is logged.
  bool strict = false;
};

/// `cuda:0,cuda:1`: the engine's own device, and the others. Each is given once. Throws
/// Error{invalid_argument}.
std::vector<Device> parse_devices(std::string_view text);
/// The text that parse_devices() reads.
std::string devices_text(const std::vector<Device>& devices);

} // namespace lanner
