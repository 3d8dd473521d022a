#include "passes/rewriting/constant_math.h"

#include <algorithm>

#include "base/check.h"

#include "base/limits/account.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

ConstantMath::~ConstantMath() {
  for (auto it = made_.rbegin(); it != made_.rend(); ++it)
    if ((*it)->unused()) (*it)->region()->erase((*it)->producer());
}

Value* ConstantMath::keep(Value* made) {
  if (made) made_.push_back(made);
  return made;
}

Value* ConstantMath::apply(std::string_view kind, std::vector<Value*> inputs, AttributeMap attributes) {
  if (std::ranges::find(inputs, nullptr) != inputs.end()) return nullptr;
  Region& region = *before_.region();
  Node* node = region.create(region.graph().ops().get(kind), inputs, &before_);
  node->attributes = std::move(attributes);
  node->add_output({}, {});
  std::vector<Item> items(inputs.size());
  std::vector<const Item*> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    items[i] = *inputs[i]->constant();
    given.push_back(&items[i]);
  }
  Value* made = nullptr;
  try {
    node->output()->type = infer_node(*node, given).at(0);
    made = fold_node(*node);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::out_of_memory) throw;
    check_deadline();
  }
  if (!made) region.erase(node);
  return keep(made);
}

Value* ConstantMath::number(double value) {
  return keep(before_.region()->graph().constant(Tensor::scalar(value), {}, &before_));
}

Value* ConstantMath::cast(Value* value, DType type) {
  if (!value || value->type.dtype() == type) return value;
  AttributeMap attributes;
  attributes.set("to", type);
  return apply("cast", {value}, std::move(attributes));
}

Value* ConstantMath::integers(const Shape& shape) {
  const std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  const auto rank = static_cast<std::int64_t>(sizes.size());
  return keep(before_.region()->graph().constant(Tensor::from<std::int64_t>(sizes, {rank}), {}, &before_));
}

Value* ConstantMath::reshape(Value* value, const Shape& shape) {
  if (!value || value->constant()->shape() == shape) return value;
  AttributeMap attributes;
  attributes.set("allowzero", std::int64_t{1});
  return apply("reshape", {value, integers(shape)}, std::move(attributes));
}

Value* ConstantMath::expand(Value* value, const Shape& shape) {
  if (!value || value->constant()->shape() == shape) return value;
  return apply("expand", {value, integers(shape)});
}

} // namespace lanner::passes
