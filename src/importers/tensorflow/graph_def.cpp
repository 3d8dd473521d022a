#include "importers/tensorflow/graph_def.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "base/text/one_line.h"
#include "graph/op.h"
#include "importers/protobuf.h"
#include "importers/tensorflow/control_flow/dataflow.h"
#include "importers/tensorflow/control_flow/loop_functions.h"
#include "importers/tensorflow/engine_nodes.h"
#include "importers/tensorflow/node_outputs.h"
#include "importers/tensorflow/node_references.h"
#include "importers/tensorflow/state.h"

namespace lanner::tensorflow {
namespace {

constexpr std::size_t longest_name = 200;

bool is_placeholder(const ImportNode& node) {
  return node.op == "Placeholder" || node.op == "PlaceholderV2";
}

/// Nodes that are not outputs, though nothing reads them.
bool gives_nothing(const ImportNode& node) {
  static const std::set<std::string, std::less<>> silent{"Const", "NoOp", "Assert", "Placeholder",
                                                         "PlaceholderV2"};
  return silent.contains(node.op) || initialises_table(node);
}

Type placeholder_type(const ImportNode& node, std::int64_t producer) {
  const auto dtype = node.attributes.find("dtype"), shape = node.attributes.find("shape");
  const auto* number =
      dtype == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&dtype->second.value);
  check(number != nullptr, ErrorCode::bad_data, "placeholder {}: attribute dtype is missing", node.name);
  const DType type = dtype_of_tensorflow(*number);
  const Type* dims = shape == node.attributes.end() ? nullptr : std::get_if<Type>(&shape->second.value);
  // Before this version a shape without dims meant an unknown shape.
  constexpr std::int64_t first_with_scalars = 24;
  if (!dims || !dims->ranked() || (dims->rank() == 0 && producer < first_with_scalars))
    return Type::unranked(type);
  return dims->with_dtype(type);
}

bool is_open(const Dim& dim) {
  const auto symbol = dim.as_symbol();
  return symbol && symbol->starts_with("unknown__");
}

/// The first dim of the only input that leaves it open is the batch; of several inputs each gets its own
/// symbol.
void name_batch(std::vector<ImportValue>& inputs) {
  ImportValue* only = nullptr;
  for (ImportValue& input : inputs) {
    if (!input.type->ranked() || input.type->rank() == 0 || !is_open(input.type->dims()[0])) continue;
    if (only) return;
    only = &input;
  }
  if (!only) return;
  Dims dims = only->type->dims();
  dims[0] = Dim::symbol("batch");
  only->type = only->type->with_dims(std::move(dims));
}

FunctionOutputs outputs_of(const std::vector<FunctionRecord>& records) {
  FunctionOutputs outputs;
  for (const FunctionRecord& record : records) {
    auto& numbers = outputs[record.name];
    numbers.clear(); // of two nodes with the same name the last one counts
    for (std::size_t i = 0; i < record.outputs.size(); ++i)
      numbers.emplace(record.outputs[i], static_cast<std::int64_t>(i));
  }
  return outputs;
}

std::map<std::string, ImportFunction> functions_of(std::vector<FunctionRecord>& records,
                                                   const FunctionOutputs& outputs, const Effects& effects) {
  std::map<std::string, ImportFunction> functions;
  for (FunctionRecord& record : records) {
    ImportFunction function;
    std::vector<std::string> results;
    for (const std::string& name : record.outputs) {
      const auto found = record.results.find(name);
      check(found != record.results.end(), ErrorCode::bad_data, "function {}: output {} has no entry in ret",
            record.name, name);
      results.push_back(found->second);
    }
    structure_dataflow(record.nodes, outputs, References::Form::in_function);
    const std::size_t count = results.size();
    // Nodes that write variables stay, so that a call is refused rather than computed without them.
    if (const auto found = effects.functions.find(record.name); found != effects.functions.end())
      results.insert(results.end(), found->second.begin(), found->second.end());
    References references(outputs, References::Form::in_function);
    function.outputs = references.resolve(record.nodes, std::move(results));
    function.outputs.resize(count);
    function.inputs = std::move(record.inputs);
    function.nodes = std::move(record.nodes);
    functions.insert_or_assign(std::string(function_domain) + "." + record.name, std::move(function));
  }
  return functions;
}

/// What only TensorFlow can use, before nodes are changed. Gives the variables that are not constant.
NodeNames keep_for_tensorflow(const GraphRecord& record, const GraphEnds* ends, const Effects& effects,
                              std::vector<std::string> initial, const VariableReader& variables,
                              SourceLibrary& library) {
  library.text = record.reading->text;
  for (const FunctionRecord& function : record.functions)
    if (!function.message.empty()) library.functions[function.name] = function.message;
  std::vector<std::string> results = effects.graph;
  if (ends)
    for (const ImportValue& output : ends->outputs) results.push_back(output.name);
  const bool says_initial = !initial.empty(); // a GraphDef does not
  for (const ImportNode& node : record.nodes) {
    if (!ends) results.push_back(node.name);
    if (!says_initial && initialises_table(node)) initial.push_back(node.name);
  }
  const NodeNames kept = dependencies(record.nodes, std::move(results));
  NodeNames live;
  if (variables) live = written_variables(record, kept);
  add_initial(record, kept, live, initial, library);
  for (const ImportNode& node : record.nodes)
    if (live.contains(node.name)) {
      with_context([&] { return fmt::format("variable {}", one_line(node.name, longest_name)); },
                   [&] { add_first_value(node, variables(node), library); });
    }
  return live;
}

void require_own_names(const std::vector<ImportNode>& nodes) {
  std::set<std::string_view> names;
  for (const ImportNode& node : nodes)
    check(names.insert(node.name).second, ErrorCode::bad_data, "two nodes are named '{}'",
          one_line(node.name, longest_name));
}

/// Every result that nothing reads is an output, named after its node.
void require_short_names(const ImportNode& node, std::int64_t results) {
  constexpr std::uint64_t most = 1u << 20;
  const std::uint64_t bytes = static_cast<std::uint64_t>(results) * node.name.size();
  check(results == 1 || bytes <= most, ErrorCode::limit_exceeded,
        "node '{}': the names of its {} results take {} bytes, expected at most {}; give it a shorter name",
        one_line(node.name, longest_name), results, bytes, most);
}

/// The results of a graph that does not name them: what nothing reads.
std::vector<std::string> unread_results(const GraphRecord& record) {
  std::set<std::string, std::less<>> read;
  for (const ImportNode& node : record.nodes)
    for (const std::string& input : node.inputs) read.insert(node_of(input));
  std::vector<std::string> results;
  for (const ImportNode& node : record.nodes)
    if (!read.contains(node.name) && !gives_nothing(node)) {
      const std::int64_t shown = shown_outputs(node);
      require_short_names(node, shown);
      count_bytes(static_cast<std::uint64_t>(shown) * (sizeof(std::string) + node.name.size()));
      for (std::int64_t i = 0; i < shown; ++i) results.push_back(tensor_name(node.name, i));
      check_limit("nodes", results.size(), record.reading->limits.nodes, "{} outputs", results.size());
    }
  const auto computes = std::ranges::find_if_not(record.nodes, gives_nothing);
  check(!results.empty() || computes == record.nodes.end(), ErrorCode::bad_data,
        "node {}: every result is read by another node, so the graph has a cycle and no output",
        computes == record.nodes.end() ? "" : one_line(computes->name, longest_name));
  return results;
}

/// Inputs that a signature names: each gets the signature's name and type, and what fed it is cut off.
void cut_at_inputs(std::vector<ImportNode>& nodes, const std::vector<ImportValue>& inputs) {
  std::map<std::string_view, ImportNode*> by_name;
  for (ImportNode& node : nodes) by_name.emplace(node.name, &node);
  for (const ImportValue& input : inputs) {
    const auto found = by_name.find(node_of(input.name));
    check(found != by_name.end(), ErrorCode::bad_data, "input {}: the graph has no node '{}'",
          one_line(input.label, longest_name), one_line(node_of(input.name), longest_name));
    const std::size_t colon = input.name.find(':');
    check(colon == std::string::npos || input.name.substr(colon) == ":0", ErrorCode::unsupported,
          "input {}: is result {} of a node; expected a node with one result",
          one_line(input.label, longest_name), one_line(input.name, longest_name));
    ImportNode& node = *found->second;
    if (is_placeholder(node)) continue;
    node.op = "Placeholder";
    node.inputs.clear();
  }
}

/// The inputs of a graph whose nodes are resolved: placeholders, or those of the signature in its order.
std::vector<ImportValue> inputs_of(const std::vector<const ImportNode*>& placeholders,
                                   const GraphRecord& record, const GraphEnds* ends) {
  std::vector<ImportValue> inputs;
  std::set<std::string, std::less<>> named;
  for (const ImportValue& input : ends ? ends->inputs : std::vector<ImportValue>{}) {
    const std::string name = node_of(input.name);
    check(named.insert(name).second, ErrorCode::unsupported, "input {}: another input is the same tensor {}",
          one_line(input.label, longest_name), one_line(name, longest_name));
    const auto node = std::ranges::find(placeholders, name, &ImportNode::name);
    std::optional<Type> type = input.type;
    if (node != placeholders.end() && (*node)->attributes.contains("dtype") && (!type || !type->ranked()))
      type = placeholder_type(**node, record.producer);
    inputs.push_back({name, std::move(type), input.label});
  }
  for (const ImportNode* node : placeholders) {
    if (named.contains(node->name)) continue;
    check(!ends || ends->inputs.empty(), ErrorCode::bad_data,
          "placeholder {} is read, but the signature does not name it", one_line(node->name, longest_name));
    inputs.push_back({node->name, placeholder_type(*node, record.producer)});
  }
  name_batch(inputs);
  return inputs;
}

/// A variable becomes a constant of its value.
void freeze(ImportNode& node, const VariableReader& variables) {
  with_context([&] { return fmt::format("variable {}", one_line(node.name, longest_name)); },
               [&] {
                 ImportAttribute value;
                 value.value = variables(node);
                 const bool has_handle = node.op == "VarHandleOp";
                 node.op = "Const";
                 node.attributes.clear();
                 if (has_handle)
                   node.attributes.emplace(variable_mark, ImportAttribute{std::int64_t{1}, {}, 0});
                 node.attributes.emplace("value", std::move(value));
               });
}

bool looks_like_binary(std::span<const std::byte> bytes) {
  // A node's first field is its name or, where that is left out, its operator; a function's its signature.
  const auto at = [&](std::size_t i) { return i < bytes.size() ? std::to_integer<int>(bytes[i]) : -1; };
  if (at(0) != 0x0a && at(0) != 0x12) return false;
  std::size_t inner = 1;
  while (at(inner) >= 0x80) ++inner;
  if (at(0) == 0x12) return at(inner + 1) == 0x0a && at(inner + 2) >= 0;
  return at(inner + 1) == 0x0a || at(inner + 1) == 0x12;
}

bool looks_like_text(std::span<const std::byte> bytes) {
  static const std::set<std::string, std::less<>> known{"node", "versions", "version", "library"};
  const std::vector<std::string> names = leading_fields(bytes, 8);
  return !names.empty() &&
         std::ranges::all_of(names, [](const std::string& name) { return known.contains(name); });
}

} // namespace

