#include "importers/builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <lanner/error.h>

#include "graph/verifier.h"

namespace lanner {
namespace {

std::string label_of(const ImportNode& node) {
  if (!node.name.empty()) return node.name;
  return node.outputs.empty() ? node.op : node.outputs[0];
}

/// Names that a subgraph reads, inner subgraphs included.
void collect_reads(const ImportGraph& graph, std::set<std::string>& reads, int depth);

void collect_reads(const ImportNode& node, std::set<std::string>& reads, int depth) {
  for (const std::string& input : node.inputs) reads.insert(input);
  for (const auto& [name, attribute] : node.attributes)
    if (const auto* inner = std::get_if<std::shared_ptr<ImportGraph>>(&attribute.value)) collect_reads(**inner, reads, depth + 1);
}

void collect_reads(const ImportGraph& graph, std::set<std::string>& reads, int depth) {
  check(depth < 64, ErrorCode::limit_exceeded, "graphs are nested deeper than 64");
  for (const ImportNode& node : graph.nodes) collect_reads(node, reads, depth);
  for (const ImportValue& output : graph.outputs) reads.insert(output.name);
}

/// Dims that the file leaves open get symbols of their own.
Type named_unknowns(const Type& type, Graph& graph, const std::string& input) {
  if (!type.is_tensor() || !type.ranked()) return type;
  Dims dims = type.dims();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const auto name = dims[d].as_symbol();
    if (!name) continue;
    if (name->starts_with("unknown__")) dims[d] = graph.fresh_symbol(fmt::format("{}_{}", input, d), INT64_MAX);
    else graph.symbols.emplace(*name, SymbolInfo{});
  }
  return type.with_dims(std::move(dims));
}

/// Nodes of a function's body with the caller's attributes, else the defaults, in place of references.
std::vector<ImportNode> with_values(std::vector<ImportNode> nodes, const ImportNode& caller, const ImportFunction& function) {
  for (ImportNode& node : nodes) {
    if (node.name.empty()) node.name = label_of(caller);
    for (auto it = node.attributes.begin(); it != node.attributes.end();) {
      ImportAttribute& attribute = it->second;
      if (auto* graph = std::get_if<std::shared_ptr<ImportGraph>>(&attribute.value)) {
        auto copy = std::make_shared<ImportGraph>(**graph);
        copy->nodes = with_values(std::move(copy->nodes), caller, function);
        *graph = std::move(copy);
      }
      const auto given = caller.attributes.find(attribute.reference);
      const auto fallback = function.default_attributes.find(attribute.reference);
      if (!attribute.reference.empty() && given != caller.attributes.end()) attribute = ImportAttribute(given->second);
      else if (!attribute.reference.empty() && fallback != function.default_attributes.end()) attribute = ImportAttribute(fallback->second);
      it = attribute.reference.empty() ? std::next(it) : node.attributes.erase(it);
    }
  }
  return nodes;
}

std::string identifier(std::string_view text) {
  std::string name;
  for (char c : text) name += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? "x" + name : name;
}

} // namespace

std::vector<const ImportNode*> in_dependence_order(const std::vector<ImportNode>& nodes) {
  std::map<std::string_view, std::size_t> writers;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const std::string& output : nodes[i].outputs)
      if (!output.empty())
        check(writers.emplace(output, i).second, ErrorCode::bad_data, "node {}: value '{}' is written twice", label_of(nodes[i]), output);
  std::vector<std::vector<std::size_t>> readers(nodes.size());
  std::vector<std::size_t> waiting(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::set<std::string> reads;
    collect_reads(nodes[i], reads, 0);
    for (const std::string& name : reads) {
      const auto writer = writers.find(name);
      if (writer == writers.end()) continue;
      readers[writer->second].push_back(i);
      ++waiting[i];
    }
  }
  std::set<std::size_t> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (waiting[i] == 0) ready.insert(i);
  std::vector<const ImportNode*> order;
  while (!ready.empty()) {
    const std::size_t i = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(&nodes[i]);
    for (std::size_t reader : readers[i])
      if (--waiting[reader] == 0) ready.insert(reader);
  }
  if (order.size() != nodes.size()) {
    const auto stuck = std::ranges::find_if(waiting, [](std::size_t count) { return count > 0; });
    fail(ErrorCode::bad_data, "node {} reads, directly or not, what it writes: the graph has a cycle",
         label_of(nodes[static_cast<std::size_t>(stuck - waiting.begin())]));
  }
  return order;
}

