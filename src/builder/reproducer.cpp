#include "builder/reproducer.h"

#include <map>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/file/file.h"
#include "base/text/joined.h"
#include "graph/copy.h"
#include "graph/op.h"
#include "importers/onnx/onnx_writer.h"
#include "tensor/safetensors.h"

namespace lanner {
namespace {

/// Whether an operand is an input of the reproducer, stored in the file of operands.
bool is_input(const Value& value, const Tensor& operand) {
  return !value.constant() && safetensors_has(operand.dtype());
}

/// Operands by name, each once.
std::map<std::string, Tensor> kept_operands(const DifferingNode& found) {
  std::map<std::string, Tensor> kept;
  for (std::size_t i = 0; i < found.operands.size(); ++i) {
    const Value* value = found.node->input(i);
    if (value && is_input(*value, found.operands[i])) kept[value->name()] = found.operands[i];
  }
  return kept;
}

} // namespace

std::unique_ptr<Graph> graph_of(const DifferingNode& found) {
  const Node& node = *found.node;
  check(!is_conversion(node), ErrorCode::unsupported, "ONNX has no form for a change of storage");
  auto graph = std::make_unique<Graph>(node.region()->graph().ops(), "reproducer");
  NodeCopier copier(graph->body());
  std::map<const Value*, Value*> mapped;
  std::vector<Value*> operands;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* value = node.input(i);
    Value* made = nullptr;
    if (value) {
      Value*& once = mapped[value];
      const Tensor& operand = found.operands.at(i);
      if (!once && is_input(*value, operand))
        once = graph->add_input(value->name(), Type(operand.dtype(), operand.shape()));
      if (!once) once = graph->constant(operand, value->name());
      made = once;
      copier.map(value, made);
    }
    operands.push_back(made);
  }
  std::vector<Value*> results;
  if (is_group(node)) {
    const Region& body = *node.regions()[0];
    for (std::size_t i = 0; i < operands.size(); ++i) copier.map(body.parameter(i), operands[i]);
    results = copier.copy_nodes(body);
  } else {
    for (const auto& output : copier.copy(node)->outputs()) results.push_back(output.get());
  }
  for (const auto& inner : graph->body().nodes()) {
    inner->tactic = {};
    for (const auto& output : inner->outputs()) output->storage = {};
  }
  for (std::size_t o = 0; o < results.size(); ++o) {
    if (node.output(o)->unused()) continue;
    if (results[o]->name() != node.output(o)->name()) graph->rename(results[o], node.output(o)->name());
    graph->add_output(results[o]->name(), results[o]);
  }
  return graph;
}

std::filesystem::path operands_path(const std::filesystem::path& model) {
  std::filesystem::path path = model;
  path.replace_extension(".inputs.safetensors");
  return path;
}

void write_reproducer(const DifferingNode& found, const std::string& reason,
                      const std::filesystem::path& model) {
  const std::unique_ptr<Graph> graph = graph_of(found);
  const std::string bytes = onnx::write_onnx(
      *graph, fmt::format("Kernel {}:{} of node {} (of {}) is wrong: {}.", found.node->tactic.backend,
                          found.node->tactic.kernel, found.node->output()->name(),
                          joined(found.node->sources, ", "), reason));
  const std::map<std::string, Tensor> kept = kept_operands(found);
  std::vector<SafetensorsItem> items;
  for (const auto& [name, tensor] : kept) items.push_back(safetensors_item(name, tensor));
  write_safetensors(operands_path(model), items);
  write_file(model, std::as_bytes(std::span(bytes)));
}

} // namespace lanner
