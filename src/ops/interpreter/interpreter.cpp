#include "ops/interpreter/interpreter.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "base/limits/account.h"
#include "graph/copy.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "ops/definition/expansion.h"
#include "ops/movement/movement_rules.h"
#include "tensor/strings.h"

namespace lanner {

namespace {

/// The expansion of a node without a kernel, as a graph for inputs of certain types.
struct Expansion {
  std::unique_ptr<Graph> graph;
  std::vector<std::size_t> feeds;   ///< For each input of the graph, the node's input.
  std::vector<std::size_t> results; ///< For each output of the graph, the node's output.
};

class Interpreter {
public:
  explicit Interpreter(const NodeRunOptions& options) : options_(options) {}

  std::vector<Item> run_region(const Region& region, std::vector<Item> parameters);
  std::vector<Item> run(const Node& node, std::span<const Item* const> inputs);
  int threads() const noexcept { return options_.threads; }

private:
  std::vector<Item> run_kernel(const Node& node, std::span<const Item* const> inputs);
  std::vector<Item> run_expansion(const Node& node, std::span<const Item* const> inputs);
  std::shared_ptr<const Expansion> expansion(const Node& node, std::span<const Item* const> inputs);

  /// Whether an operand is passed through without being read.
  bool stays(const Node& node, std::size_t i, const Tensor& tensor) const {
    return options_.hands_on && !tensor.device().is_host() && ops::hands_on(node, i);
  }
  void count_step();
  void count_bytes(std::span<const Item* const> inputs, std::span<const Item> results);

  NodeRunOptions options_;
  std::uint32_t depth_ = 0;
  std::uint64_t steps_ = 0, bytes_ = 0;
  std::map<std::pair<const Node*, std::string>, std::shared_ptr<const Expansion>> expansions_;
};

class NodeRun : public KernelContext {
public:
  NodeRun(Interpreter& interpreter, const Node& node, std::span<const Item* const> inputs)
      : interpreter_(interpreter), node_(node), inputs_(inputs), results_(node.outputs().size()) {}

  const Node& node() const override { return node_; }
  std::size_t inputs() const override { return node_.own_inputs().size(); }
  bool has(std::size_t i) const override { return i < inputs() && inputs_[i]; }
  const Tensor& input(std::size_t i) const override {
    const Item& held = item(i);
    check(!held.is_sequence() && !held.absent, ErrorCode::invalid_argument, "{}: input {} is not a tensor",
          node_.kind(), i);
    return held.tensor;
  }
  const Item& item(std::size_t i) const override {
    check(has(i), ErrorCode::invalid_argument, "{}: input {} is missing", node_.kind(), i);
    return *inputs_[i];
  }
  std::size_t outputs() const override { return results_.size(); }
  bool wanted(std::size_t i) const override { return i < outputs() && !node_.output(i)->unused(); }

  void infer() {
    if (types_.empty()) types_ = infer_node(node_, inputs_);
  }
  Tensor& output(std::size_t i) override {
    check(i < outputs(), ErrorCode::internal, "{}: output {} does not exist", node_.kind(), i);
    if (results_[i].tensor.defined()) return results_[i].tensor;
    infer();
    // Inference sees all inputs here; it ignores sizes given in an unexpected type.
    check(types_[i].is_static(), ErrorCode::invalid_argument,
          "{}: the size of output {}, {}, does not follow from its inputs", node_.kind(), i,
          types_[i].to_string());
    return allocate(i, types_[i].dtype(), types_[i].shape());
  }
  Tensor& allocate(std::size_t i, DType type, Shape shape) override {
    check(i < outputs(), ErrorCode::internal, "{}: output {} does not exist", node_.kind(), i);
    results_[i].tensor = Tensor::allocate(type, std::move(shape), {}, {}, current_limits());
    return results_[i].tensor;
  }
  void set_item(std::size_t i, Item item) override {
    check(i < outputs(), ErrorCode::internal, "{}: output {} does not exist", node_.kind(), i);
    results_[i] = std::move(item);
  }
  std::vector<Item> run_region(std::size_t r, std::span<const Item> parameters) override {
    std::vector<Item> all(parameters.begin(), parameters.end());
    for (const Item* capture : inputs_.last(node_.captures())) all.push_back(*capture);
    return interpreter_.run_region(*node_.regions()[r], std::move(all));
  }
  int threads() const override { return interpreter_.threads(); }

