#include "importers/builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/nearest.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "base/text/joined.h"
#include "base/text/one_line.h"
#include "graph/graph_bytes.h"
#include "graph/verifier.h"
#include "importers/node_order.h"
#include "ops/definition/recipe.h"

namespace lanner {
namespace {

void check_count(const char* what, std::size_t count, int least, int most) {
  const bool enough = count >= static_cast<std::size_t>(least),
             fits = most == OpDef::any || count <= static_cast<std::size_t>(most);
  const std::string expected = most == OpDef::any            ? fmt::format("{} or more", least)
                               : least == most || least == 0 ? fmt::format("{}", most)
                                                             : fmt::format("{} to {}", least, most);
  check(enough && fits, ErrorCode::bad_data, "{} {}, expected {}", count, what, expected);
}

/// Dims that the file leaves open get fresh symbols.
Type named_unknowns(const Type& type, Graph& graph, const std::string& input, bool shared = true) {
  // Elements of a sequence may differ in size, so a symbol inside one is not shared with other values.
  if (type.kind() == Type::Kind::sequence)
    return Type::sequence(named_unknowns(type.element(), graph, input, false));
  if (type.kind() == Type::Kind::optional)
    return Type::optional(named_unknowns(type.element(), graph, input, shared));
  if (!type.ranked()) return type;
  Dims dims = type.dims();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const auto name = dims[d].as_symbol();
    if (!name) continue;
    if (!shared || name->starts_with("unknown__"))
      dims[d] = graph.fresh_symbol(fmt::format("{}_{}", input, d), INT64_MAX);
    else
      graph.symbols.emplace(*name, SymbolInfo{});
  }
  return type.with_dims(std::move(dims));
}

/// Registers the symbols that the file names, before fresh ones are chosen for unnamed dims, so they differ.
void register_names(const Type& type, Graph& graph) {
  if (!type.is_tensor() || !type.ranked()) return;
  for (const Dim& dim : type.dims())
    if (const auto name = dim.as_symbol(); name && !name->starts_with("unknown__"))
      graph.symbols.emplace(*name, SymbolInfo{});
}

ImportGraph without_nodes(const ImportGraph& graph) {
  count_bytes((graph.inputs.size() + graph.outputs.size()) * sizeof(ImportValue) +
              graph.constants.size() * (sizeof(Tensor) + sizeof(std::string)));
  return {graph.name, {}, graph.inputs, graph.outputs, graph.constants};
}

std::uint64_t attribute_bytes(const ImportAttribute& attribute) {
  std::uint64_t bytes = map_bytes + sizeof(ImportAttribute);
  if (const auto* text = std::get_if<std::string>(&attribute.value)) bytes += text->size();
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute.value)) bytes += list->size() * 8;
  if (const auto* list = std::get_if<std::vector<double>>(&attribute.value)) bytes += list->size() * 8;
  if (const auto* list = std::get_if<std::vector<Tensor>>(&attribute.value))
    bytes += list->size() * sizeof(Tensor);
  if (const auto* list = std::get_if<std::vector<std::string>>(&attribute.value))
    for (const std::string& each : *list) bytes += text_bytes(each);
  return bytes;
}

/// Counted on the innermost meter before they are copied.
void count_copy(const std::vector<ImportNode>& nodes) {
  for (const ImportNode& node : nodes) {
    check_deadline();
    std::uint64_t bytes = sizeof(ImportNode);
    for (const std::string* each : {&node.name, &node.op, &node.domain, &node.overload})
      bytes += text_bytes(*each);
    for (const auto* names : {&node.inputs, &node.outputs})
      for (const std::string& each : *names) bytes += text_bytes(each);
    for (const auto& [name, attribute] : node.attributes)
      bytes += text_bytes(name) + attribute_bytes(attribute);
    count_bytes(bytes);
  }
}

