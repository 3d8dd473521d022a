#pragma once
// Caffe nets to graphs.

#include "importers/importer.h"

namespace lanner::caffe {

/// Reads a net, text or binary, of layers as Caffe 1.0 or the versions before it wrote them, in its state for
/// testing. Trained blobs are the net's own or, by the layers' names, those of `options.weights`.
std::unique_ptr<Graph> import_caffe(const Content& content, const ImportOptions& options);

} // namespace lanner::caffe
