#include "importers/tensorflow/flat_graph.h"

#include <algorithm>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "base/text/foreign_format.h"
#include "base/text/one_line.h"
#include "importers/keras/keras_importer.h"
#include "importers/node_order.h"
#include "importers/tensorflow/engine_nodes.h"
#include "importers/tensorflow/graph_def.h"
#include "importers/tensorflow/saved_model.h"
#include "importers/tensorflow/tensor_record.h"

namespace lanner::tensorflow {
namespace {

using Names = std::map<std::string, std::string>;

std::string flat_name(const Names& names, const std::string& name) {
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

/// The body of a conditional or loop, which reads outer values by name, with their flat names.
std::shared_ptr<ImportGraph> with_flat_names(const ImportGraph& graph, Names names) {
  auto made = std::make_shared<ImportGraph>(graph);
  for (const ImportValue& input : made->inputs) names.erase(input.name);
  for (const auto& [name, value] : made->constants) names.erase(name);
  for (const ImportNode& node : made->nodes)
    for (const std::string& output : node.outputs) names.erase(output);
  for (ImportNode& node : made->nodes) {
    for (std::string& input : node.inputs) input = flat_name(names, input);
    for (auto& [name, attribute] : node.attributes)
      if (auto* inner = std::get_if<std::shared_ptr<ImportGraph>>(&attribute.value); inner && *inner)
        *inner = with_flat_names(**inner, names);
  }
  for (ImportValue& output : made->outputs) output.name = flat_name(names, output.name);
  return made;
}

/// Inlines one graph's calls, and those of the functions that it calls.
class Inliner {
public:
  Inliner(const ImportModel& model, const Limits& limits, EngineNodes engines)
      : model_(model), limits_(limits), engines_(engines) {}

  void add(const std::vector<ImportNode>& nodes, const std::string& prefix, Names& names,
           const ImportNode* caller) {
    const auto visible = [&](std::string_view name) { return names.contains(std::string(name)); };
    for (const ImportNode* node : in_dependence_order(nodes, visible)) {
      check_deadline();
      if (node->domain.empty() || (engines_ == EngineNodes::kept && node->attributes.contains(engine_mark)))
        keep(*node, prefix, names, caller);
      else
        call(*node, prefix, names, caller);
    }
  }

  std::vector<ImportNode> made;

private:
  static void settle(ImportNode& node, const ImportNode* caller) {
    for (auto& [name, attribute] : node.attributes) {
      if (attribute.reference.empty() || !caller) continue;
      const auto given = caller->attributes.find(attribute.reference);
      if (given != caller->attributes.end()) attribute = ImportAttribute(given->second);
    }
  }

  void keep(const ImportNode& node, const std::string& prefix, Names& names, const ImportNode* caller) {
    check_limit("nodes", made.size() + 1, limits_.nodes, "{} nodes, those of functions counted at each call",
                made.size() + 1);
    count_bytes(sizeof(ImportNode) + (node.outputs.size() + 2) * (prefix.size() + node.name.size()));
    ImportNode copy = node;
    copy.name = prefix + node.name;
    for (std::string& input : copy.inputs) input = flat_name(names, input);
    for (std::string& output : copy.outputs) {
      if (output.empty()) continue;
      const std::string flat = prefix + output;
      names[output] = flat;
      output = flat;
    }
    for (std::string& control : copy.controls) control = prefix + control;
    for (auto& [name, attribute] : copy.attributes)
      if (auto* body = std::get_if<std::shared_ptr<ImportGraph>>(&attribute.value); body && *body)
        *body = with_flat_names(**body, names);
    settle(copy, caller);
    made.push_back(std::move(copy));
  }

  void call(const ImportNode& node, const std::string& prefix, Names& names, const ImportNode* caller) {
    const auto found = model_.functions.find(node.domain + "." + node.op);
    check(found != model_.functions.end(), ErrorCode::bad_data, "node {} calls '{}', which is no function",
          label_of(node), one_line(node.op, longest_name));
    const ImportFunction& function = found->second;
    check(std::ranges::find(calls_, &function) == calls_.end(), ErrorCode::bad_data,
          "function {} calls itself; expected functions without recursion", one_line(node.op, longest_name));
    check_limit("depth", calls_.size() + 1, limits_.depth, "calls are nested {} deep", calls_.size() + 1);
    check(node.inputs.size() <= function.inputs.size(), ErrorCode::bad_data,
          "node {} calls function {} with {} inputs, expected {}", label_of(node),
          one_line(node.op, longest_name), node.inputs.size(), function.inputs.size());
    Names inner;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      inner[function.inputs[i]] = flat_name(names, node.inputs[i]);
    ImportNode settled = node;
    settle(settled, caller);
    calls_.push_back(&function);
    add(function.nodes, prefix + node.name + "/", inner, &settled);
    calls_.pop_back();
    for (std::size_t i = 0; i < std::min(node.outputs.size(), function.outputs.size()); ++i)
      names[node.outputs[i]] = flat_name(inner, function.outputs[i]);
  }

  const ImportModel& model_;
  const Limits& limits_;
  EngineNodes engines_;
  std::vector<const ImportFunction*> calls_;
};

ImportModel read(const Content& content, const ImportOptions& options) {
  if (is_keras_model(content.bytes)) return keras::read_keras(content, options);
  if (looks_like_saved_model(content.bytes)) return read_saved_model(content, options);
  if (looks_like_meta_graph(content.bytes)) return read_meta_graph(content, options);
  check(looks_like_graph_def(content.bytes), ErrorCode::bad_data,
        "not a model of TensorFlow; expected the folder of a SavedModel, a frozen GraphDef, a MetaGraph, "
        "or a Keras file");
  return read_graph_def(content, options);
}

/// The element type of an unconverted node's output, as its attributes have it.
Type declared_type(const ImportNode& node, std::size_t i) {
  for (const char* name : {"Tout", "OutT", "output_types", "Toutput_types"})
    if (const auto* list = attribute_of<std::vector<std::int64_t>>(node, name); list && i < list->size())
      return Type::unranked(dtype_of_tensorflow((*list)[i]));
  for (const char* name : {"dtype", "DstT", "out_type", "output_type", "Tparams", "T"})
    if (const auto* type = attribute_of<std::int64_t>(node, name))
      return Type::unranked(dtype_of_tensorflow(*type));
  return Type::unranked(DType::f32);
}

} // namespace

std::vector<ImportNode> inlined(const ImportModel& model, const std::vector<ImportNode>& nodes,
                                const std::string& prefix, Names& names, const Limits& limits) {
  Inliner inliner(model, limits, EngineNodes::inlined);
  inliner.add(nodes, prefix, names, nullptr);
  return std::move(inliner.made);
}

ImportModel read_flat_graph(const SourcePtr& source, const ImportOptions& given, EngineNodes engines) {
  ImportOptions options = given;
  options.name = source->name();
  const Content content = read_all(source, options.limits);
  ImportModel model = read(content, options);
  Names names;
  for (const ImportValue& input : model.graph.inputs) names[input.name] = input.name;
  Inliner inliner(model, options.limits, engines);
  inliner.add(model.graph.nodes, "", names, nullptr);
  model.graph.nodes = std::move(inliner.made);
  for (ImportValue& output : model.graph.outputs) {
    if (output.label.empty()) output.label = output.name;
    if (const auto found = names.find(output.name); found != names.end()) output.name = found->second;
  }
  return model;
}

NodeTrial try_nodes(const ImportModel& model, const ImportOptions& options) {
  return GraphBuilder(model, rules_for(options), options)
      .try_nodes([](const ImportNode& node, std::size_t i) {
        try {
          return declared_type(node, i);
        } catch (const Error&) {
          return Type::unranked(DType::f32); // a resource or another type that no value here has
        }
      });
}

} // namespace lanner::tensorflow