GraphBuilder::GraphBuilder(const ImportModel& model, const OpTable& ops, RuleFinder rules, const Limits& limits)
    : model_(model), ops_(ops), rules_(std::move(rules)), limits_(limits) {}

std::unique_ptr<Graph> GraphBuilder::run() {
  std::map<std::string, std::vector<std::string>> missing;
  check_supported(model_.graph.nodes, missing, 0);
  if (!missing.empty()) {
    std::string list;
    for (const auto& [op, nodes] : missing)
      list += fmt::format("{}{} ({}{})", list.empty() ? "" : "; ", op, fmt::join(std::span(nodes).first(std::min<std::size_t>(nodes.size(), 3)), ", "),
                          nodes.size() > 3 ? fmt::format(" and {} more", nodes.size() - 3) : "");
    fail(ErrorCode::unsupported, "operators that this version does not know: {}", list);
  }
  graph_ = std::make_unique<Graph>(ops_, identifier(model_.graph.name.empty() ? "main" : model_.graph.name));
  graph_->metadata = model_.metadata;
  inference_ = std::make_unique<RunningInference>(*graph_);
  Scope body;
  body.region = &graph_->body();
  body.opsets = &model_.opsets;
  scope_ = &body;
  add_constants(model_.graph);
  add_inputs();
  add_nodes(model_.graph.nodes);
  add_outputs();
  infer_types(*graph_);
  verify(*graph_);
  return std::move(graph_);
}

void GraphBuilder::add_inputs() {
  for (const ImportValue& input : model_.graph.inputs) {
    if (scope_->values.contains(input.name)) continue; // a constant that old files list among the inputs
    check(input.type.has_value(), ErrorCode::bad_data, "input {}: its type is missing", input.name);
    Value* value = graph_->add_input(input.name, named_unknowns(*input.type, *graph_, identifier(input.name)));
    inference_->declare(*value);
    define(input.name, value);
  }
}

void GraphBuilder::add_outputs() {
  for (const ImportValue& output : model_.graph.outputs) graph_->add_output(output.name, lookup(output.name));
  check(!model_.graph.outputs.empty(), ErrorCode::bad_data, "the graph has no outputs");
}

void GraphBuilder::add_constants(const ImportGraph& graph) {
  for (const auto& [name, tensor] : graph.constants) {
    Node* node = create("constant", {}, {}, 0);
    node->attributes.set("value", tensor);
    Value* value = node->add_output(graph_->unique_name(identifier(name)), Type(tensor.dtype(), tensor.shape()));
    inference_->add(*node);
    define(name, value);
  }
}

void GraphBuilder::add_nodes(const std::vector<ImportNode>& nodes) {
  for (const ImportNode* node : in_dependence_order(nodes)) add_node(*node);
}

void GraphBuilder::add_node(const ImportNode& node) {
  const ImportNode* outer = std::exchange(current_, &node);
  with_context([&] { return fmt::format("node {} ({})", label_of(node), node.op); },
               [&] {
                 const auto function = model_.functions.find(node.domain + "." + node.op + (node.overload.empty() ? "" : ":" + node.overload));
                 if (function != model_.functions.end()) return inline_function(node, function->second);
                 RuleContext context(*this, node, version_of(node.domain));
                 rules_(node)(context);
                 for (const std::string& output : node.outputs)
                   check(output.empty() || scope_->values.contains(output), ErrorCode::unsupported, "output '{}' is not one that the operator gives", output);
               });
  current_ = outer;
}

