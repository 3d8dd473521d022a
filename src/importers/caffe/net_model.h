#pragma once
// A Caffe net to a parse tree.

#include "importers/caffe/net.h"
#include "importers/import_graph.h"

namespace lanner::caffe {

/// Gives the layers of `net` the blobs of the layers of that name.
void take_blobs(Net& net, Net weights);

/// A node a layer: its operator is the layer's type, attribute `blobs` the trained tensors. Layers that
/// testing does without (other phases, losses, accuracy) are left out. Blobs that are written again have a
/// name for each version; the last keeps the blob's. Data layers and net inputs are inputs; what no layer
/// reads is an output.
ImportModel model_of(Net net);

} // namespace lanner::caffe
