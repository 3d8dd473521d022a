#pragma once
// TensorFlow's models to graphs.

#include "importers/importer.h"

namespace lanner::tensorflow {

/// Reads a GraphDef, binary or text, whose variables are constants.
std::unique_ptr<Graph> import_graph_def(const Content& content, const ImportOptions& options);
/// Reads the file of a SavedModel, and its variables from the folder.
std::unique_ptr<Graph> import_saved_model(const Content& content, const ImportOptions& options);
/// Reads a MetaGraph, and its variables from the checkpoint beside it.
std::unique_ptr<Graph> import_meta_graph(const Content& content, const ImportOptions& options);

} // namespace lanner::tensorflow