/// Nodes of a function's body with attribute references replaced by the caller's attributes or the defaults.
std::vector<ImportNode> with_values(const std::vector<ImportNode>& body, const ImportNode& caller,
                                    const ImportFunction& function) {
  count_copy(body);
  std::vector<ImportNode> nodes = body;
  const auto take = [](ImportAttribute& attribute, const ImportAttribute& from) {
    count_bytes(attribute_bytes(from)); // each node gets its own copy
    attribute = ImportAttribute(from);
  };
  for (ImportNode& node : nodes) {
    check_deadline();
    if (node.name.empty()) node.name = label_of(caller);
    for (auto it = node.attributes.begin(); it != node.attributes.end();) {
      ImportAttribute& attribute = it->second;
      if (auto* graph = std::get_if<std::shared_ptr<ImportGraph>>(&attribute.value)) {
        auto copy = std::make_shared<ImportGraph>(without_nodes(**graph));
        copy->nodes = with_values((*graph)->nodes, caller, function);
        *graph = std::move(copy);
      }
      const auto given = caller.attributes.find(attribute.reference);
      const auto fallback = function.default_attributes.find(attribute.reference);
      if (!attribute.reference.empty() && given != caller.attributes.end())
        take(attribute, given->second);
      else if (!attribute.reference.empty() && fallback != function.default_attributes.end())
        take(attribute, fallback->second);
      it = attribute.reference.empty() ? std::next(it) : node.attributes.erase(it);
    }
  }
  return nodes;
}

} // namespace

std::string identifier(std::string_view text) {
  std::string name;
  for (char c : text.substr(0, longest_name))
    name += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? "x" + name : name;
}

GraphBuilder::GraphBuilder(const ImportModel& model, RuleFinder rules, const ImportOptions& options)
    : model_(model), ops_(options.ops), rules_(std::move(rules)), limits_(options.limits), options_(options),
      chosen_(options.outputs) {}

/// Everything before the nodes.
void GraphBuilder::begin(Scope& body) {
  graph_ = std::make_unique<Graph>(ops_, identifier(model_.graph.name.empty() ? "main" : model_.graph.name));
  graph_->metadata = model_.metadata;
  graph_->recount();
  inference_ = std::make_unique<RunningInference>(*graph_);
  body.region = &graph_->body();
  body.opsets = &model_.opsets;
  scope_ = &body;
  check_overridden();
  report_initialisers();
  add_constants(model_.graph);
  add_inputs();
}

std::unique_ptr<Graph> GraphBuilder::run() {
  std::map<std::string, std::vector<std::string>> missing;
  collect_missing(model_.graph.nodes, missing);
  if (!missing.empty()) {
    std::string list;
    for (const auto& [op, nodes] : missing)
      list += fmt::format("{}{} ({}{})", list.empty() ? "" : "; ", op,
                          joined(std::span(nodes).first(std::min<std::size_t>(nodes.size(), 3)), ", "),
                          nodes.size() > 3 ? fmt::format(" and {} more", nodes.size() - 3) : "");
    fail(ErrorCode::unsupported, "operators that this version does not know: {}", list);
  }
  Scope body;
  begin(body);
  add_nodes(model_.graph.nodes);
  add_outputs();
  infer_types(*graph_);
  verify(*graph_);
  return std::move(graph_);
}

/// Every overridden name must be both an initialiser and a graph input, of matching types.
void GraphBuilder::check_overridden() const {
  std::vector<std::string> inputs;
  for (const ImportValue& input : model_.graph.inputs) inputs.push_back(input.name);
  std::map<std::string_view, const Tensor*> constants;
  for (const auto& [name, tensor] : model_.graph.constants) constants.emplace(name, &tensor);
  for (const std::string& name : options_.overridden) {
    const bool listed = std::ranges::find(inputs, name) != inputs.end();
    const std::string shown = one_line(name, longest_name);
    if (constants.contains(name))
      check(listed, ErrorCode::invalid_argument,
            "overridden: '{}' is an initialiser with no graph input of its name, so that its value is fixed; "
            "give it one in the model, or other values by refit",
            shown);
    else
      check(!listed, ErrorCode::invalid_argument,
            "overridden: '{}' is an input without a value, which runs give anyway; leave it out", shown);
    std::vector<std::string> known;
    for (const std::string& input : inputs)
      if (constants.contains(input)) known.push_back(input);
    check(listed, ErrorCode::not_found, "overridden: the model has no initialiser '{}'{}", shown,
          did_you_mean(name, known));
  }
}

