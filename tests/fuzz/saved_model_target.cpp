#include <lanner/tensorflow.h>

#include "fuzz/targets.h"
#include "importers/importer.h"
#include "importers/tensorflow/flat_graph.h"
#include "importers/tensorflow/saved_model.h"
#include "ops/table/table.h"
#include "tf/convert/division.h"

namespace lanner::fuzz {

/// The file of a SavedModel or a MetaGraph, binary or text: read as one graph, and divided into engines.
void read_saved_model(std::span<const std::byte> input) {
  if (!tensorflow::looks_like_saved_model(input) && !tensorflow::looks_like_meta_graph(input)) return;
  const Limits limits = small_limits();
  const ImportOptions options{builtin_op_table(), {}, limits};
  tf::ConvertOptions convert;
  convert.minimum_segment_size = 1;
  const tf::Division division =
      tf::divide(tensorflow::read_flat_graph(open_bytes(input), options), convert, options);
  for (const tf::PartPlan& part : division.parts)
    tensorflow::graph_of(tf::part_model(division, part, limits), options);
}

} // namespace lanner::fuzz
