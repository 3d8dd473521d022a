#pragma once
// Which nodes of a TensorFlow graph become engines and which stay native, as TF-TRT divided them
// (tensorflow/compiler/tf2tensorrt/segment). The graph is abstract: what may be converted is said by the
// caller.

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lanner::tf {

/// Output number `output` of the node with the index `node`.
struct NodeOutput {
  std::uint32_t node = 0, output = 0;
  friend auto operator<=>(const NodeOutput&, const NodeOutput&) = default;
};

/// Why a node stays native: a short code for grouping (`denied_operator`) and a sentence for users.
struct NativeReason {
  std::string code, text;
};

/// A node as the segmenter sees it.
struct SegmenterNode {
  std::string name; ///< Unique in the graph.
  std::string op;
  std::string device;                        ///< As written, possibly in part: `/device:GPU:*`; empty: any.
  std::vector<NodeOutput> inputs;            ///< Data inputs in order.
  std::vector<std::uint32_t> control_inputs; ///< Nodes that run before it.
  std::optional<NativeReason> reason;        ///< Why it may not be converted; nothing: it may be.
  /// The batch size that an engine of this node would have, -1 where it is known to be dynamic; nothing: it
  /// agrees with any. Nodes of one segment agree. The same for the largest batch size that was asked for.
  std::optional<std::int64_t> batch, max_batch;
  /// Whether it counts for `minimum_segment_size`. Identity, Snapshot and StopGradient never do.
  bool counts = true;
  /// Whether its inputs may be inputs of an engine, and its outputs outputs. A constant's outputs never are.
  bool inputs_may_enter = true, outputs_may_leave = true;
};

struct SegmenterGraph {
  std::vector<SegmenterNode> nodes;
  /// What is read from outside of the graph: a segment that computes it has it as an output.
  std::vector<NodeOutput> fetched;
};

/// How engines are named: `TRTEngineOp_003_000` (the graph's number, the segment's) or `TRTEngineOp_0`.
enum class EngineNames { graph_and_segment, segment };

struct SegmenterOptions {
  /// Segments with fewer nodes that count stay native; -1 leaves the whole graph native.
  int minimum_segment_size = 3;
  /// Where there are more segments only the largest become engines; 0: no limit. TensorFlow's variable
  /// TF_TRT_MAX_ALLOWED_ENGINES.
  int maximum_engines = 20;
  std::set<std::string, std::less<>> denied_nodes;        ///< By name.
  std::set<std::string, std::less<>> denied_operators;    ///< TF_TRT_OP_DENYLIST.
  std::set<std::string, std::less<>> pretended_operators; ///< TF_TRT_OP_FAKELIST: their reason is ignored.
  EngineNames names = EngineNames::graph_and_segment;
  int graph_number = 0;
};

/// One engine. Indices are those of the graph's nodes.
struct Segment {
  std::string name;                          ///< Of the engine's node; no node of the graph has it.
  std::vector<std::uint32_t> nodes;          ///< In topological order.
  std::vector<std::uint32_t> constants;      ///< Native constants that it reads: it gets copies of them.
  std::vector<NodeOutput> inputs;            ///< In the order of the bindings `TensorRTInputPH_0`, ...
  std::vector<NodeOutput> outputs;           ///< In the order of the bindings `TensorRTOutputPH_0`, ...
  std::vector<std::uint32_t> control_inputs; ///< Nodes outside that run before it.
};

/// A node that is in no segment.
struct NativeNode {
  std::uint32_t node = 0;
  NativeReason reason;
};

struct Segmentation {
  std::vector<Segment> segments;  ///< In topological order.
  std::vector<NativeNode> native; ///< In the order of the graph's nodes.
};

/// Divides a graph. Segments grow from the outputs towards the inputs along data edges, and never so that
/// the graph with each segment as one node has a cycle, control edges included. No two segments that share a
/// data edge could be one, before nodes that may not be at a boundary leave them. The result does not depend
/// on the order of the nodes. Edges from NextIteration to Merge (loops of TensorFlow 1) do not count as
/// edges, and these nodes stay native.
///
/// Throws Error{bad_data} for a cycle, for inputs that are not there and for two nodes of one name,
/// Error{invalid_argument} for sizes that are out of range. Working memory counts for the thread's account,
/// and its deadline is checked.
Segmentation segment_graph(const SegmenterGraph& graph, const SegmenterOptions& options);

/// The name of an engine's input and output binding: `TensorRTInputPH_0`, `TensorRTOutputPH_0`.
std::string input_binding(std::size_t number);
std::string output_binding(std::size_t number);

} // namespace lanner::tf