ImportModel model_of(GraphRecord& record, const GraphEnds* ends, const VariableReader& variables,
                     SourceLibrary* library, const std::vector<std::string>& initial) {
  ImportModel model;
  model.dtype_of = dtype_of_tensorflow;
  require_own_names(record.nodes);
  replace_engine_nodes(record);
  const FunctionOutputs functions = outputs_of(record.functions);
  std::vector<std::string> results;
  if (ends)
    for (const ImportValue& output : ends->outputs) results.push_back(output.name);
  const Effects effects = effects_of(record, results, library);
  NodeNames live;
  if (library) live = keep_for_tensorflow(record, ends, effects, initial, variables, *library);
  mark_reference_readers(record, live);
  structure_dataflow(record.nodes, functions, References::Form::in_graph,
                     library ? &library->dataflow : nullptr);
  if (ends)
    cut_at_inputs(record.nodes, ends->inputs);
  else
    results = unread_results(record);
  References references(functions, References::Form::in_graph);
  const std::size_t count = results.size();
  results.insert(results.end(), effects.graph.begin(), effects.graph.end());
  results = references.resolve(record.nodes, std::move(results));
  for (std::size_t i = 0; i < count; ++i)
    model.graph.outputs.push_back({std::move(results[i]), {}, ends ? ends->outputs[i].label : ""});
  std::vector<const ImportNode*> placeholders;
  for (ImportNode& node : record.nodes) {
    if (is_placeholder(node)) {
      placeholders.push_back(&node);
      continue;
    }
    if (variables && is_variable(node) && !live.contains(node.name)) freeze(node, variables);
    model.graph.nodes.push_back(std::move(node));
  }
  model.graph.inputs = inputs_of(placeholders, record, ends);
  model.functions = functions_of(record.functions, functions, effects);
  embed_loop_functions(model);
  return model;
}