void GraphBuilder::report_initialisers() {
  if (!options_.on_initialiser) return;
  std::map<std::string_view, const Type*> inputs;
  for (const ImportValue& input : model_.graph.inputs)
    inputs.emplace(input.name, input.type ? &*input.type : nullptr);
  for (const auto& [name, tensor] : model_.graph.constants) {
    check_deadline();
    const auto input = inputs.find(name);
    options_.on_initialiser(name, tensor, input == inputs.end() ? nullptr : input->second);
  }
}

void GraphBuilder::add_inputs() {
  std::set<std::string_view> constants;
  for (const auto& [name, tensor] : model_.graph.constants) constants.insert(name);
  const auto is_input = [&](const ImportValue& value) { // Old files list their constants among the inputs.
    return !constants.contains(value.name) || options_.overridden.contains(value.name);
  };
  for (const ImportValue& input : model_.graph.inputs)
    if (is_input(input) && input.type) register_names(*input.type, *graph_);
  for (const ImportValue& input : model_.graph.inputs) {
    check_deadline();
    if (!is_input(input)) continue;
    check(!input.name.empty(), ErrorCode::bad_data, "an input has no name");
    check(input.type.has_value(), ErrorCode::bad_data, "input {}: its type is missing", input.name);
    if (input.type->is_tensor() && input.type->ranked())
      check_rank(input.type->rank(), "input " + input.name);
    Value* value =
        graph_->add_input(input.shown(), named_unknowns(*input.type, *graph_, identifier(input.shown())));
    inference_->declare(*value);
    define(input.name, value);
  }
}

void GraphBuilder::add_outputs() {
  if (!chosen_.empty()) return add_chosen_outputs();
  for (const ImportValue& output : model_.graph.outputs) {
    check_deadline();
    graph_->add_output(output.shown(), lookup(output.name));
  }
  check(!model_.graph.outputs.empty(), ErrorCode::bad_data, "the graph has no outputs");
}

void GraphBuilder::add_chosen_outputs() {
  std::set<std::string_view> taken;
  for (const std::string& name : chosen_) {
    check(taken.insert(name).second, ErrorCode::invalid_argument, "outputs: '{}' comes twice; name it once",
          one_line(name, longest_name));
    graph_->add_output(name, chosen_output(name));
  }
}

Value* GraphBuilder::chosen_output(const std::string& name) {
  if (const auto found = scope_->values.find(name); found != scope_->values.end() && found->second)
    return found->second;
  std::set<std::string> known;
  for (const auto& [value, made] : scope_->values) known.insert(value);
  for (const ImportNode& node : model_.graph.nodes) {
    if (node.name != name) {
      known.insert(node.name);
      continue;
    }
    std::vector<std::string> outputs;
    for (const std::string& output : node.outputs)
      if (!output.empty()) outputs.push_back(output);
    check(outputs.size() == 1, ErrorCode::invalid_argument,
          "outputs: node '{}' has {} outputs; name one of them: {}", one_line(name, longest_name),
          outputs.size(), one_line(joined(outputs, ", "), longest_name));
    return lookup(outputs[0]);
  }
  known.erase("");
  std::string end = did_you_mean(name, {known.begin(), known.end()});
  if (end.empty()) {
    std::vector<std::string_view> own;
    for (const ImportValue& output : model_.graph.outputs) own.push_back(output.shown());
    end = fmt::format("; the model's own outputs are {}", joined(own, ", "));
  }
  fail(ErrorCode::not_found, "outputs: the model has no value '{}'{}", one_line(name, longest_name), end);
}

void GraphBuilder::add_constants(const ImportGraph& graph) {
  for (const auto& [name, tensor] : graph.constants) {
    check_deadline();
    if (&graph == &model_.graph && options_.overridden.contains(name)) continue;
    AttributeMap attributes;
    attributes.set("value", tensor);
    Node* node = create_bare(ops_.get("constant"), {}, std::move(attributes));
    name_weight(*node, name);
    Value* value =
        node->add_output(graph_->unique_name(identifier(name)), Type(tensor.dtype(), tensor.shape()));
    inference_->add(*node);
    define(name, value);
  }
}

