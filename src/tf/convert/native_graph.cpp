#include "tf/convert/native_graph.h"

#include <algorithm>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include <lanner/error.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits/account.h"
#include "base/text/one_line.h"
#include "importers/tensorflow/control_flow/dataflow.h"
#include "importers/tensorflow/graph_def.h"
#include "importers/tensorflow/node_references.h"
#include "importers/tensorflow/state.h"
#include "tf/convert/flat_index.h"
#include "tf/convert/library_functions.h"
#include "tf/convert/node_record.h"
#include "tf/write/tensor_proto.h"

namespace lanner::tf {
namespace {

using tensorflow::attribute_of;
using tensorflow::node_of;

constexpr std::int64_t resource_type = 20;
constexpr DataType no_type{}; // of a node without results
constexpr const char* initial_signature = "__saved_model_init_op";
constexpr std::size_t longest_shown = 200;

/// Whether a node is a conditional or loop that was made of control flow of TensorFlow 1.
bool is_dataflow(const ImportNode& node) {
  return std::ranges::any_of(node.attributes, [](const auto& entry) {
    return std::holds_alternative<std::shared_ptr<ImportGraph>>(entry.second.value) &&
           entry.second.kind != 10;
  });
}

/// Operators that read a variable's tensor, and can be written without its handle.
bool reads_tensor(const ImportNode& node) {
  return node.op == "ReadVariableOp" || node.op == "ResourceGather" || node.op == "ResourceGatherNd";
}

/// Whether a node gives the value of a variable of TensorFlow 1. What Identity gives is the variable's
/// memory, which an engine, as it waits for all its inputs, would read after later writes.
bool reads_reference(const ImportNode& node) {
  constexpr std::int64_t text = 7;
  const auto* type = attribute_of<std::int64_t>(node, "T");
  return node.op == "Identity" && node.attributes.contains(tensorflow::reference_mark) && type &&
         *type != text;
}

bool passes_handle(const ImportNode& node) {
  const auto* type = attribute_of<std::int64_t>(node, "T");
  return node.op == "Identity" && type && *type == resource_type && !node.inputs.empty();
}

/// The CollectionDef of one node's name.
RawMessage node_collection(const std::string& name) {
  std::string list, bytes;
  protozero::pbf_writer(list).add_string(1, name);
  protozero::pbf_writer(bytes).add_message(1, list);
  return {bytes};
}

/// Adds what nodes compute: names, operators, inputs and constants.
void add_nodes_to(Hasher& hasher, const std::vector<ImportNode>& nodes) {
  for (const ImportNode& node : nodes) {
    check_deadline();
    hasher.update(fmt::format("{} {}\n", node.name, node.op));
    for (const std::string& input : node.inputs) hasher.update(input + "\n");
    for (const auto& [name, attribute] : node.attributes) {
      const auto* value = std::get_if<Tensor>(&attribute.value);
      if (!value) continue;
      const Tensor tensor = plain(*value);
      if (tensor.dtype() == DType::string)
        for (const std::string& text : tensor.as<std::string>()) hasher.update(text + "\n");
      else
        hasher.update(element_bytes(tensor));
    }
  }
}

const tensorflow::SourceLibrary& no_library() {
  static const tensorflow::SourceLibrary none;
  return none;
}

} // namespace

NativeGraph::NativeGraph(const Division& division, const std::map<std::string, std::string>& results,
                         MetaGraphRecord& meta)
    : division_(division), index_(*division.index),
      library_(division.library ? *division.library : no_library()), results_(results), meta_(meta) {
  const std::vector<ImportNode>& nodes = division.flat.graph.nodes;
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    if (!is_native(division, n) || !is_dataflow(nodes[n])) continue;
    const auto found = library_.dataflow.find(nodes[n].name);
    if (found == library_.dataflow.end()) continue; // inside of a function: refused where it is written
    for (const ImportNode& node : found->second.nodes) dataflow_.insert(node.name);
    for (const auto& [value, name] : found->second.results) replaced_.emplace(value, name);
  }
}

void NativeGraph::add_nodes() {
  const std::vector<ImportNode>& nodes = division_.flat.graph.nodes;
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    check_deadline();
    if (is_native(division_, n) && !dataflow_.contains(nodes[n].name)) add_node(nodes[n]);
    if (is_native(division_, n) && is_dataflow(nodes[n]) && dataflow_.contains(nodes[n].name))
      add_dataflow(nodes[n]); // a loop has the name of one of its nodes
  }
}

