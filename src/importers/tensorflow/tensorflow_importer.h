#pragma once
// Frozen TensorFlow graphs to graphs.

#include "importers/importer.h"

namespace lanner::tensorflow {

/// Reads a GraphDef, binary or text, whose variables are constants.
std::unique_ptr<Graph> import_tensorflow(const Content& content, const ImportOptions& options);

} // namespace lanner::tensorflow