void GraphBuilder::name_weight(Node& constant, const std::string& name) {
  const std::string text = one_line(name, longest_name);
  const Tensor& tensor = constant.attributes.get<Tensor>("value");
  if (text.empty() || !can_be_weight(tensor)) return;
  const Tensor& known = weights_.emplace(text, tensor).first->second;
  // A function's body may be inlined several times; an inner graph may shadow a name.
  if (known.data() == tensor.data() && known.shape() == tensor.shape()) set_recipe(constant, {text, {}});
}

void GraphBuilder::add_nodes(const std::vector<ImportNode>& nodes) {
  const auto visible = [&](std::string_view name) { return is_visible(name); };
  for (const ImportNode* node : in_dependence_order(nodes, visible)) add_node(*node);
}

void GraphBuilder::add_node(const ImportNode& node) {
  const ImportNode* outer = std::exchange(current_, &node);
  with_context([&] { return fmt::format("node {} ({})", label_of(node), node.op); },
               [&] {
                 check_deadline();
                 // Nested function calls can expand to many more nodes than the file has.
                 const ImportFunction* function = function_of(node);
                 constexpr std::size_t parameters_of_a_node = 8; // about as much work
                 visited_ += 1 + (function ? function->inputs.size() / parameters_of_a_node : 0);
                 check_limit("nodes", visited_, limits_.nodes,
                             "{} nodes, those of functions counted at each call", visited_);
                 if (function) return inline_function(node, *function);
                 const Rule rule = rules_(node);
                 check(static_cast<bool>(rule), ErrorCode::unsupported,
                       "this version does not know the operator");
                 for (const auto& [name, attribute] : node.attributes)
                   check(attribute.reference.empty(), ErrorCode::bad_data,
                         "attribute {} refers to attribute {} of a function, but is in none", name,
                         attribute.reference);
                 RuleContext context(*this, node, version_of(node.domain));
                 rule(context);
                 for (const std::string& output : node.outputs)
                   check(output.empty() || scope_->values.contains(output), ErrorCode::unsupported,
                         "output '{}': the operator does not produce it", output);
               });
  current_ = outer;
}

void GraphBuilder::inline_function(const ImportNode& node, const ImportFunction& function) {
  ++depth_;
  check_ends(node, function);
  check_limit("depth", depth_, limits_.depth, "functions call each other {} deep", depth_);
  calls_.push_back(&function);
  Meter copied;
  check(node.inputs.size() <= function.inputs.size(), ErrorCode::bad_data, "{} inputs for a function of {}",
        node.inputs.size(), function.inputs.size());
  Scope scope;
  scope.region = scope_->region;
  scope.opsets = &function.opsets;
  scope.sealed = true;
  for (std::size_t i = 0; i < function.inputs.size(); ++i)
    scope.values[function.inputs[i]] = i < node.inputs.size() ? lookup_optional(node.inputs[i]) : nullptr;
  const std::vector<ImportNode> body = with_values(function.nodes, node, function);
  Scope* outer = std::exchange(scope_, &scope);
  std::vector<Value*> results;
  add_nodes(body);
  for (const std::string& output : function.outputs) results.push_back(lookup(output));
  scope_ = outer;
  for (std::size_t i = 0; i < std::min(results.size(), node.outputs.size()); ++i)
    if (!node.outputs[i].empty()) define(node.outputs[i], results[i]);
  calls_.pop_back();
  --depth_;
}

void GraphBuilder::check_ends(const ImportNode& node, const ImportFunction& function) const {
  const auto first = std::ranges::find(calls_, &function);
  check(first == calls_.end(), ErrorCode::bad_data,
        "function {} calls itself{}; expected functions without recursion", one_line(node.op, longest_name),
        calls_.end() - first == 1 ? "" : fmt::format(" by way of {} others", calls_.end() - first - 1));
}

Value* GraphBuilder::find(Scope& scope, const std::string& name) {
  if (const auto found = scope.values.find(name); found != scope.values.end()) return found->second;
  if (!scope.parent || scope.sealed) return nullptr;
  Value* outer = find(*scope.parent, name);
  if (!outer) return nullptr;
  count_bytes(2 * (map_bytes + text_bytes(name))); // once for each graph in between, however long the name is
  Value* inner = scope.owner ? capture(scope, outer) : outer;
  scope.values[name] = inner;
  scope.seen_outside.insert(name);
  return inner;
}

