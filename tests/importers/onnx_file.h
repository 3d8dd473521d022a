#pragma once
// Writes ONNX files byte by byte, well-formed or not. Field numbers are those of onnx.proto.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lanner::test::onnx_file {

/// A protobuf message being written.
class Message {
public:
  Message& integer(std::uint32_t field, std::int64_t value);
  Message& real(std::uint32_t field, float value);
  Message& bytes(std::uint32_t field, std::string_view value);
  Message& message(std::uint32_t field, const Message& value) { return bytes(field, value.data); }
  Message& packed(std::uint32_t field, const std::vector<std::int64_t>& values);

  std::string data;
};

inline constexpr std::int64_t f32 = 1, i64 = 7, text = 8, boolean = 9;

Message tensor(std::string_view name, std::int64_t type,
               const std::vector<std::int64_t>& dims); ///< Without data.
Message floats(std::string_view name, const std::vector<std::int64_t>& dims,
               const std::vector<float>& values);
Message integers(std::string_view name, const std::vector<std::int64_t>& dims,
                 const std::vector<std::int64_t>& values);
/// Float data in an external file; `entries` are location, offset, length.
Message external(std::string_view name, const std::vector<std::int64_t>& dims,
                 const std::map<std::string, std::string>& entries);

/// Each dim is a size, `?` for an unknown one, or a name.
Message value(std::string_view name, std::int64_t type, const std::vector<std::string>& dims);

Message attribute(std::string_view name, std::int64_t value);
inline Message attribute(std::string_view name, int value) {
  return attribute(name, std::int64_t{value});
}
Message attribute(std::string_view name, float value);
Message attribute(std::string_view name, std::string_view value);
Message attribute(std::string_view name, const std::vector<std::int64_t>& values);
Message tensor_attribute(std::string_view name, const Message& tensor);
Message graph_attribute(std::string_view name, const Message& graph);
/// An attribute that refers to the function's attribute of that name.
Message reference(std::string_view name, std::string_view function_attribute, std::int64_t type);

struct NodeSpec {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::vector<Message> attributes = {};
  std::string domain = {}, name = {};
};
Message node(const NodeSpec& spec);

struct GraphSpec {
  std::vector<Message> nodes, inputs, outputs;
  std::vector<Message> constants = {};
  std::string name = "g";
};
Message graph(const GraphSpec& spec);

struct FunctionSpec {
  std::string name;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<Message> nodes;
};
/// In the domain `own`, which `model` imports; its nodes use version 21 and `own`.
Message function(const FunctionSpec& spec);

std::string model(const Message& graph, std::int64_t version = 21,
                  const std::vector<Message>& functions = {});

/// A small model that uses most features: a subgraph, a function, constants of two kinds and, when `location`
/// is given, external data.
std::string varied_model(std::string_view location = {});

} // namespace lanner::test::onnx_file