  std::vector<Item> take() { return std::move(results_); }

private:
  Interpreter& interpreter_;
  const Node& node_;
  std::span<const Item* const> inputs_;
  std::vector<Item> results_;
  std::vector<Type> types_;
};

bool is_set(const Item& item) {
  return item.tensor.defined() || item.is_sequence() || item.absent;
}

bool is_plain(const Tensor& tensor) {
  return !tensor.defined() || (tensor.layout().row_major() && tensor.device().is_host());
}

// Inference and kernels are written separately, and models declare data-dependent sizes; here both are
// compared with the result.
void check_result(const Node& node, std::span<const Item* const> inputs, std::size_t i, const Item& item) {
  const Value& value = *node.output(i);
  if (value.unused()) return;
  check(is_set(item), ErrorCode::internal, "the kernel set no result for %{}", value.name());
  const bool comparable = value.type.is_tensor() && !(value.type == Type{}) && item.tensor.defined();
  if (!comparable || fits(item.tensor, value.type)) return;
  const std::string found = Type(item.tensor.dtype(), item.tensor.shape()).to_string();
  check(!fits(item.tensor, infer_node(node, inputs)[i]), ErrorCode::invalid_argument,
        "%{} is declared {}, but is {}", value.name(), value.type.to_string(), found);
  fail(ErrorCode::internal, "%{}: inferred {}, computed {}", value.name(), value.type.to_string(), found);
}

std::vector<Item> Interpreter::run(const Node& node, std::span<const Item* const> inputs) {
  check(inputs.size() == node.inputs().size(), ErrorCode::internal, "{}: {} items for {} inputs", node.kind(),
        inputs.size(), node.inputs().size());
  std::vector<Item> plain(inputs.size());
  std::vector<const Item*> arguments(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || is_plain(inputs[i]->tensor) || stays(node, i, inputs[i]->tensor)) continue;
    plain[i].tensor = inputs[i]->tensor.clone();
    arguments[i] = &plain[i];
  }
  std::vector<Item> results = node.op().expand ? run_expansion(node, arguments) : run_kernel(node, arguments);
  for (std::size_t i = 0; i < results.size(); ++i) check_result(node, arguments, i, results[i]);
  return results;
}

std::vector<Item> Interpreter::run_kernel(const Node& node, std::span<const Item* const> inputs) {
  check(node.op().reference != nullptr, ErrorCode::unsupported, "{} has no reference kernel", node.kind());
  if (options_.instead)
    if (auto results = options_.instead(node, inputs)) return std::move(*results);
  std::vector<Item> results = [&] {
    Meter meter;
    NodeRun run(*this, node, inputs);
    // Kernels index with what inference has checked, and operand sizes are certain only here. Regions are
    // checked node by node as they run.
    if (node.regions().empty()) run.infer();
    node.op().reference(run);
    return run.take();
  }();
  for (const Item& result : results) own_characters(result.tensor);
  return results;
}

std::vector<Item> Interpreter::run_expansion(const Node& node, std::span<const Item* const> inputs) {
  constexpr std::uint32_t max_depth = 64;
  check(depth_ < max_depth, ErrorCode::internal, "{}: expansions nest deeper than {}", node.kind(),
        max_depth);
  const std::shared_ptr<const Expansion> expanded = expansion(node, inputs);
  std::vector<Item> parameters;
  for (std::size_t i : expanded->feeds) parameters.push_back(*inputs[i]);
  ++depth_;
  std::vector<Item> given = run_region(expanded->graph->body(), std::move(parameters));
  --depth_;
  std::vector<Item> results(node.outputs().size());
  for (std::size_t i = 0; i < given.size(); ++i) results[expanded->results[i]] = std::move(given[i]);
  return results;
}

Type type_of(const Item& item, const Value& value) {
  const bool tensor = !item.is_sequence() && !item.absent && value.type.is_tensor();
  return tensor ? Type(item.tensor.dtype(), item.tensor.shape()) : value.type;
}

Expansion expand(const Node& node, std::span<const Item* const> inputs) {
  Expansion made{std::make_unique<Graph>(node.region()->graph().ops()), {}, {}};
  Graph& graph = *made.graph;
  graph.symbols = node.region()->graph().symbols;
  NodeCopier copier(graph.body());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value* value = node.input(i);
    if (!value) continue;
    if (const Tensor* constant = value->constant()) {
      copier.map(value, graph.constant(*constant));
    } else {
      copier.map(value, graph.add_input("", type_of(*inputs[i], *value)));
      made.feeds.push_back(i);
    }
  }
  Node& copy = *copier.copy(node);
  for (const auto& output : copy.outputs()) output->type = Type{};
  infer_types(graph);
  const std::vector<Value*> results = emit_expansion(copy);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) continue;
    graph.add_output(fmt::format("{}", i), results[i]);
    made.results.push_back(i);
  }
  graph.body().erase(&copy);
  return made;
}

std::shared_ptr<const Expansion> Interpreter::expansion(const Node& node,
                                                        std::span<const Item* const> inputs) {
  constexpr std::size_t max_cached = 256; // a node in a loop may get other shapes in each iteration
  std::string types;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    types += (inputs[i] ? type_of(*inputs[i], *node.input(i)).to_string() : "_") + " ";
  const auto key = std::pair(&node, std::move(types));
  if (const auto found = expansions_.find(key); found != expansions_.end()) return found->second;
  if (expansions_.size() >= max_cached) expansions_.clear();
  auto made = std::make_shared<const Expansion>(expand(node, inputs));
  expansions_.emplace(key, made);
  return made;
}

