#pragma once
// Writes TensorFlow GraphDefs byte by byte, well-formed or not. Field numbers are those of graph.proto and
// the files it imports.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "importers/onnx_file.h"

namespace lanner::test::graph_def_file {

using onnx_file::Message;

inline constexpr std::int64_t f32 = 1, i32 = 3, i64 = 9, boolean = 10;

Message attribute(std::string_view key, const Message& value);
Message integer(std::string_view key, std::int64_t value);
Message real(std::string_view key, float value);
Message flag(std::string_view key, bool value);
Message text(std::string_view key, std::string_view value);
Message type(std::string_view key, std::int64_t value);
Message list(std::string_view key, const std::vector<std::int64_t>& values);
Message types(std::string_view key, const std::vector<std::int64_t>& values);
Message function(std::string_view key, std::string_view name);
Message reference(std::string_view key, std::string_view function_attribute);

struct NodeSpec {
  std::string name, op;
  std::vector<std::string> inputs = {};
  std::vector<Message> attributes = {};
};
Message node(const graph_def_file::NodeSpec& spec);

/// -1 for an unknown size.
Message placeholder(std::string_view name, std::int64_t type, const std::vector<std::int64_t>& dims);
Message tensor(std::int64_t type, const std::vector<std::int64_t>& dims);
Message constant(std::string_view name, const Message& tensor);
Message floats(std::string_view name, const std::vector<std::int64_t>& dims,
               const std::vector<float>& values);
/// i32, of rank 1 or, with `scalar`, 0.
Message integers(std::string_view name, const std::vector<std::int64_t>& values, bool scalar = false);

struct FunctionSpec {
  std::string name;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> results; ///< The tensor of each output.
  std::vector<Message> nodes;
};
Message function_definition(const graph_def_file::FunctionSpec& spec);

std::string graph_def(const std::vector<Message>& nodes, const std::vector<Message>& functions = {});

/// A small graph that uses most features: channels-last data, a function, a list, raw and typed constants.
std::string varied_graph_def();

} // namespace lanner::test::graph_def_file