void GraphBuilder::inline_function(const ImportNode& node, const ImportFunction& function) {
  check(++depth_ <= limits_.depth, ErrorCode::limit_exceeded, "functions call each other deeper than {}", limits_.depth);
  Scope scope;
  scope.region = scope_->region;
  scope.opsets = &function.opsets;
  scope.sealed = true;
  for (std::size_t i = 0; i < function.inputs.size(); ++i)
    scope.values[function.inputs[i]] = i < node.inputs.size() && !node.inputs[i].empty() ? lookup(node.inputs[i]) : nullptr;
  const std::vector<ImportNode> body = with_values(function.nodes, node, function);
  Scope* outer = std::exchange(scope_, &scope);
  std::vector<Value*> results;
  add_nodes(body);
  for (const std::string& output : function.outputs) results.push_back(lookup(output));
  scope_ = outer;
  for (std::size_t i = 0; i < std::min(results.size(), node.outputs.size()); ++i)
    if (!node.outputs[i].empty()) define(node.outputs[i], results[i]);
  --depth_;
}

Value* GraphBuilder::find(Scope& scope, const std::string& name) {
  if (const auto found = scope.values.find(name); found != scope.values.end()) return found->second;
  if (!scope.parent || scope.sealed) return nullptr;
  Value* outer = find(*scope.parent, name);
  if (!outer) return nullptr;
  Value* inner = scope.owner ? capture(scope, outer) : outer;
  scope.values[name] = inner;
  return inner;
}

Value* GraphBuilder::capture(Scope& scope, Value* outer) {
  Node& owner = *scope.owner;
  const std::size_t own = owner.own_inputs().size();
  std::size_t place = owner.captures();
  for (std::size_t i = 0; i < owner.captures(); ++i)
    if (owner.inputs()[own + i] == outer) place = i;
  if (place == owner.captures()) owner.add_capture(outer);
  const auto parameters = scope.region->parameters();
  Value* inner = parameters[parameters.size() - owner.captures() + place].get();
  inner->type = outer->type;
  inference_->declare(*inner);
  return inner;
}

Value* GraphBuilder::lookup(const std::string& name) {
  Value* value = find(*scope_, name);
  check(value != nullptr, ErrorCode::bad_data, "value '{}' is read, but nothing before writes it", name);
  return value;
}

void GraphBuilder::define(const std::string& name, Value* value) {
  if (name.empty()) return;
  check(scope_->values.insert_or_assign(name, value).second || scope_->values[name] == value, ErrorCode::bad_data, "value '{}' is written twice", name);
}

Node* GraphBuilder::create(std::string_view op, std::span<Value* const> inputs, AttributeMap attributes, std::size_t outputs) {
  Node* node = scope_->region->create(ops_.get(op), inputs);
  node->attributes = std::move(attributes);
  if (current_) node->sources = {label_of(*current_)};
  for (std::size_t i = 0; i < outputs; ++i) {
    const bool named = current_ && i < current_->outputs.size() && !current_->outputs[i].empty();
    node->add_output(graph_->unique_name(named ? identifier(current_->outputs[i]) : std::string(op)), Type::unranked(DType::f32));
  }
  return node;
}

std::int64_t GraphBuilder::version_of(const std::string& domain) const {
  const auto found = scope_->opsets->find(domain);
  return found == scope_->opsets->end() ? 1 : found->second;
}

void GraphBuilder::check_supported(const std::vector<ImportNode>& nodes, std::map<std::string, std::vector<std::string>>& missing, int depth) const {
  check(depth < 64, ErrorCode::limit_exceeded, "graphs are nested deeper than 64");
  for (const ImportNode& node : nodes) {
    const std::string function = node.domain + "." + node.op + (node.overload.empty() ? "" : ":" + node.overload);
    if (!rules_(node) && !model_.functions.contains(function))
      missing[node.domain.empty() ? node.op : node.domain + "." + node.op].push_back(label_of(node));
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<ImportGraph>>(&attribute.value)) check_supported((*inner)->nodes, missing, depth + 1);
  }
}

} // namespace lanner
