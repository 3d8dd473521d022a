// Pass-through nodes, and control flow by functions; operators that a frozen graph cannot hold are refused by
// name.

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/graph_def.h"
#include "importers/tensorflow/rules.h"

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

void if_rule(RuleContext& context) {
  const std::vector<std::string> arguments(context.node.inputs.begin() + (context.inputs() > 0),
                                           context.node.inputs.end());
  const std::vector<std::string> results = numbered("branch/", context.node.outputs.size());
  Node* node =
      context.emit_node("if", {cast(context, context.required(0), DType::boolean)}, {}, results.size());
  for (const char* name : {"then_branch", "else_branch"}) {
    ImportGraph branch;
    branch.name = name;
    branch.nodes.push_back(call(context.get<std::string>(name, "a function"), arguments, results));
    branch.outputs = values(results);
    context.fill_region(*node, node->add_region(), branch, {});
  }
  context.infer(*node);
  context.set_outputs(*node);
}

/// The condition is evaluated before the first iteration and at the end of each.
void while_rule(RuleContext& context) {
  const std::size_t count = context.inputs();
  const std::string condition = context.get<std::string>("cond", "a function"),
                    body = context.get<std::string>("body", "a function");
  const std::vector<std::string> before = numbered("loop/before/", count),
                                 after = numbered("loop/after/", count);
  ImportGraph first;
  first.inputs = values(before);
  first.nodes.push_back(call(condition, before, {"loop/first"}));
  first.outputs = values({"loop/first"});
  std::vector<Value*> inputs{nullptr, context.inline_graph(first, context.all_inputs()).at(0)};
  std::vector<Type> types{Type(DType::i64, Shape{}), Type(DType::boolean, Shape{})};
  for (Value* value : context.all_inputs()) {
    inputs.push_back(value);
    types.push_back(value->type);
  }
  ImportGraph round;
  round.name = body;
  round.inputs = values({"loop/round", "loop/condition"});
  for (const std::string& name : before) round.inputs.push_back({name, {}});
  round.nodes = {call(body, before, after), call(condition, after, {"loop/more"})};
  round.outputs = values({"loop/more"});
  for (const std::string& name : after) round.outputs.push_back({name, {}});
  Node* node = context.emit_node("loop", inputs, {}, count);
  context.fill_region(*node, node->add_region(), round, types);
  context.infer(*node);
  context.set_outputs(*node);
}

Rule refused(const char* what) {
  return [what](RuleContext&) { fail(ErrorCode::unsupported, "{}", what); };
}

} // namespace

void add_control_rules(Rules& rules) {
  for (const char* name : {"Identity", "IdentityN", "Snapshot", "StopGradient", "PreventGradient",
                           "CheckNumerics", "PlaceholderWithDefault", "EnsureShape", "ReadVariableOp"})
    rules[name] = pass_on;
  rules["If"] = rules["StatelessIf"] = if_rule;
  rules["While"] = rules["StatelessWhile"] = while_rule;
  for (const char* name : {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "RefSwitch",
                           "RefMerge", "RefEnter", "RefExit", "RefNextIteration"})
    rules[name] =
        refused("control flow of TensorFlow 1; expected If and While as functions: build the model with "
                "control flow of version 2");
  for (const char* name : {"Variable", "VariableV2", "VarHandleOp", "RestoreV2"})
    rules[name] = refused("a variable, whose value is not in this file; expected a frozen graph, or the "
                          "SavedModel's folder or MetaGraph with its checkpoint beside it");
  for (const char* name : {"Assign", "AssignAdd", "AssignSub", "AssignVariableOp", "AssignAddVariableOp",
                           "AssignSubVariableOp", "ResourceScatterUpdate", "ResourceScatterAdd"})
    rules[name] = refused("it writes a variable in each run; expected a model whose variables are constant: "
                          "export it for inference, with state as inputs and outputs");
}

} // namespace lanner::tensorflow
