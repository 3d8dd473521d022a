#pragma once
// What a plan says of where values lie, checked against who reads and writes them.

#include "graph/graph.h"
#include "graph/target.h"
#include "program/subprograms.h"

namespace lanner {

// All throw Error{bad_data} naming the node or the value.

/// A kernel of a backend takes values whose sizes are known before running.
void check_sizes_known(const Node& node);
/// A value lies on a device of the target.
void check_stored(const Value& value, const Target& target);

/// The interpreter and regions know row-major values of their own types only, on the host and, where they are
/// plain memory, on `device`, the target's own.
void check_plain(const Node& node, Device device);
/// Regions find plain memory where they run, and what decides how they run on the host.
void check_reached(const Node& node, const Subprograms& subprograms);
/// A kernel of the host sees values of the host only; one of a GPU, which only queues, sees memory that the
/// GPU can reach, which its copies from and to the host need, and copies to it from other GPUs.
void check_devices(const Node& node, bool on_stream, const Target& target);

} // namespace lanner
