#pragma once
// TensorFlow's GraphDef as read, before names are resolved: graph.proto, node_def.proto, function.proto.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/limits.h>
#include <lanner/source.h>

#include "importers/import_graph.h"
#include "importers/protobuf.h"
#include "importers/tensorflow/tensor_record.h"

namespace lanner::tensorflow {

/// State shared by the readers of all messages of one file.
struct Reading {
  TensorReader tensors;
  const Limits& limits;
  std::uint64_t nodes = 0;
  bool text = false; ///< The file is text.
};

/// A function of the library. Inputs of its nodes are as written: `node:output:0`, `argument`, `^node`.
struct FunctionRecord {
  Reading* reading;
  std::string name;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, std::string, std::less<>> results; ///< The tensor of each output.
  std::vector<std::string> effects;                        ///< Nodes that run though nothing reads them.
  std::vector<ImportNode> nodes;
  std::string_view message = {}; ///< The FunctionDef as written, in the file's memory; empty for text.
};

struct GraphRecord {
  Reading* reading;
  std::vector<ImportNode> nodes;
  std::vector<FunctionRecord> functions;
  std::int64_t producer = 0;
};

/// An operator of the list that a MetaGraph has of those that its graph uses (op_def.proto).
struct OperatorRecord {
  std::string name;
  std::vector<std::string> results; ///< As results_attribute has them (node_outputs.h).
  bool stateful = false;
};

/// An entry of a map, or a message with a name.
struct PairRecord {
  std::string key, value;
};

/// Reads a field that is a GraphDef.
void read_graph(FieldValue& value, GraphRecord& graph);
/// Reads a whole file, binary or text, that is a GraphDef.
void read_graph_file(std::span<const std::byte> bytes, bool text, GraphRecord& graph);
/// Reads a field that is a TensorShapeProto; the type is f32, an unknown dim the symbol `unknown__i`.
Type read_shape(FieldValue& value);
/// Reads a field that is a DataType, by name or number.
std::int64_t read_data_type(FieldValue& value);

/// Reads a field that is an OpList.
std::vector<OperatorRecord> read_operators(FieldValue& value);

/// The attribute of this name as a T, or null.
template<typename T>
const T* attribute_of(const ImportNode& node, std::string_view name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second.value);
}

} // namespace lanner::tensorflow
