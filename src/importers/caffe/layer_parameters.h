#pragma once
// The parameter messages of caffe.proto, for each kind of layer.

#include <span>

#include "importers/caffe/layer.h"
#include "importers/protobuf.h"

namespace lanner::caffe {

/// Fields of a LayerRecord that hold parameters, in the current format and in the one where layer types were
/// numbers. Enumerators are integers, repeated numbers are lists, a shape is its list of dims and repeated
/// shapes are `shape`, `shape1`, ...
std::span<const FieldEntry> layer_parameters();
std::span<const FieldEntry> old_layer_parameters();

/// Fields of a BlobShape, which is a ShapeDims.
std::span<const FieldEntry> shape_fields();

} // namespace lanner::caffe