void NativeGraph::write(NodeRecord record) {
  if (!written_.insert(record.name).second) return;
  if (tensorflow::is_variable(record.op)) { // one process has one variable of a name, whatever model it is of
    AttrValue& given = record.attributes.emplace("shared_name", std::string()).first->second;
    const auto* shared = std::get_if<std::string>(&given);
    const bool named = shared && !shared->empty();
    // Without a name a variable of TensorFlow 1 is its node's alone: each import of the graph has its own.
    if (!named && record.op != "VarHandleOp" && library_.assets.empty())
      has_unnamed_ = true;
    else
      given = fmt::format("{}/{}", named ? *shared : record.name, content_hash());
  }
  meta_.graph.nodes.push_back(std::move(record));
}

/// A hash that models have in common only if they are equal.
const std::string& NativeGraph::content_hash() {
  if (!content_hash_.empty()) return content_hash_;
  Hasher hasher;
  add_nodes_to(hasher, division_.flat.graph.nodes);
  add_nodes_to(hasher, library_.initial);
  for (const auto& [name, message] : library_.functions) hasher.update(message);
  return content_hash_ = hasher.hex();
}

void NativeGraph::write_called(const ImportNode& node) {
  for (const auto& [name, attribute] : node.attributes) {
    const auto* text = std::get_if<std::string>(&attribute.value);
    const auto* graph = std::get_if<std::shared_ptr<ImportGraph>>(&attribute.value);
    const auto* list = std::get_if<std::vector<std::string>>(&attribute.value);
    if (attribute.kind == 10 && (text || (graph && *graph))) {
      const std::string& called = text ? *text : (*graph)->name;
      if (!called.empty()) add_functions(library_, called, functions_, meta_.graph);
    } else if (attribute.kind == ImportAttribute::list_kind + 10 && list) {
      for (const std::string& called : *list) add_functions(library_, called, functions_, meta_.graph);
    }
  }
  if (library_.functions.contains(node.op)) add_functions(library_, node.op, functions_, meta_.graph);
}

