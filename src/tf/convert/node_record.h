#pragma once
// Nodes of the parse tree as records that are written (tf/write/graph_def.h).

#include "importers/import_graph.h"
#include "tf/write/graph_def.h"

namespace lanner::tf {

/// Open sizes are unknown ones.
PartialShape partial(const Type& type);

/// A node with its attributes as they were read. `with_shapes`: also the shapes that TensorFlow wrote. Throws
/// Error{unsupported} for what cannot be written.
NodeRecord record_of(const ImportNode& node, bool with_shapes = false);

/// A node that reads a variable by its handle: it reads a tensor, as TensorFlow's freezing leaves it. Others
/// stay.
void read_constants(NodeRecord& record);

NodeRecord placeholder(const std::string& name, const Type& type);

} // namespace lanner::tf
