#include "importers/onnx_file.h"

#include <algorithm>
#include <cctype>

#include <protozero/pbf_writer.hpp>

namespace lanner::test::onnx_file {

Message& Message::integer(std::uint32_t field, std::int64_t value) {
  protozero::pbf_writer(data).add_int64(field, value);
  return *this;
}

Message& Message::real(std::uint32_t field, float value) {
  protozero::pbf_writer(data).add_float(field, value);
  return *this;
}

Message& Message::bytes(std::uint32_t field, std::string_view value) {
  protozero::pbf_writer(data).add_bytes(field, value.data(), value.size());
  return *this;
}

Message& Message::packed(std::uint32_t field, const std::vector<std::int64_t>& values) {
  protozero::pbf_writer(data).add_packed_int64(field, values.begin(), values.end());
  return *this;
}

Message tensor(std::string_view name, std::int64_t type, const std::vector<std::int64_t>& dims) {
  return Message().packed(1, dims).integer(2, type).bytes(8, name);
}

Message floats(std::string_view name, const std::vector<std::int64_t>& dims,
               const std::vector<float>& values) {
  return tensor(name, f32, dims)
      .bytes(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

Message integers(std::string_view name, const std::vector<std::int64_t>& dims,
                 const std::vector<std::int64_t>& values) {
  return tensor(name, i64, dims).packed(7, values);
}

Message external(std::string_view name, const std::vector<std::int64_t>& dims,
                 const std::map<std::string, std::string>& entries) {
  Message made = tensor(name, f32, dims);
  for (const auto& [key, entry] : entries) made.message(13, Message().bytes(1, key).bytes(2, entry));
  return made.integer(14, 1);
}

Message value(std::string_view name, std::int64_t type, const std::vector<std::string>& dims) {
  Message shape;
  for (const std::string& dim : dims) {
    Message written;
    const bool number = std::isdigit(static_cast<unsigned char>(dim[0])) || (dim[0] == '-' && dim.size() > 1);
    if (number)
      written.integer(1, std::stoll(dim));
    else if (dim != "?")
      written.bytes(2, dim);
    shape.message(1, written);
  }
  const Message of_tensor = Message().integer(1, type).message(2, shape);
  return Message().bytes(1, name).message(2, Message().message(1, of_tensor));
}

Message attribute(std::string_view name, std::int64_t value) {
  return Message().bytes(1, name).integer(3, value).integer(20, 2);
}
Message attribute(std::string_view name, float value) {
  return Message().bytes(1, name).real(2, value).integer(20, 1);
}
Message attribute(std::string_view name, std::string_view value) {
  return Message().bytes(1, name).bytes(4, value).integer(20, 3);
}
Message attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  return Message().bytes(1, name).packed(8, values).integer(20, 7);
}
Message tensor_attribute(std::string_view name, const Message& tensor) {
  return Message().bytes(1, name).message(5, tensor).integer(20, 4);
}
Message graph_attribute(std::string_view name, const Message& graph) {
  return Message().bytes(1, name).message(6, graph).integer(20, 5);
}
Message reference(std::string_view name, std::string_view function_attribute, std::int64_t type) {
  return Message().bytes(1, name).bytes(21, function_attribute).integer(20, type);
}

Message node(const onnx_file::NodeSpec& spec) {
  Message made;
  for (const std::string& input : spec.inputs) made.bytes(1, input);
  for (const std::string& output : spec.outputs) made.bytes(2, output);
  if (!spec.name.empty()) made.bytes(3, spec.name);
  made.bytes(4, spec.op);
  for (const Message& attribute : spec.attributes) made.message(5, attribute);
  if (!spec.domain.empty()) made.bytes(7, spec.domain);
  return made;
}

Message graph(const GraphSpec& spec) {
  Message made;
  for (const Message& node : spec.nodes) made.message(1, node);
  made.bytes(2, spec.name);
  for (const Message& constant : spec.constants) made.message(5, constant);
  for (const Message& input : spec.inputs) made.message(11, input);
  for (const Message& output : spec.outputs) made.message(12, output);
  return made;
}

static Message opset(std::string_view domain, std::int64_t version) {
  return Message().bytes(1, domain).integer(2, version);
}

Message function(const FunctionSpec& spec) {
  Message made;
  made.bytes(1, spec.name);
  for (const std::string& input : spec.inputs) made.bytes(4, input);
  for (const std::string& output : spec.outputs) made.bytes(5, output);
  for (const std::string& attribute : spec.attributes) made.bytes(6, attribute);
  for (const Message& node : spec.nodes) made.message(7, node);
  return made.message(9, opset("", 21)).message(9, opset("own", 1)).bytes(10, "own");
}

std::string model(const Message& graph, std::int64_t version, const std::vector<Message>& functions) {
  Message made;
  made.integer(1, 10)
      .bytes(2, "lanner-tests")
      .message(7, graph)
      .message(8, opset("", version))
      .message(8, opset("own", 1));
  for (const Message& function : functions) made.message(25, function);
  return made.data;
}

std::string varied_model(std::string_view location) {
  const auto branch = [](std::string_view op) {
    return graph({.nodes = {node({std::string(op), {"twice", "w"}, {"result"}})},
                  .inputs = {},
                  .outputs = {value("result", f32, {"2"})},
                  .constants = {},
                  .name = "branch"});
  };
  const Message weights =
      location.empty()
          ? floats("w", {2}, {1, 2})
          : external("w", {2}, {{"location", std::string(location)}, {"offset", "4"}, {"length", "8"}});
  const Message scaled =
      function({.name = "Scaled",
                .inputs = {"x"},
                .outputs = {"y"},
                .attributes = {"by"},
                .nodes = {node({"Constant", {}, {"factor"}, {reference("value_float", "by", 1)}}),
                          node({"Mul", {"x", "factor"}, {"y"}})}});
  const Message body = graph({
      .nodes = {node({"Scaled", {"x"}, {"twice"}, {attribute("by", 2.0f)}, "own", "double"}),
                node({"If",
                      {"which"},
                      {"y"},
                      {graph_attribute("then_branch", branch("Add")),
                       graph_attribute("else_branch", branch("Sub"))},
                      "",
                      "choose"}),
                node({"Reshape", {"y", "shape"}, {"z"}})},
      .inputs = {value("x", f32, {"2"}), value("which", boolean, {})},
      .outputs = {value("z", f32, {"1", "2"})},
      .constants = {weights, integers("shape", {2}, {1, -1})},
  });
  return model(body, 21, {scaled});
}

} // namespace lanner::test::onnx_file
