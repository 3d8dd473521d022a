#include "importers/tensorflow/node_outputs.h"

#include <algorithm>
#include <map>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner::tensorflow {
namespace {

/// Limit on the results of an operator; a number from a file is checked against it before use.
constexpr std::int64_t max_outputs = 1 << 16;

using Names = std::vector<std::string>;

const std::map<std::string, Names, std::less<>>& fixed_outputs() {
  static const Names batch_norm{"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"};
  static const std::map<std::string, Names, std::less<>> table{
      {"TopKV2", {"values", "indices"}},
      {"TopK", {"values", "indices"}},
      {"FusedBatchNorm", batch_norm},
      {"FusedBatchNormV2", batch_norm},
      {"FusedBatchNormV3",
       {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"}},
      {"NonMaxSuppressionV4", {"selected_indices", "valid_outputs"}},
      {"NonMaxSuppressionV5", {"selected_indices", "selected_scores", "valid_outputs"}},
      {"Unique", {"y", "idx"}},
      {"TensorArrayV3", {"handle", "flow"}},
      {"UniqueV2", {"y", "idx"}},
      {"UniqueWithCounts", {"y", "idx", "count"}},
      {"UniqueWithCountsV2", {"y", "idx", "count"}},
      {"ListDiff", {"out", "idx"}},
      {"MaxPoolWithArgmax", {"output", "argmax"}},
      {"CombinedNonMaxSuppression", {"nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"}},
      {"_FusedBatchNormEx",
       {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"}},
      {"TensorListPopBack", {"output_handle", "tensor"}},
      {"BroadcastGradientArgs", {"r0", "r1"}},
      {"SoftmaxCrossEntropyWithLogits", {"loss", "backprop"}},
      {"SparseSoftmaxCrossEntropyWithLogits", {"loss", "backprop"}},
  };
  return table;
}

/// Operators with one list of results, and the attribute with its length.
const std::map<std::string, std::string, std::less<>>& counted_outputs() {
  static const std::map<std::string, std::string, std::less<>> table{{"Split", "num_split"},
                                                                     {"SplitV", "num_split"},
                                                                     {"Unpack", "num"},
                                                                     {"IdentityN", "T"},
                                                                     {"ShapeN", "N"},
                                                                     {"DynamicPartition", "num_partitions"},
                                                                     {"ConcatOffset", "N"},
                                                                     {"PartitionedCall", "Tout"},
                                                                     {"StatefulPartitionedCall", "Tout"},
                                                                     {"If", "Tout"},
                                                                     {"StatelessIf", "Tout"},
                                                                     {"While", "T"},
                                                                     {"StatelessWhile", "T"},
                                                                     {"Case", "Tout"},
                                                                     {"StatelessCase", "Tout"},
                                                                     {"_SwitchN", "num_outs"}};
  return table;
}

} // namespace

std::vector<OutputArgument> output_arguments(const ImportNode& node) {
  std::vector<OutputArgument> arguments;
  if (const auto fixed = fixed_outputs().find(node.op); fixed != fixed_outputs().end()) {
    for (const std::string& name : fixed->second) arguments.push_back({name, 1});
    return arguments;
  }
  const auto counted = counted_outputs().find(node.op);
  if (counted == counted_outputs().end()) return {};
  const auto attribute = node.attributes.find(counted->second);
  if (attribute == node.attributes.end()) return {};
  std::int64_t count = 0;
  if (const auto* number = std::get_if<std::int64_t>(&attribute->second.value)) count = *number;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute->second.value))
    count = static_cast<std::int64_t>(list->size());
  check(count >= 0 && count <= max_outputs, ErrorCode::limit_exceeded, "node {}: {} results are more than {}",
        node.name, count, max_outputs);
  arguments.push_back({"output", count});
  return arguments;
}

std::int64_t shown_outputs(const ImportNode& node) {
  // Batch normalisation's other results are for training.
  if (node.op.starts_with("FusedBatchNorm") || node.op == "_FusedBatchNormEx") return 1;
  std::int64_t count = 0;
  for (const OutputArgument& argument : output_arguments(node)) count += argument.count;
  return std::max<std::int64_t>(count, 1);
}

} // namespace lanner::tensorflow
