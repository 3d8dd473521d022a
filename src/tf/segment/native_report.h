#pragma once
// What stays native, in the forms in which TF-TRT said it.

#include <string>
#include <vector>

#include "tf/segment/segmenter.h"

namespace lanner::tf {

/// Native nodes of one operator for one reason.
struct NativeGroup {
  std::string op;
  NativeReason reason;              ///< The text is that of the first node.
  std::vector<std::uint32_t> nodes; ///< In the order of the graph's nodes.
};

/// By operator and code: operators with the most native nodes first, and their most frequent reasons; equal
/// ones by name.
std::vector<NativeGroup> native_groups(const SegmenterGraph& graph, const Segmentation& segmentation);

/// `There are 5 ops of 4 different types in the graph that are not converted to TensorRT: ArgMax, Identity,
/// NoOp, Placeholder.` in one line; operators in the order of their names.
std::string native_line(const std::vector<NativeGroup>& groups);

/// The table that TF_TRT_SHOW_DETAILED_REPORT=FILE asks for: `OP Name|Reason|Count`, and a line a group.
std::string native_csv(const std::vector<NativeGroup>& groups);

} // namespace lanner::tf
