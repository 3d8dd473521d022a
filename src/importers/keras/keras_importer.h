#pragma once
// Keras' files to graphs, by way of the SavedModel that Keras exports.

#include "importers/import_graph.h"
#include "importers/importer.h"

namespace lanner::keras {

std::unique_ptr<Graph> import_keras(const Content& content, const ImportOptions& options);
/// The graph of its signature, as tensorflow::read_saved_model() gives it.
ImportModel read_keras(const Content& content, const ImportOptions& options);

} // namespace lanner::keras
