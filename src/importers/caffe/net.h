#pragma once
// NetParameter, binary (.caffemodel) and text (.prototxt), as defined in caffe.proto.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lanner/limits.h>
#include <lanner/source.h>

#include "importers/caffe/layer.h"

namespace lanner::caffe {

struct Net {
  std::string name;
  std::vector<Layer> layers;
  std::vector<std::string> inputs;
  std::vector<std::int64_t> input_dims; ///< Four for each input, in old files.
  std::vector<ShapeDims> input_shapes;
};

/// Whether the first bytes look like a NetParameter, binary or text.
bool looks_like_net(std::span<const std::byte> bytes);
Net read_net(const Content& content, const Limits& limits);

} // namespace lanner::caffe
