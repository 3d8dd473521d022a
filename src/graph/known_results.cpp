#include "graph/known_results.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits/account.h"

namespace lanner {
namespace {

/// Limit for one input; larger ones are data, which passes fold where that pays.
constexpr std::int64_t max_read_elements = 1024;

class DefinitionRun : public KernelContext {
public:
  DefinitionRun(const Node& node, std::span<const Tensor* const> inputs, std::span<const Type> types)
      : node_(node), types_(types), results_(node.outputs().size()) {
    for (const Tensor* input : inputs) inputs_.emplace_back(input ? Item(*input) : Item());
  }

  const Node& node() const override { return node_; }
  std::size_t inputs() const override { return node_.own_inputs().size(); }
  bool has(std::size_t i) const override { return i < inputs() && inputs_[i].tensor.defined(); }
  const Tensor& input(std::size_t i) const override { return item(i).tensor; }
  const Item& item(std::size_t i) const override {
    check(has(i), ErrorCode::invalid_argument, "{}: input {} is missing", node_.kind(), i);
    return inputs_[i];
  }
  std::size_t outputs() const override { return results_.size(); }
  bool wanted(std::size_t i) const override { return i < outputs(); }
  Tensor& output(std::size_t i) override {
    if (results_.at(i).defined()) return results_[i];
    return allocate(i, types_[i].dtype(), types_[i].shape());
  }
  Tensor& allocate(std::size_t i, DType type, Shape shape) override {
    results_.at(i) = Tensor::allocate(type, std::move(shape), {}, {}, current_limits());
    return results_[i];
  }
  void set_item(std::size_t i, Item item) override { results_.at(i) = std::move(item.tensor); }
  std::vector<Item> run_region(std::size_t, std::span<const Item>) override {
    fail(ErrorCode::internal, "{}: its regions do not run here", node_.kind());
  }
  int threads() const override { return 1; }

  std::vector<Tensor> take() { return std::move(results_); }

private:
  const Node& node_;
  std::vector<Item> inputs_;
  std::span<const Type> types_;
  std::vector<Tensor> results_;
};

/// Types that sizes are computed in.
bool is_size(DType type) {
  return type == DType::i64 || type == DType::i32 || type == DType::boolean;
}

/// Whether the work is proportional to the elements read and written: a few elements and large attributes can
/// request any amount. User-defined operators are not run before the network runs.
bool is_little_work(const Node& node, std::span<const Known* const> inputs, std::span<const Type> types) {
  const bool sizes =
      std::ranges::all_of(inputs,
                          [](const Known* known) { return !known || is_size(known->tensor->dtype()); }) &&
      std::ranges::all_of(types, [](const Type& type) { return is_size(type.dtype()); });
  const Traits& traits = node.op().traits;
  const bool more = traits.pattern == Pattern::sampling || traits.pattern == Pattern::unstated ||
                    (traits.pattern == Pattern::contraction && !traits.summed);
  return node.op().elementwise || (sizes && !more);
}

/// Whether running would give new knowledge, at little cost.
bool is_worth_running(const Node& node, std::span<const Known* const> inputs, std::span<const Type> types,
                      std::span<const Known> results) {
  if (!node.op().pure || !node.op().reference || !node.regions().empty() || types.empty()) return false;
  const auto is_read = [](const Known* known) {
    return !known || (known->tensor && known->tensor->elements() <= max_read_elements &&
                      known->tensor->dtype() != DType::string && known->tensor->layout().row_major() &&
                      known->tensor->device().is_host());
  };
  const auto is_small = [](const Type& type) {
    return type.is_tensor() && type.is_static() && type.dtype() != DType::string &&
           type.shape().elements() <= max_known_elements;
  };
  return std::ranges::all_of(inputs, is_read) && std::ranges::all_of(types, is_small) &&
         std::ranges::any_of(results, [](const Known& known) { return !known.tensor; }) &&
         is_little_work(node, inputs, types);
}

} // namespace

std::vector<Tensor> run_definition(const Node& node, std::span<const Tensor* const> inputs,
                                   std::span<const Type> types) {
  check(node.op().reference != nullptr, ErrorCode::unsupported, "{} has no definition to run", node.kind());
  DefinitionRun run(node, inputs, types);
  node.op().reference(run);
  return run.take();
}

void add_known_results(const Node& node, std::span<const Known* const> inputs, std::span<const Type> types,
                       std::vector<Known>& results) {
  if (!is_worth_running(node, inputs, types, results)) return;
  std::vector<const Tensor*> tensors;
  for (const Known* known : inputs) tensors.push_back(known ? &*known->tensor : nullptr);
  try {
    std::vector<Tensor> made = run_definition(node, tensors, types);
    for (std::size_t i = 0; i < made.size(); ++i)
      if (!results[i].tensor && made[i].defined() && made[i].dtype() == types[i].dtype())
        results[i] = known_tensor(std::move(made[i]));
  } catch (const Error& error) {
    // What cannot be computed fails where it runs: it may be in a branch that is never taken.
    if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::out_of_memory) throw;
    check_deadline();
  }
}

} // namespace lanner
