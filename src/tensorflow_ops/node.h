#pragma once
// A node TRTEngineOp or LannerEngineOp: what it says, and graphs made of it.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lanner::tensorflow_ops {

/// Sizes, -1 for an unknown one.
struct NodeShape {
  bool ranked = false;
  std::vector<std::int64_t> dims;
};

/// What a kernel reads of its node.
struct Node {
  std::string name;                           ///< Without the scopes that calls of functions put before it.
  std::vector<int> input_types, output_types; ///< TF_DataType
  std::vector<NodeShape> input_shapes;        ///< Empty: not said.
  std::string precision;
  std::string function;         ///< Of the function library, where the native segment may be.
  bool has_segment = false;     ///< `serialized_segment` is a graph, and not an engine of TensorRT.
  bool has_function = false;    ///< The library has the function: set by who looked.
  std::filesystem::path folder; ///< Of the SavedModel, which may have a plan of the engine; empty: not known.
  std::string segment_place;    ///< Where in a file the segment is; empty: in the node, or a function.
  bool may_run_natively = true; ///< Off: converted with use_function_backup=False.
};

/// Reads a NodeDef. Throws Error{bad_data}.
Node read_node(std::string_view node_def);

/// Whether `place`, Node::segment_place, says where a function is.
bool is_function_place(std::string_view place);

/// The function that lies at `place`, and those that it calls, as FunctionDefLibrary. Throws as the next.
std::string function_of_file(std::string_view place);

/// The node with the segment that lies at `place`, Node::segment_place. Throws Error where the file was
/// changed.
std::string with_segment_of_file(std::string_view node_def, std::string_view place);

/// The functions that `name` needs and itself, of a serialised FunctionDefLibrary.
std::string functions_for(std::string_view library, std::string_view name);

/// A GraphDef with placeholders `lanner_input_I`, the node as TRTEngineOp, and the library's functions.
std::string engine_graph(std::string_view node_def, const Node& node, const std::vector<NodeShape>& shapes,
                         std::string_view functions);

/// A graph to run in a session.
struct NativeGraph {
  std::string graph_def;
  std::vector<std::string> inputs, outputs; ///< `node` or `node:1`
};

/// The native segment of a graph that engine_graph() made. Throws Error{bad_data} where it has none.
NativeGraph native_graph(std::string_view engine_graph);

} // namespace lanner::tensorflow_ops
