#pragma once
// Checks the storages in a plan against the kernels that read and write the values.

#include "graph/graph.h"
#include "graph/target.h"
#include "program/subprograms.h"

namespace lanner {

// All throw Error{bad_data} naming the node or the value.

/// A backend's kernel needs values of static size; the caller names the node.
void check_sizes_known(const Node& node);
/// The value must be on a device of the target.
void check_stored(const Value& value, const Target& target);

/// The interpreter and regions support only row-major values of their own types, on the host and, where they
/// are plain memory, on `device`, the target's own.
void check_plain(const Node& node, Device device);
/// Plain memory that regions use must be on their device, and control values on the host.
void check_reached(const Node& node, const Subprograms& subprograms);
/// A host kernel may access values on the host only; a GPU kernel, which only queues work, may access memory
/// that the GPU can reach: its own, pinned memory for copies to and from the host, and other GPUs' for copies
/// to it.
void check_devices(const Node& node, bool on_stream, const Target& target);

} // namespace lanner
