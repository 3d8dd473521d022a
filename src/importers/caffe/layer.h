#pragma once
// A layer of a Caffe net as written in its file.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <lanner/tensor.h>

#include "importers/import_graph.h"

namespace lanner::caffe {

using Attributes = std::map<std::string, ImportAttribute, std::less<>>;
using ShapeDims = std::vector<std::int64_t>;

/// A rule that includes or excludes a layer in some states of the net.
struct StateRule {
  std::int64_t phase = -1; ///< 0 training, 1 testing, -1 both.
  std::int64_t min_level = 0, max_level = INT64_MAX;
  std::vector<std::string> stages;
};

struct Layer {
  std::string name, type; ///< Type by its current name, whatever the file's age.
  std::vector<std::string> bottoms, tops;
  std::vector<Tensor> blobs; ///< f32, trained.
  std::vector<StateRule> include, exclude;
  Attributes attributes; ///< All parameters together, each by its field's name; see layer_parameters().
};

struct Reading;

/// A layer while it is read.
struct LayerRecord {
  Reading* reading;
  Layer layer;
};

} // namespace lanner::caffe