void drop_shapes(GraphRecord& graph, const OpTable& ops) {
  const auto drop = [&](std::vector<ImportNode>& nodes) {
    for (ImportNode& node : nodes)
      if (ops.find("tf." + node.op)) node.attributes.erase("_output_shapes");
  };
  drop(graph.nodes);
  for (FunctionRecord& function : graph.functions) drop(function.nodes);
}

ImportModel read_graph_def(const Content& content, const ImportOptions& options, SourceLibrary* library) {
  Reading reading{TensorReader(content, options.limits), options.limits, 0};
  GraphRecord record{&reading, {}, {}, 0};
  reading.text = looks_like_text(content.bytes);
  read_graph_file(content.bytes, reading.text, record);
  drop_shapes(record, options.ops);
  if (library) library->owners.push_back(content.owner);
  if (!library || options.outputs.empty()) return model_of(record, nullptr, {}, library);
  GraphEnds ends;
  for (const std::string& output : options.outputs) ends.outputs.push_back({output, {}, output});
  for (const ImportValue& output : ends.outputs)
    check(std::ranges::find(record.nodes, node_of(output.name), &ImportNode::name) != record.nodes.end(),
          ErrorCode::not_found, "outputs: the graph has no node '{}'",
          one_line(node_of(output.name), longest_name));
  return model_of(record, &ends, {}, library);
}

bool looks_like_graph_def(std::span<const std::byte> bytes) {
  return looks_like_binary(bytes) || looks_like_text(bytes);
}

} // namespace lanner::tensorflow
