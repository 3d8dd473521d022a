#include "importers/graph_def_file.h"

namespace lanner::test::graph_def_file {

Message attribute(std::string_view key, const Message& value) {
  return Message().bytes(1, key).message(2, value);
}
Message integer(std::string_view key, std::int64_t value) {
  return attribute(key, Message().integer(3, value));
}
Message real(std::string_view key, float value) {
  return attribute(key, Message().real(4, value));
}
Message flag(std::string_view key, bool value) {
  return attribute(key, Message().integer(5, value));
}
Message text(std::string_view key, std::string_view value) {
  return attribute(key, Message().bytes(2, value));
}
Message type(std::string_view key, std::int64_t value) {
  return attribute(key, Message().integer(6, value));
}
Message list(std::string_view key, const std::vector<std::int64_t>& values) {
  return attribute(key, Message().message(1, Message().packed(3, values)));
}
Message types(std::string_view key, const std::vector<std::int64_t>& values) {
  return attribute(key, Message().message(1, Message().packed(6, values)));
}
Message function(std::string_view key, std::string_view name) {
  return attribute(key, Message().message(10, Message().bytes(1, name)));
}
Message reference(std::string_view key, std::string_view function_attribute) {
  return attribute(key, Message().bytes(9, function_attribute));
}

Message node(const graph_def_file::NodeSpec& spec) {
  Message made = Message().bytes(1, spec.name).bytes(2, spec.op);
  for (const std::string& input : spec.inputs) made.bytes(3, input);
  for (const Message& attribute : spec.attributes) made.message(5, attribute);
  return made;
}

static Message shape(const std::vector<std::int64_t>& dims) {
  Message made;
  for (std::int64_t dim : dims) made.message(2, Message().integer(1, dim));
  return made;
}

Message placeholder(std::string_view name, std::int64_t of, const std::vector<std::int64_t>& dims) {
  return node({std::string(name),
               "Placeholder",
               {},
               {type("dtype", of), attribute("shape", Message().message(7, shape(dims)))}});
}

Message tensor(std::int64_t of, const std::vector<std::int64_t>& dims) {
  return Message().integer(1, of).message(2, shape(dims));
}

Message constant(std::string_view name, const Message& tensor) {
  return node({std::string(name), "Const", {}, {attribute("value", Message().message(8, tensor))}});
}

Message floats(std::string_view name, const std::vector<std::int64_t>& dims,
               const std::vector<float>& values) {
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return constant(name, tensor(f32, dims).bytes(4, bytes));
}

Message integers(std::string_view name, const std::vector<std::int64_t>& values, bool scalar) {
  const std::vector<std::int64_t> dims{static_cast<std::int64_t>(values.size())};
  return constant(name, tensor(i32, scalar ? std::vector<std::int64_t>{} : dims).packed(7, values));
}

Message function_definition(const graph_def_file::FunctionSpec& spec) {
  Message signature = Message().bytes(1, spec.name);
  for (const std::string& input : spec.inputs) signature.message(2, Message().bytes(1, input));
  for (const std::string& output : spec.outputs) signature.message(3, Message().bytes(1, output));
  Message made = Message().message(1, signature);
  for (const Message& node : spec.nodes) made.message(3, node);
  for (std::size_t i = 0; i < spec.results.size(); ++i)
    made.message(4, Message().bytes(1, spec.outputs.at(i)).bytes(2, spec.results[i]));
  return made;
}

std::string graph_def(const std::vector<Message>& nodes, const std::vector<Message>& functions) {
  Message made;
  for (const Message& node : nodes) made.message(1, node);
  if (!functions.empty()) {
    Message library;
    for (const Message& function : functions) library.message(1, function);
    made.message(2, library);
  }
  return made.message(4, Message().integer(1, 987)).data;
}

std::string varied_graph_def() {
  const Message scaled = function_definition({
      .name = "scaled",
      .inputs = {"x"},
      .outputs = {"y", "z"},
      .results = {"product:z:0", "parts:output:1"},
      .nodes = {constant("two", tensor(f32, {}).real(5, 2)), node({"product", "Mul", {"x", "two:output:0"}}),
                integers("axis", {3}, true),
                node({"parts", "Split", {"axis:output:0", "x"}, {integer("num_split", 2)}})},
  });
  return graph_def(
      {
          placeholder("x", f32, {-1, 4, 4, 2}),
          floats("filter", {1, 1, 2, 2}, {1, 2, 3, 4}),
          node({"conv",
                "Conv2D",
                {"x", "filter", "^unused"},
                {list("strides", {1, 1, 1, 1}), text("padding", "SAME"), text("data_format", "NHWC")}}),
          node({"call",
                "PartitionedCall",
                {"conv"},
                {function("f", "scaled"), types("Tout", {f32, f32}), type("_note", f32)}}),
          node({"total", "AddV2", {"call", "call:1"}, {type("T", f32)}}),
          integers("axes", {1, 2}),
          node({"mean", "Mean", {"total", "axes"}, {flag("keep_dims", false)}}),
          node({"unused", "NoOp"}),
      },
      {scaled});
}

} // namespace lanner::test::graph_def_file
