#pragma once
// Whether what runs a lowered node reaches its values, whatever a plan says.

#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// Throws Error{bad_data} for a value that lies on no device of the target.
void check_reached(const Value& value, const Target& target);
/// The interpreter and regions know row-major values of their own types only, on the host. Throws
/// Error{bad_data} for a node with others.
void check_plain(const Node& node);
/// A kernel of the host sees values of the host only; one of a GPU, which only queues, sees memory that the
/// GPU can reach, which its copies from and to the host need, and copies to it from other GPUs. Throws
/// Error{bad_data}.
void check_devices(const Node& node, bool on_stream, const Target& target);

} // namespace lanner