bool GraphBuilder::is_visible(std::string_view name) const {
  for (const Scope* scope = scope_; scope; scope = scope->sealed ? nullptr : scope->parent)
    if (scope->values.contains(name)) return true;
  return false;
}

Value* GraphBuilder::capture(Scope& scope, Value* outer) {
  Node& owner = *scope.owner;
  const auto [known, fresh] = captures_[&owner].emplace(outer, owner.captures());
  const std::size_t place = known->second;
  if (fresh) owner.add_capture(outer);
  const auto parameters = scope.region->parameters();
  Value* inner = parameters[parameters.size() - owner.captures() + place].get();
  inner->type = outer->type;
  inference_->declare(*inner);
  return inner;
}

Value* GraphBuilder::lookup(const std::string& name) {
  Value* value = lookup_optional(name);
  check(value != nullptr, ErrorCode::bad_data, "value '{}' is read, but no earlier node writes it",
        one_line(name, longest_name));
  return value;
}

Value* GraphBuilder::lookup_optional(const std::string& name) {
  if (name.empty()) return nullptr;
  if (Value* value = find(*scope_, name)) return value;
  // Inside a function: a parameter that the caller left out.
  if (is_visible(name)) return nullptr;
  fail(ErrorCode::bad_data, "value '{}' is read, but no earlier node writes it",
       one_line(name, longest_name));
}

void GraphBuilder::define(const std::string& name, Value* value) {
  if (name.empty()) return;
  const bool shadows = scope_->seen_outside.erase(name) > 0;
  check(scope_->values.insert_or_assign(name, value).second || shadows, ErrorCode::bad_data,
        "value '{}' is written twice", one_line(name, longest_name));
}

const ImportFunction* GraphBuilder::function_of(const ImportNode& node) const {
  const auto found =
      model_.functions.find(node.domain + "." + node.op + (node.overload.empty() ? "" : ":" + node.overload));
  return found == model_.functions.end() ? nullptr : &found->second;
}

Node* GraphBuilder::create(std::string_view op, std::span<Value* const> inputs, AttributeMap attributes,
                           std::size_t outputs) {
  const OpDef& definition = ops_.get(op);
  check_count("inputs", inputs.size(), definition.min_inputs, definition.max_inputs);
  check_count("outputs", outputs, definition.min_outputs, definition.max_outputs);
  Node* node = create_bare(definition, inputs, std::move(attributes));
  for (std::size_t i = 0; i < outputs; ++i) {
    const bool named = current_ && i < current_->outputs.size() && !current_->outputs[i].empty();
    node->add_output(graph_->unique_name(named ? identifier(current_->outputs[i]) : std::string(op)),
                     Type::unranked(DType::f32));
  }
  return node;
}

Node* GraphBuilder::create_bare(const OpDef& op, std::span<Value* const> inputs, AttributeMap attributes) {
  ++created_;
  check_limit("nodes", created_, limits_.nodes, "{} nodes", created_);
  Node* node = scope_->region->create(op, inputs);
  captures_.erase(node); // of an erased node that had the same address
  node->attributes = std::move(attributes);
  if (current_) node->sources = {label_of(*current_)};
  node->recount();
  return node;
}

int GraphBuilder::loops_around() const {
  int count = 0;
  for (const Region* region = scope_->region; region && region->owner(); region = region->owner()->region())
    count += region->owner()->kind() == "loop";
  return count;
}

std::int64_t GraphBuilder::version_of(const std::string& domain) const {
  const auto found = scope_->opsets->find(domain);
  return found == scope_->opsets->end() ? 1 : found->second;
}

void GraphBuilder::collect_missing(const std::vector<ImportNode>& nodes,
                                   std::map<std::string, std::vector<std::string>>& missing) const {
  for (const ImportNode& node : nodes) {
    check_deadline();
    if (!function_of(node) && !rules_(node))
      missing[one_line(node.domain.empty() ? node.op : node.domain + "." + node.op, longest_name)].push_back(
          label_of(node));
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<ImportGraph>>(&attribute.value))
        collect_missing((*inner)->nodes, missing);
  }
}

} // namespace lanner
