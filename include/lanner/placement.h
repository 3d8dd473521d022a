#pragma once
// Which of a network's nodes run on which device.

#include <string>
#include <string_view>
#include <vector>

#include <lanner/device.h>

namespace lanner {

/// A device that certain nodes are to run on.
struct PlacedNodes {
  /// Of names: those of the model's nodes, or of values in the IR. `*` stands for any characters, `?` for
  /// one.
  std::string pattern;
  Device device; ///< Of the engine's set; the host always is.
};

/// The devices of an engine beside its own, where its inputs and outputs are, and what runs there. Nodes that
/// are placed nowhere run on the engine's own device or, where no kernel of that takes them, on the host.
struct DevicePlacement {
  /// GPUs beside an engine's own, which is one too; each once, at most 7. What is placed nowhere uses none of
  /// them.
  std::vector<Device> devices;
  /// The first whose pattern matches a node counts for it. A pattern that matches nothing, and a device that
  /// is not of the set, are Error{invalid_argument}.
  std::vector<PlacedNodes> nodes;
  /// A node that no kernel runs where it is placed is Error{unsupported}, which names it; else it runs on the
  /// host, and a line says so.
  bool strict = false;
};

/// `cuda:0,cuda:1`: the engine's own device, and the others. Each is told once. Throws
/// Error{invalid_argument}.
std::vector<Device> parse_devices(std::string_view text);
/// As parse_devices() reads them.
std::string devices_text(const std::vector<Device>& devices);

} // namespace lanner
