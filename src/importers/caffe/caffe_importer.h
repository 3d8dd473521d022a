#pragma once
// Caffe nets to graphs.

#include "importers/importer.h"

namespace lanner::caffe {

/// Reads a net, text or binary, with layers in the format of Caffe 1.0 or older, in its testing phase.
/// Trained blobs come from the net itself or, matched by layer name, from `options.weights`.
std::unique_ptr<Graph> import_caffe(const Content& content, const ImportOptions& options);

} // namespace lanner::caffe