// Holds each value until its last use.
class Frame {
public:
  void set(const Value* value, Item item) {
    if (!value->unused()) held_[value] = {std::move(item), value->uses().size()};
  }
  const Item* get(const Value* value) const {
    const auto found = held_.find(value);
    check(found != held_.end(), ErrorCode::internal, "%{} is used before it is computed", value->name());
    return &found->second.item;
  }
  void used(const Value* value) {
    const auto found = held_.find(value);
    if (found != held_.end() && --found->second.uses == 0) held_.erase(found);
  }

private:
  struct Held {
    Item item;
    std::size_t uses = 0;
  };
  std::unordered_map<const Value*, Held> held_;
};

void Interpreter::count_step() {
  check(++steps_ <= options_.steps, ErrorCode::limit_exceeded, "it takes more than {} steps", options_.steps);
  if (!options_.control) return check_deadline();
  options_.control->report({"run", static_cast<double>(steps_), 0, "steps"});
  options_.control->cancel.check();
}

void Interpreter::count_bytes(std::span<const Item* const> inputs, std::span<const Item> results) {
  const auto add = [&](const Item& item) {
    if (item.tensor.defined()) bytes_ += item.tensor.bytes() + characters_of(item.tensor);
  };
  for (const Item* input : inputs)
    if (input) add(*input);
  std::ranges::for_each(results, add);
  check(bytes_ <= options_.bytes, ErrorCode::limit_exceeded, "its steps move more than {} bytes",
        options_.bytes);
}

std::vector<Item> Interpreter::run_region(const Region& region, std::vector<Item> parameters) {
  check(parameters.size() == region.parameters().size(), ErrorCode::internal,
        "a region of {} parameters is given {}", region.parameters().size(), parameters.size());
  count_step(); // an iteration counts even if the body is empty
  Frame frame;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    frame.set(region.parameter(i), std::move(parameters[i]));
  parameters.clear();
  for (const auto& node : region.nodes()) {
    with_context([&] { return "node " + node->label(); },
                 [&] {
                   count_step();
                   std::vector<const Item*> inputs;
                   for (const Value* input : node->inputs())
                     inputs.push_back(input ? frame.get(input) : nullptr);
                   std::vector<Item> results = run(*node, inputs);
                   count_bytes(inputs, results);
                   for (const Value* input : node->inputs()) {
                     if (input) frame.used(input);
                   }
                   for (std::size_t i = 0; i < results.size(); ++i)
                     frame.set(node->output(i), std::move(results[i]));
                 });
  }
  std::vector<Item> outputs;
  for (const Value* output : region.outputs()) outputs.push_back(*frame.get(output));
  return outputs;
}

// A symbol must have the same size in every input.
void bind_symbols(const Value& input, const Tensor& tensor, Bindings& bindings) {
  check(fits(tensor, input.type), ErrorCode::invalid_argument, "input {}: expected {}, got {}", input.name(),
        input.type.to_string(), Type(tensor.dtype(), tensor.shape()).to_string());
  if (!input.type.ranked()) return;
  for (std::size_t i = 0; i < tensor.rank(); ++i) {
    const std::optional<std::string> symbol = input.type.dims()[i].as_symbol();
    if (!symbol) continue;
    const std::int64_t size = bindings.emplace(*symbol, tensor.shape()[i]).first->second;
    check(size == tensor.shape()[i], ErrorCode::invalid_argument,
          "input {}: {} is {} in dim {} but {} elsewhere", input.name(), *symbol, tensor.shape()[i], i, size);
  }
}

} // namespace

bool fits(const Tensor& tensor, const Type& type) {
  if (tensor.dtype() != type.dtype()) return false;
  if (!type.ranked()) return true;
  if (tensor.rank() != type.rank()) return false;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    const auto size = type.dims()[i].constant();
    if (size && *size != tensor.shape()[i]) return false;
  }
  return true;
}

std::vector<Item> run_reference(const Graph& graph, std::span<const Item> inputs, int threads) {
  return run_reference(graph, inputs, NodeRunOptions{.threads = threads});
}

std::vector<Item> run_reference(const Graph& graph, std::span<const Item> inputs,
                                const NodeRunOptions& options) {
  const Region& body = graph.body();
  check(inputs.size() == body.parameters().size(), ErrorCode::invalid_argument,
        "graph {} has {} inputs, {} were given", graph.name, body.parameters().size(), inputs.size());
  Bindings bindings;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (body.parameter(i)->type.is_tensor()) bind_symbols(*body.parameter(i), inputs[i].tensor, bindings);
  }
  return Interpreter(options).run_region(body, {inputs.begin(), inputs.end()});
}

std::vector<Item> run_node(const Node& node, std::span<const Item* const> inputs,
                           const NodeRunOptions& options) {
  return Interpreter(options).run(node, inputs);
}

} // namespace lanner
