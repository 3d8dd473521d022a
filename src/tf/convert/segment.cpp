#include "tf/convert/segment.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/text/one_line.h"
#include "importers/tensorflow/node_outputs.h"
#include "tf/convert/library_functions.h"
#include "tf/convert/node_record.h"
#include "tf/segment/segmenter.h"

namespace lanner::tf {
namespace {

/// The name of an argument of a function: lower case, as TensorFlow makes them of nodes' names.
std::string argument_name(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

DataType type_in(const Division& division, const std::string& value) {
  const auto type = division.trial.types.find(value);
  return data_type_of(type == division.trial.types.end() ? DType::f32 : type->second.dtype());
}

/// A node of an engine, whose variables are constants.
NodeRecord converted_record(const ImportNode& node) {
  NodeRecord record = record_of(node);
  read_constants(record);
  return record;
}

/// How a node's results are called within a function, by their values: `node:output:0`.
void add_results(const ImportNode& node, const std::string& op, std::map<std::string, std::string>& names) {
  ImportNode written;
  written.name = node.name;
  written.op = op;
  written.attributes = node.attributes;
  if (op != node.op && node.attributes.contains("dtype")) // it read a variable
    written.attributes["T"] = written.attributes["Tparams"] = node.attributes.find("dtype")->second;
  std::size_t i = 0;
  for (const tensorflow::OutputArgument& argument : tensorflow::output_arguments(written))
    for (std::int64_t each = 0; each < argument.count && i < node.outputs.size(); ++each, ++i)
      names[node.outputs[i]] = fmt::format("{}:{}:{}", node.name, argument.name, each);
  const auto unnamed = std::any_of(node.outputs.begin() + static_cast<std::ptrdiff_t>(i), node.outputs.end(),
                                   [](const std::string& output) { return !output.empty(); });
  check(!unnamed || i > 0, ErrorCode::unsupported,
        "node {} ({}): the names of its results are not known; exclude it from engines",
        one_line(node.name, 200), one_line(op, 200));
}

/// The functions that a segment's control flow calls.
void add_called(const Division& division, const NodeRecord& record, std::set<std::string, std::less<>>& added,
                GraphRecord& graph) {
  static const tensorflow::SourceLibrary none;
  const tensorflow::SourceLibrary& library = division.library ? *division.library : none;
  for (const auto& [name, value] : record.attributes) {
    if (const auto* function = std::get_if<FunctionName>(&value))
      add_functions(library, function->name, added, graph);
    else if (const auto* list = std::get_if<std::vector<FunctionName>>(&value))
      for (const FunctionName& each : *list) add_functions(library, each.name, added, graph);
  }
}

} // namespace

std::string add_segment_function(const Division& division, const PartPlan& plan, const Limits& limits,
                                 std::set<std::string, std::less<>>& added, GraphRecord& graph) {
  const ImportModel model = part_model(division, plan, limits);
  FunctionRecord function;
  function.name = plan.name + "_native_segment";
  std::ranges::replace(function.name, '/', '_');
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < model.graph.inputs.size(); ++i) {
    const ImportValue& input = model.graph.inputs[i];
    names[input.name] = argument_name(input.label);
    function.inputs.push_back({names[input.name], data_type_of(input.type->dtype()), {}});
  }
  for (const ImportNode& node : model.graph.nodes) {
    function.nodes.push_back(converted_record(node));
    add_results(node, function.nodes.back().op, names);
    add_called(division, function.nodes.back(), added, graph);
  }
  const auto named = [&](const std::string& value) {
    const auto found = names.find(value);
    check(found != names.end(), ErrorCode::bad_data, "value {}: no node of the segment writes it",
          one_line(value, 200));
    return found->second;
  };
  for (NodeRecord& node : function.nodes)
    for (std::string& input : node.inputs) input = named(input);
  for (std::size_t i = 0; i < model.graph.outputs.size(); ++i) {
    const ImportValue& output = model.graph.outputs[i];
    const std::string name = argument_name(output.label);
    function.outputs.push_back({name, type_in(division, plan.outputs[i]), {}});
    function.results[name] = named(output.name);
  }
  graph.functions.push_back(std::move(function));
  return graph.functions.back().name;
}

std::string segment_bytes(const Division& division, const PartPlan& plan, const Limits& limits) {
  const ImportModel model = part_model(division, plan, limits);
  GraphRecord graph;
  std::set<std::string, std::less<>> added;
  std::map<std::string, std::string> names;
  for (const ImportValue& input : model.graph.inputs) {
    names[input.name] = input.label;
    graph.nodes.push_back(placeholder(input.label, *input.type));
  }
  for (const ImportNode& node : model.graph.nodes) {
    NodeRecord& record = graph.nodes.emplace_back(converted_record(node));
    add_called(division, record, added, graph);
    for (std::string& input : record.inputs)
      if (const auto renamed = names.find(input); renamed != names.end()) input = renamed->second;
  }
  for (std::size_t i = 0; i < model.graph.outputs.size(); ++i) {
    const ImportValue& output = model.graph.outputs[i];
    NodeRecord node{output.label, "Identity", {}, {output.name}, {}};
    if (const auto given = names.find(output.name); given != names.end()) node.inputs = {given->second};
    node.attributes.emplace("T", type_in(division, plan.outputs[i]));
    graph.nodes.push_back(std::move(node));
  }
  return serialized(graph);
}

} // namespace lanner::tf
