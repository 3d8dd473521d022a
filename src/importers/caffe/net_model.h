#pragma once
// A Caffe net to a parse tree.

#include "importers/caffe/net.h"
#include "importers/import_graph.h"

namespace lanner::caffe {

/// Gives each layer of `net` the blobs of the layer of that name.
void take_blobs(Net& net, Net weights);

/// One node per layer: its operator is the layer's type, attribute `blobs` the trained tensors. Layers that
/// are not needed for testing (other phases, losses, accuracy) are left out. Blobs that are written more than
/// once get a name for each version; the last one keeps the blob's name. Data layers and net inputs are
/// inputs; blobs that no layer reads are outputs.
ImportModel model_of(Net net);

} // namespace lanner::caffe
