// Pass-through nodes, and control flow by functions.

#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/control_flow/dataflow.h"
#include "importers/tensorflow/control_flow/loop_parts.h"
#include "importers/tensorflow/graph_def.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

void pass_on(RuleContext& context) {
  for (std::size_t i = 0; i < context.node.outputs.size(); ++i) context.set_output(i, context.required(i));
}

ImportNode call(const std::string& function, std::vector<std::string> inputs,
                std::vector<std::string> outputs) {
  ImportNode node;
  node.name = node.op = function;
  node.domain = function_domain;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

std::vector<std::string> numbered(const char* stem, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("{}{}", stem, i));
  return names;
}

std::vector<ImportValue> values(const std::vector<std::string>& names) {
  std::vector<ImportValue> list;
  for (const std::string& name : names) list.push_back({name, {}});
  return list;
}

std::shared_ptr<ImportGraph> graph_attribute(const RuleContext& context, const char* name) {
  const auto* value = context.attribute(name);
  const auto* graph = value ? std::get_if<std::shared_ptr<ImportGraph>>(value) : nullptr;
  return graph ? *graph : nullptr;
}

ImportGraph call_graph(const RuleContext& context, const std::string& function,
                       const std::vector<std::string>& arguments) {
  const std::vector<std::string> results = numbered("branch/", context.node.outputs.size());
  ImportGraph branch;
  branch.name = function;
  branch.nodes.push_back(call(function, arguments, results));
  branch.outputs = values(results);
  return branch;
}

/// A branch of an If: a graph that reads outer values, or a function of the node's inputs.
ImportGraph branch_graph(const RuleContext& context, const char* name) {
  if (const auto graph = graph_attribute(context, name)) return *graph;
  const std::vector<std::string> arguments(context.node.inputs.begin() + (context.inputs() > 0),
                                           context.node.inputs.end());
  return call_graph(context, context.get<std::string>(name, "a function"), arguments);
}

void if_rule(RuleContext& context) {
  const ImportGraph branches[] = {branch_graph(context, "then_branch"), branch_graph(context, "else_branch")};
  check(branches[0].outputs.size() == branches[1].outputs.size(), ErrorCode::bad_data,
        "its branches have {} and {} results", branches[0].outputs.size(), branches[1].outputs.size());
  Node* node = context.emit_node("if", {cast(context, context.required(0), DType::boolean)}, {},
                                 branches[0].outputs.size());
  for (const ImportGraph& branch : branches) context.fill_region(*node, node->add_region(), branch, {});
  context.infer(*node);
  context.set_outputs(*node);
}

/// Branch `i` of a Case likewise, whose functions are a list.
ImportGraph case_branch(const RuleContext& context, std::size_t i) {
  const auto* functions = context.attribute("branches");
  const auto* names = functions ? std::get_if<std::vector<std::string>>(functions) : nullptr;
  if (!names) return branch_graph(context, fmt::format("branch_{}", i).c_str());
  const std::vector<std::string> arguments(context.node.inputs.begin() + (context.inputs() > 0),
                                           context.node.inputs.end());
  return call_graph(context, names->at(i), arguments);
}

std::size_t case_branches(const RuleContext& context) {
  const auto* functions = context.attribute("branches");
  if (const auto* names = functions ? std::get_if<std::vector<std::string>>(functions) : nullptr)
    return names->size();
  std::size_t count = 0;
  while (context.has_attribute(fmt::format("branch_{}", count))) ++count;
  return count;
}

/// Of branches `first` and later, by the number `number` minus `first`; the last one for any other number.
ImportGraph choice(const RuleContext& context, std::size_t first, std::size_t count) {
  if (first + 1 == count) return case_branch(context, first);
  ImportGraph graph;
  graph.name = fmt::format("branch_{}", first);
  const std::string stem = fmt::format("case/{}/", first);
  graph.constants.emplace_back(stem + "number", Tensor::scalar(static_cast<std::int32_t>(first)));
  ImportNode& equal = graph.nodes.emplace_back();
  equal.name = equal.op = "Equal";
  equal.inputs = {context.node.inputs.at(0), stem + "number"};
  equal.outputs = {stem + "chosen"};
  ImportNode& node = graph.nodes.emplace_back();
  node.name = context.node.name;
  node.op = "If";
  node.inputs = context.node.inputs;
  node.inputs[0] = stem + "chosen";
  node.outputs = numbered(stem.c_str(), context.node.outputs.size());
  node.attributes["then_branch"] = {std::make_shared<ImportGraph>(case_branch(context, first)), {}};
  node.attributes["else_branch"] = {std::make_shared<ImportGraph>(choice(context, first + 1, count)), {}};
  graph.outputs = values(node.outputs);
  return graph;
}

void case_rule(RuleContext& context) {
  const std::size_t count = case_branches(context);
  constexpr std::size_t most = 56; // each is nested in the one before, up to the limit `depth`
  check(count > 0 && count <= most, ErrorCode::unsupported, "{} branches; expected 1 to {}", count, most);
  const std::vector<Value*> results = context.inline_graph(choice(context, 0, count), {});
  for (std::size_t i = 0; i < results.size(); ++i) context.set_output(i, results[i]);
}

