#include "builder/int8/graph_run.h"

#include <utility>

#include "base/check.h"
#include "engine/plan_file/plan_file.h"
#include "engine/state.h"

namespace lanner {
namespace {

/// Before the name of a value that is made an output: the graph's own outputs may have the same name.
constexpr std::string_view mark = "value:";

std::unique_ptr<Graph> with_outputs(const Graph& graph, const std::vector<std::string>& values) {
  std::unique_ptr<Graph> copy = graph.clone();
  for (const std::string& name : values) {
    Value* const value = copy->find(name);
    check(value && value->region() == &copy->body(), ErrorCode::internal, "no value %{} in the copy", name);
    copy->add_output(std::string(mark) + name, value);
  }
  return copy;
}

bool is_half_type(DType type) {
  return type == DType::f16 || type == DType::bf16;
}

Tensor converted(const Tensor& tensor, DType type) {
  if (tensor.dtype() == type) return tensor;
  Tensor made = Tensor::allocate(type, tensor.shape());
  copy_tensor(tensor, made);
  return made;
}

/// Samples of f32 for an input in 16 bits are rounded to its type.
std::map<std::string, Item> as_inputs(std::map<std::string, Item> inputs, const Engine& engine) {
  for (const Binding& binding : engine.inputs())
    if (const auto found = inputs.find(binding.name); found != inputs.end() && is_half_type(binding.dtype) &&
                                                      found->second.tensor.defined() &&
                                                      found->second.tensor.dtype() == DType::f32)
      found->second = Item(converted(found->second.tensor, binding.dtype));
  return inputs;
}

Target in_fp32(Target target) {
  target.precision = Precision{};
  target.deterministic = false;
  return target;
}

} // namespace

struct GraphRun::State {
  Engine engine;
  Context context;
};

GraphRun::GraphRun(const Graph& graph, const std::vector<std::string>& values, const BuildOptions& options,
                   const Target& target) {
  auto state = std::make_shared<EngineState>(options.limits, nullptr, options.environment);
  state->graph = with_outputs(graph, values);
  state->target = in_fp32(target);
  describe(*state);
  Engine engine = engine_of(std::move(state));
  Context context = engine.create_context();
  state_ = std::make_unique<State>(State{std::move(engine), std::move(context)});
}

GraphRun::~GraphRun() = default;

GraphRun::Results GraphRun::run(const std::map<std::string, Item>& inputs, const Control& control) {
  Results results;
  for (const auto& [name, item] : state_->context(as_inputs(inputs, state_->engine), control)) {
    if (!item.tensor.defined() || (item.tensor.dtype() != DType::f32 && !is_half_type(item.tensor.dtype())))
      continue;
    const Tensor reals = converted(item.tensor, DType::f32);
    if (name.starts_with(mark))
      results.values.emplace(name.substr(mark.size()), reals);
    else
      results.outputs.emplace(name, reals);
  }
  return results;
}

} // namespace lanner
