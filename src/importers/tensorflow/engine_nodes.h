#pragma once
// TRTEngineOp: the nodes in which TF-TRT keeps a TensorRT engine and the TensorFlow nodes that it replaced.

#include "importers/tensorflow/graph_record.h"

namespace lanner::tensorflow {

/// Attribute of the calls that replace_engine_nodes() makes.
inline constexpr const char* engine_mark = "_lanner_engine";

/// Makes each TRTEngineOp a call of its native segment: a function of the library (attribute `segment_func`
/// or, before TensorFlow 2.1, `segment_funcdef_name`), or the graph in `serialized_segment`. The engine
/// itself is TensorRT's and is not read. Throws Error{bad_data} for a node that has neither.
void replace_engine_nodes(GraphRecord& graph);

} // namespace lanner::tensorflow