LoopParts loop_parts(const RuleContext& context) {
  const auto condition_graph = graph_attribute(context, "cond"),
             body_graph = graph_attribute(context, "body");
  if (condition_graph && body_graph) return {*condition_graph, *body_graph};
  const std::string condition = context.get<std::string>("cond", "a function"),
                    body = context.get<std::string>("body", "a function");
  const std::vector<std::string> before = numbered("loop/before/", context.inputs()),
                                 after = numbered("loop/after/", context.inputs()),
                                 tested = numbered("loop/tested/", context.inputs());
  LoopParts parts;
  parts.condition.inputs = values(tested);
  parts.condition.nodes.push_back(call(condition, tested, {"loop/more"}));
  parts.condition.outputs = values({"loop/more"});
  parts.body.name = body;
  parts.body.inputs = values(before);
  parts.body.nodes.push_back(call(body, before, after));
  parts.body.outputs = values(after);
  return parts;
}

/// The body, and the condition on its results.
ImportGraph round_of(const LoopParts& parts) {
  ImportGraph round = parts.body;
  std::set<std::string> own;
  for (const ImportNode& node : round.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  for (std::size_t i = 0; i < parts.condition.inputs.size(); ++i) {
    ImportNode& next = round.nodes.emplace_back();
    next.name = next.op = "Identity";
    next.inputs = {parts.body.outputs[i].name};
    next.outputs = {parts.condition.inputs[i].name};
  }
  // A constant of both parts is in the body already.
  for (const ImportNode& node : parts.condition.nodes)
    if (node.outputs.empty() || !own.contains(node.outputs[0])) round.nodes.push_back(node);
  round.inputs.insert(round.inputs.begin(), {{"loop/round", {}}, {"loop/condition", {}}});
  round.outputs.insert(round.outputs.begin(), parts.condition.outputs[0]);
  return round;
}

/// The condition is evaluated before the first iteration and at the end of each.
void while_rule(RuleContext& context) {
  LoopParts parts = loop_parts(context);
  const std::size_t count = parts.body.inputs.size();
  check(parts.condition.inputs.size() == count && parts.body.outputs.size() == count &&
            parts.condition.outputs.size() == 1 && context.inputs() >= count,
        ErrorCode::bad_data, "its condition or body does not match its {} variables", count);
  std::vector<Value*> before;
  for (std::size_t i = 0; i < count; ++i) before.push_back(context.required(i));
  const std::vector<std::size_t> lists = take_written_lists(parts, context);
  std::vector<std::size_t> stays;
  for (std::size_t i = 0; i < count; ++i)
    if (!std::ranges::binary_search(lists, i)) stays.push_back(i);
  std::vector<Value*> variables;
  for (const std::size_t i : stays) variables.push_back(before[i]);
  Value* first = context.inline_graph(parts.condition, variables).at(0);
  std::vector<Value*> inputs{nullptr, cast(context, first, DType::boolean)};
  std::vector<Type> types{Type(DType::i64, Shape{}), Type(DType::boolean, Shape{})};
  for (Value* value : variables) {
    inputs.push_back(value);
    types.push_back(value->type);
  }
  Node* node = context.emit_node("loop", inputs, {}, count);
  context.fill_region(*node, node->add_region(), round_of(parts), types);
  context.infer(*node);
  for (std::size_t i = 0; i < stays.size(); ++i) context.set_output(stays[i], node->output(i));
  for (std::size_t i = 0; i < lists.size(); ++i)
    context.set_output(lists[i], written_list(context, before[lists[i]], node->output(stays.size() + i)));
}

/// Names why structure_dataflow() left an operator of TensorFlow 1.
void refuse_dataflow(RuleContext& context) {
  const std::string reason = context.string(dataflow_reason, "");
  fail(ErrorCode::unsupported,
       "control flow of TensorFlow 1{}{}; expected conditionals and loops as tf.cond and tf.while_loop make "
       "them, or If and While of control flow version 2",
       reason.empty() ? "" : " that cannot be read: ", reason);
}

/// Every node that is left is refused.
OperatorRule lost_dataflow() {
  OperatorRule rule(refuse_dataflow,
                    {"control flow of TensorFlow 1 that cannot be read; expected conditionals "
                     "and loops as tf.cond and tf.while_loop make them"});
  rule.refused = true;
  return rule;
}

} // namespace

void add_control_rules(Rules& rules) {
  for (const char* name :
       {"Identity", "IdentityN", "Snapshot", "StopGradient", "PreventGradient", "CheckNumerics",
        "CheckNumericsV2", "PlaceholderWithDefault", "EnsureShape", "DeepCopy", "Copy", "Print",
        "_CopyFromHostToGpu", "_CopyFromGpuToHost", "ReadVariableOp"})
    rules[name] = pass_on;
  rules["If"] = rules["StatelessIf"] = if_rule;
  rules["Case"] = rules["StatelessCase"] = case_rule;
  rules["While"] = rules["StatelessWhile"] = while_rule;
  for (const char* name : {"Switch", "_SwitchN", "Merge", "Enter", "Exit", "NextIteration", "LoopCond",
                           "RefSwitch", "RefMerge", "RefEnter", "RefExit", "RefNextIteration"})
    rules[name] = lost_dataflow();
  for (const char* name : {"Variable", "VariableV2", "VarHandleOp", "RestoreV2"})
    rules[name] = refused("a variable, whose value is not in this file; expected a frozen graph, or the "
                          "SavedModel's folder or MetaGraph with its checkpoint beside it");
  for (const char* name : {"Assign", "AssignAdd", "AssignSub", "AssignVariableOp", "AssignAddVariableOp",
                           "AssignSubVariableOp", "ResourceScatterUpdate", "ResourceScatterAdd"})
    rules[name] = refused("it writes a variable in each run; expected a model whose variables are constant: "
                          "export it for inference, with state as inputs and outputs");
}

} // namespace lanner::tensorflow
