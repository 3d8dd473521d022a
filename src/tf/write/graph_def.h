#pragma once
// TensorFlow's GraphDef as records, and written as protobuf (graph.proto, node_def.proto, attr_value.proto,
// function.proto, tensor.proto).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <lanner/tensor.h>

namespace lanner::tf {

/// TensorFlow's element types by their numbers (types.proto).
enum class DataType : std::int32_t {
  f32 = 1,
  f64 = 2,
  i32 = 3,
  u8 = 4,
  i16 = 5,
  i8 = 6,
  string = 7,
  c64 = 8,
  i64 = 9,
  boolean = 10,
  qint8 = 11,
  quint8 = 12,
  qint32 = 13,
  bf16 = 14,
  qint16 = 15,
  quint16 = 16,
  u16 = 17,
  c128 = 18,
  f16 = 19,
  resource = 20,
  variant = 21,
  u32 = 22,
  u64 = 23,
  f8e5m2 = 24,
  f8e4m3fn = 25,
  i4 = 29,
  u4 = 30,
};

/// Throws Error{unsupported} for a type that TensorFlow does not have.
DataType data_type_of(DType type);

/// Sizes, -1 for an unknown one; nothing: the rank is unknown.
struct PartialShape {
  std::optional<std::vector<std::int64_t>> dims;
};
/// A function of the library by name.
struct FunctionName {
  std::string name;
};
/// The name of an attribute of the function that the node is in.
struct AttributeReference {
  std::string name;
};
/// A message as it was read: it is passed through.
struct RawMessage {
  std::string bytes;
};

/// A value of a node's attribute. Text is bytes; a tensor is on the host; a RawMessage is an AttrValue.
using AttrValue =
    std::variant<std::string, std::int64_t, float, bool, DataType, PartialShape, Tensor, FunctionName,
                 std::vector<std::string>, std::vector<std::int64_t>, std::vector<float>, std::vector<bool>,
                 std::vector<DataType>, std::vector<PartialShape>, std::vector<FunctionName>,
                 AttributeReference, RawMessage>;
using Attributes = std::map<std::string, AttrValue, std::less<>>;

/// A node, its inputs as TensorFlow writes them: `a`, `a:1`, `^a`; in functions `a:output:0`.
struct NodeRecord {
  std::string name, op, device;
  std::vector<std::string> inputs;
  Attributes attributes;
};

struct ArgumentRecord {
  std::string name;
  DataType type = DataType::f32;
  Attributes attributes; ///< Of an input: `_user_specified_name`, `_output_shapes`.
};

struct FunctionRecord {
  std::string name;
  std::vector<ArgumentRecord> inputs, outputs;
  std::vector<std::string> control_outputs;
  bool stateful = false;
  std::vector<NodeRecord> nodes;
  std::map<std::string, std::string> results;         ///< The tensor of each output: `node:output:0`.
  std::map<std::string, std::string> control_results; ///< The node of each control output.
  Attributes attributes;
};

struct GraphRecord {
  std::vector<NodeRecord> nodes;
  std::vector<FunctionRecord> functions;
  std::vector<RawMessage> other_functions; ///< FunctionDefs as they were read.
  /// What the nodes mean follows from it: that of the graph that they come from.
  std::int32_t producer = 2474, min_consumer = 12;
};

/// Attributes are written in the order of their names, so equal records give equal bytes. Throws
/// Error{limit_exceeded} above 2 GiB, the most that protobuf reads, Error{unsupported} for tensors that
/// TensorFlow cannot hold.
std::string serialized(const GraphRecord& graph);
std::string serialized(const FunctionRecord& function);
std::string serialized(const NodeRecord& node);
std::string serialized(const AttrValue& value);

/// The message TensorShapeProto.
std::string serialized(const PartialShape& shape);

} // namespace lanner::tf
