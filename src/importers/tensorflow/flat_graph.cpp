#include "importers/tensorflow/flat_graph.h"

#include <algorithm>
#include <set>

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
#include "importers/tensorflow/node_outputs.h"
#include "importers/tensorflow/saved_model.h"
#include "importers/tensorflow/state.h"
#include "importers/tensorflow/tensor_record.h"

namespace lanner::tensorflow {
namespace {

using Names = std::map<std::string, std::string>;

std::string flat_name(const Names& names, const std::string& name) {
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

using HiddenNames = std::multiset<std::string_view>;

/// The body of a conditional or loop, which reads outer values by name, with their flat names. `hidden`:
/// names that are values of bodies around it; as before at the end.
std::shared_ptr<ImportGraph> with_flat_names(const ImportGraph& graph, const Names& names,
                                             HiddenNames& hidden) {
  std::vector<HiddenNames::iterator> own;
  for (const ImportValue& input : graph.inputs) own.push_back(hidden.insert(input.name));
  for (const auto& [name, value] : graph.constants) own.push_back(hidden.insert(name));
  for (const ImportNode& node : graph.nodes)
    for (const std::string& output : node.outputs) own.push_back(hidden.insert(output));
  const auto rename = [&](std::string& name) {
    if (!hidden.contains(name)) name = flat_name(names, name);
  };
  auto made = std::make_shared<ImportGraph>(graph);
  for (ImportNode& node : made->nodes) {
    check_deadline();
    for (std::string& input : node.inputs) rename(input);
    for (auto& [name, attribute] : node.attributes)
      if (auto* inner = std::get_if<std::shared_ptr<ImportGraph>>(&attribute.value); inner && *inner)
        *inner = with_flat_names(**inner, names, hidden);
  }
  for (ImportValue& output : made->outputs) rename(output.name);
  for (const HiddenNames::iterator each : own) hidden.erase(each);
  return made;
}

/// Adds control edges, which may be as many as the product of two numbers of nodes.
void add_controls(std::vector<std::string>& controls, const std::vector<std::string>& added) {
  check_deadline();
  for (const std::string& name : added) count_bytes(sizeof(std::string) + name.size());
  controls.insert(controls.end(), added.begin(), added.end());
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

  /// Gives nodes that touch state control edges to such nodes, of the functions that others call too. After
  /// all calls.
  void settle_controls() {
    std::set<std::string_view> flat;
    for (const ImportNode& node : made) flat.insert(node.name);
    for (ImportNode& node : made) {
      check_deadline();
      std::vector<std::string> controls;
      for (std::string& control : node.controls) {
        if (flat.contains(control))
          controls.push_back(std::move(control));
        else if (const auto call = state_of_calls_.find(control); call != state_of_calls_.end())
          add_controls(controls, call->second);
      }
      std::erase(controls, node.name);
      node.controls = std::move(controls);
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
    for (std::string& control : copy.controls) {
      control = prefix + control;
      count_bytes(sizeof(std::string) + control.size());
    }
    for (auto& [name, attribute] : copy.attributes)
      if (auto* body = std::get_if<std::shared_ptr<ImportGraph>>(&attribute.value); body && *body) {
        HiddenNames hidden;
        *body = with_flat_names(**body, names, hidden);
      }
    settle(copy, caller);
    if (touches_state(copy)) {
      add_controls(copy.controls, before_calls_);
      for (const std::string& call : names_of_calls_) add_controls(state_of_calls_[call], {copy.name});
    }
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
    names_of_calls_.push_back(prefix + node.name);
    for (const std::string& control : node.controls) before_calls_.push_back(prefix + control);
    add(function.nodes, prefix + node.name + "/", inner, &settled);
    before_calls_.resize(before_calls_.size() - node.controls.size());
    names_of_calls_.pop_back();
    calls_.pop_back();
    for (std::size_t i = 0; i < std::min(node.outputs.size(), function.outputs.size()); ++i)
      names[node.outputs[i]] = flat_name(inner, function.outputs[i]);
  }

  const ImportModel& model_;
  const Limits& limits_;
  EngineNodes engines_;
  std::vector<const ImportFunction*> calls_;
  std::vector<std::string> names_of_calls_; ///< In the flat graph.
  std::vector<std::string> before_calls_;   ///< Control edges of these calls.
  std::map<std::string, std::vector<std::string>, std::less<>> state_of_calls_; ///< Nodes that touch state.
};

ImportModel read(const Content& content, const ImportOptions& options, SourceLibrary* library) {
  if (is_keras_model(content.bytes)) return keras::read_keras(content, options);
  if (looks_like_saved_model(content.bytes)) return read_saved_model(content, options, library);
  if (looks_like_meta_graph(content.bytes)) return read_meta_graph(content, options, library);
  check(looks_like_graph_def(content.bytes), ErrorCode::bad_data,
        "not a model of TensorFlow; expected the folder of a SavedModel, a frozen GraphDef, a MetaGraph, "
        "or a Keras file");
  return read_graph_def(content, options, library);
}

/// Names of TensorFlow's types that no tensor here has.
std::string foreign_type(std::int64_t number) {
  constexpr std::int64_t resource = 20, variant = 21, references = 100;
  if (number == resource) return "a resource";
  if (number == variant) return "a variant";
  if (number > references) return "a reference to a variable";
  return fmt::format("of TensorFlow's type {}", number);
}

/// Converts what can be: what reads a value that is no tensor here is refused.
class Trial {
public:
  Trial(const ImportOptions& options, const SourceLibrary* library)
      : rules_(rules_for(options)), library_(library) {}

  Rule rule_of(const ImportNode& node) {
    if (node.attributes.contains(reference_mark))
      return [](RuleContext&) { fail(ErrorCode::unsupported, "it reads a variable that runs change"); };
    if (node.domain.empty())
      for (const std::string& input : node.inputs)
        if (const auto found = opaque_.find(input); found != opaque_.end())
          return
              [why = fmt::format("it reads {}, which is {}", one_line(input, longest_name), found->second)](
                  RuleContext&) { fail(ErrorCode::unsupported, "{}", why); };
    return rules_(node);
  }

  Type type_of(const ImportNode& made, std::size_t i) {
    const std::string& value = made.outputs[i];
    const ImportNode* original = original_of(made, value);
    if (original) i = 0;
    const ImportNode& node = original ? *original : made;
    const std::optional<std::int64_t> number = output_type(node, i);
    if (!number) {
      opaque_.emplace(value, fmt::format("a result of {} of a type that the model does not say",
                                         one_line(node.op, longest_name)));
      return Type::unranked(DType::f32);
    }
    try {
      const DType type = dtype_of_tensorflow(*number);
      const auto* shapes = attribute_of<std::vector<Type>>(node, "_output_shapes");
      return shapes && i < shapes->size() && (*shapes)[i].ranked() ? (*shapes)[i].with_dtype(type)
                                                                   : Type::unranked(type);
    } catch (const Error&) {
      opaque_.emplace(value, foreign_type(*number));
      return Type::unranked(DType::f32);
    }
  }

  const std::map<std::string, std::string, std::less<>>& opaque() const { return opaque_; }

private:
  /// The node of TensorFlow 1's control flow that gives a result of one that stands for it.
  const ImportNode* original_of(const ImportNode& made, const std::string& value) const {
    if (!library_) return nullptr;
    const auto flow = library_->dataflow.find(made.name);
    if (flow == library_->dataflow.end()) return nullptr;
    const auto result = flow->second.results.find(value);
    if (result == flow->second.results.end()) return nullptr;
    const auto node = std::ranges::find(flow->second.nodes, result->second, &ImportNode::name);
    return node == flow->second.nodes.end() ? nullptr : &*node;
  }

  RuleFinder rules_;
  const SourceLibrary* library_;
  std::map<std::string, std::string, std::less<>> opaque_; ///< What a value is, by its name.
};

} // namespace

std::vector<ImportNode> inlined(const ImportModel& model, const std::vector<ImportNode>& nodes,
                                const std::string& prefix, Names& names, const Limits& limits) {
  Inliner inliner(model, limits, EngineNodes::inlined);
  inliner.add(nodes, prefix, names, nullptr);
  return std::move(inliner.made);
}

ImportModel read_flat_graph(const SourcePtr& source, const ImportOptions& given, EngineNodes engines,
                            SourceLibrary* library) {
  ImportOptions options = given;
  options.name = source->name();
  const Meter parsed; // what is read counts while it is read
  const Content content = read_all(source, options.limits);
  ImportModel model = read(content, options, library);
  Names names;
  for (const ImportValue& input : model.graph.inputs) names[input.name] = input.name;
  Inliner inliner(model, options.limits, engines);
  inliner.add(model.graph.nodes, "", names, nullptr);
  inliner.settle_controls();
  model.graph.nodes = std::move(inliner.made);
  for (ImportValue& output : model.graph.outputs) {
    if (output.label.empty()) output.label = output.name;
    if (const auto found = names.find(output.name); found != names.end()) output.name = found->second;
  }
  return model;
}

NodeTrial try_nodes(const ImportModel& model, const ImportOptions& options, const SourceLibrary* library) {
  Trial rules(options, library);
  NodeTrial trial =
      GraphBuilder(
          model, [&](const ImportNode& node) { return rules.rule_of(node); }, options)
          .try_nodes([&](const ImportNode& node, std::size_t i) { return rules.type_of(node, i); });
  for (const auto& [value, what] : rules.opaque()) trial.types.erase(value);
  for (const ImportNode& node : model.graph.nodes) { // without its own name a reason is that of others too
    const auto reason = trial.reasons.find(node.name);
    const std::string prefix = fmt::format("node {} ({}): ", label_of(node), node.op);
    if (reason != trial.reasons.end() && reason->second.starts_with(prefix))
      reason->second.erase(0, prefix.size());
  }
  return trial;
}

} // namespace lanner::tensorflow
