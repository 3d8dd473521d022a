#include "importers/tensorflow/saved_model_file.h"

#include <cctype>

namespace lanner::test::saved_model_file {
namespace {

Message info(const TensorSpec& spec) {
  Message shape;
  for (const std::int64_t dim : spec.dims) shape.message(2, Message().integer(1, dim));
  return Message().bytes(1, spec.tensor).integer(2, spec.type).message(3, shape);
}

Message signature(const SignatureSpec& spec) {
  Message made;
  for (const auto& [name, tensor] : spec.inputs)
    made.message(1, Message().bytes(1, name).message(2, info(tensor)));
  for (const auto& [name, tensor] : spec.outputs)
    made.message(2, Message().bytes(1, name).message(2, info(tensor)));
  return made;
}

} // namespace

Message operator_definition(std::string_view name,
                            const std::vector<std::pair<std::string, std::string>>& results) {
  Message made = Message().bytes(1, name);
  for (const auto& [result, type] : results) {
    Message argument = Message().bytes(1, result);
    if (std::isdigit(static_cast<unsigned char>(type[0])))
      argument.integer(3, std::stoll(type));
    else
      argument.bytes(4, type);
    made.message(3, argument);
  }
  return made;
}

Message meta_graph(const MetaGraphSpec& spec) {
  Message meta_info;
  Message operators;
  for (const Message& each : spec.operators) operators.message(1, each);
  if (!spec.operators.empty()) meta_info.message(2, operators);
  for (const std::string& tag : spec.tags) meta_info.bytes(4, tag);
  meta_info.bytes(5, "2.17.0");
  Message made = Message().message(1, meta_info);
  std::string graph = graph_def_file::graph_def(spec.nodes, spec.functions);
  made.bytes(2, graph);
  for (const auto& [name, each] : spec.signatures)
    made.message(5, Message().bytes(1, name).message(2, signature(each)));
  return made;
}

std::string saved_model(const std::vector<MetaGraphSpec>& graphs) {
  Message made = Message().integer(1, 1);
  for (const MetaGraphSpec& graph : graphs) made.message(2, meta_graph(graph));
  return made.data;
}

} // namespace lanner::test::saved_model_file
