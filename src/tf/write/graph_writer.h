#pragma once
// Writes a graph into a message that contains it, without a copy in between.

#include <cstdint>

#include <protozero/pbf_writer.hpp>

#include "tf/write/graph_def.h"

namespace lanner::tf {

/// Adds the fields of GraphDef.
void write_graph(protozero::pbf_writer& into, const GraphRecord& graph);

/// About how many bytes write_graph() adds: memory that a text should have, so that it need not grow. Throws
/// Error{limit_exceeded} where the tensors alone are too large for protobuf.
std::uint64_t expected_bytes(const GraphRecord& graph);

} // namespace lanner::tf