void NativeGraph::add_node(const ImportNode& node) {
  if (is_dataflow(node) && library_.dataflow.contains(node.name)) return add_dataflow(node);
  const bool foreign = division_.trial.reasons.contains(node.name);
  NodeRecord record = record_of(node, foreign);
  if (reads_tensor(node) && !node.inputs.empty() && variable_behind(node.inputs[0])) read_constants(record);
  if (reads_reference(node)) record.op = "Snapshot";
  if (const auto* back = attribute_of<std::vector<std::string>>(node, tensorflow::back_edges)) {
    for (const std::string& input : *back) record.inputs.push_back(outer_reference(input, false));
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    record.inputs[i] = input_reference(node, node.inputs[i]);
  for (const std::string& control : node.controls)
    if (division_.trial.reasons.contains(control)) record.inputs.push_back("^" + control);
  write_called(node);
  write(std::move(record));
}

/// The nodes for which a conditional or loop stands.
void NativeGraph::add_dataflow(const ImportNode& node) {
  for (const ImportNode& each : library_.dataflow.find(node.name)->second.nodes) {
    NodeRecord record = record_of(each, true);
    const auto* type = attribute_of<std::int64_t>(each, "T");
    for (std::string& input : record.inputs) {
      const std::string name = node_of(input.starts_with('^') ? input.substr(1) : input);
      if (!dataflow_.contains(name)) input = outer_reference(input, type && *type == resource_type);
    }
    std::erase(record.inputs, "");
    write_called(each);
    write(std::move(record));
  }
}

/// A node's input as written in the file, in the graph that is written; empty for a control edge that has no
/// meaning there.
std::string NativeGraph::outer_reference(const std::string& written, bool takes_handle) {
  if (written.starts_with('^')) {
    const std::string name = written.substr(1);
    return division_.trial.reasons.contains(name) ? written : std::string();
  }
  const std::size_t colon = written.find(':');
  const std::string value =
      colon == std::string::npos || written.substr(colon) == ":0" ? written.substr(0, colon) : written;
  const ImportNode* variable = takes_handle ? variable_behind(value) : nullptr;
  return variable ? handle_of(*variable) : reference(value);
}

/// The variable whose handle a value was before freezing; null for other values.
const ImportNode* NativeGraph::variable_behind(const std::string& given) const {
  std::string value = given;
  for (std::size_t step = 0; step < division_.flat.graph.nodes.size(); ++step) {
    const NodeOutput* made = index_.maker(value);
    if (!made) return nullptr;
    const ImportNode& node = division_.flat.graph.nodes[made->node];
    if (node.attributes.contains(tensorflow::variable_mark)) return &node;
    if (!passes_handle(node)) return nullptr;
    value = node.inputs[0];
  }
  return nullptr;
}

std::string NativeGraph::input_reference(const ImportNode& node, const std::string& value) {
  const ImportNode* variable = variable_behind(value);
  if (!variable) return reference(value);
  return reads_tensor(node) ? reference(variable->outputs.at(0)) : handle_of(*variable);
}

/// A variable that is a constant for what is converted, and has a handle for functions that read it.
std::string NativeGraph::handle_of(const ImportNode& variable) {
  const std::string name = variable.name + "/lanner_handle";
  if (!handles_.insert(name).second) return name;
  const auto* value = attribute_of<Tensor>(variable, "value");
  check(value != nullptr, ErrorCode::bad_data, "variable {}: it has no value",
        one_line(variable.name, longest_shown));
  NodeRecord handle{name, "VarHandleOp", {}, {}, {}};
  handle.attributes["dtype"] = data_type_of(value->dtype());
  handle.attributes["shape"] = PartialShape{value->shape().dims()};
  NodeRecord assign{variable.name + tensorflow::assignment_suffix, "AssignVariableOp", {}, {}, {}};
  assign.inputs = {name, reference(variable.outputs.at(0))};
  assign.attributes["dtype"] = data_type_of(value->dtype());
  initialisers_.push_back(assign.name);
  write(std::move(handle));
  write(std::move(assign));
  return name;
}

void NativeGraph::add_constant(std::uint32_t n) {
  std::set<std::uint32_t> needed{n};
  index_.add_constants(needed);
  for (const std::uint32_t each : needed) {
    const ImportNode& node = division_.flat.graph.nodes[each];
    if (written_.contains(node.name)) continue;
    NodeRecord record = record_of(node);
    read_constants(record);
    write_called(node);
    write(std::move(record));
  }
}

std::string NativeGraph::reference(const std::string& value) {
  if (const auto found = results_.find(value); found != results_.end()) return found->second;
  if (const auto found = replaced_.find(value); found != replaced_.end()) return found->second;
  if (dataflow_.contains(node_of(value))) return value;
  const NodeOutput* made = index_.maker(value);
  if (made && index_.is_constant(made->node)) add_constant(made->node);
  const bool known = made ? index_.is_constant(made->node) || is_native(division_, made->node)
                          : std::ranges::find(division_.flat.graph.inputs, value, &ImportValue::name) !=
                                division_.flat.graph.inputs.end();
  check(known, ErrorCode::unsupported,
        "value {}: a native node reads it in a way that cannot be written; exclude node {} from engines",
        one_line(value, longest_shown), one_line(node_of(value), longest_shown));
  return value;
}

std::vector<std::string> NativeGraph::effects() const {
  std::set<std::string_view> results;
  for (const ImportValue& output : division_.flat.graph.outputs) results.insert(output.name);
  std::vector<std::string> found;
  const std::vector<ImportNode>& nodes = division_.flat.graph.nodes;
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    if (!is_native(division_, n) || !tensorflow::touches_state(nodes[n]) || dataflow_.contains(nodes[n].name))
      continue;
    const bool read = std::ranges::any_of(nodes[n].outputs, [&](const std::string& output) {
      return results.contains(output) || !index_.readers(output).empty();
    });
    if (!read) found.push_back("^" + nodes[n].name);
  }
  return found;
}

void NativeGraph::add_initial() {
  for (const ImportNode& node : library_.initial) {
    write_called(node);
    write(record_of(node, true));
  }
  for (const tensorflow::AssetFile& asset : library_.assets)
    if (written_.contains(node_of(asset.tensor))) meta_.assets.push_back({asset.tensor, asset.file});
  initialisers_.insert(initialisers_.end(), library_.initialisers.begin(), library_.initialisers.end());
  if (initialisers_.empty()) return;
  NodeRecord all{"lanner_initial", "NoOp", {}, {}, {}};
  for (const std::string& name : initialisers_) all.inputs.push_back("^" + name);
  write(std::move(all));
  meta_.collections["saved_model_main_op"] = node_collection("lanner_initial");
  if (!has_unnamed_) return;
  // By the collection TensorFlow runs the node of a graph's first import, by a signature each import's. Where
  // the node needs paths of assets it takes no signature.
  SignatureRecord signature;
  signature.outputs[initial_signature] = {"lanner_initial", no_type, {}};
  signature.method = {};
  meta_.signatures[initial_signature] = std::move(signature);
}

} // namespace lanner::tf
