#include "ops/control_flow.h"

#include "base/account.h"
#include "ops/axis.h"
#include "ops/strided.h"

namespace lanner::ops {

/// Of an element in a list of tensors, beside the element: its sizes, and the list's room to grow.
constexpr std::uint64_t list_overhead = 160;

static Type common_tensor_type(InferContext& context, const Type& a, const Type& b, std::string_view what) {
  check(a.dtype() == b.dtype(), ErrorCode::invalid_argument, "{} is {} in one case and {} in another", what,
        a.to_string(), b.to_string());
  if (!a.ranked() || !b.ranked() || a.rank() != b.rank()) return Type::unranked(a.dtype());
  Dims dims = a.dims();
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (!(dims[i] == b.dims()[i])) dims[i] = context.fresh("case", max(dims[i], b.dims()[i]));
  return a.with_dims(std::move(dims));
}

Type common_type(InferContext& context, const Type& a, const Type& b, std::string_view what) {
  if (a == b) return a;
  // A value that may be absent in one case is optional in both.
  if (a.kind() == Type::Kind::optional && b.kind() != Type::Kind::optional)
    return Type::optional(common_type(context, a.element(), b, what));
  if (b.kind() == Type::Kind::optional && a.kind() != Type::Kind::optional)
    return Type::optional(common_type(context, a, b.element(), what));
  check(a.kind() == b.kind(), ErrorCode::invalid_argument, "{} is {} in one case and {} in another", what,
        a.to_string(), b.to_string());
  switch (a.kind()) {
  case Type::Kind::sequence:
    return Type::sequence(common_type(context, a.element(), b.element(), what));
  case Type::Kind::optional:
    return Type::optional(common_type(context, a.element(), b.element(), what));
  default:
    return common_tensor_type(context, a, b, what);
  }
}

void Stack::push(Tensor element) {
  if (!elements_.empty()) {
    const Tensor& first = elements_.front();
    check(element.dtype() == first.dtype() && element.shape() == first.shape(), ErrorCode::invalid_argument,
          "a step gives {} {}, the first gave {} {}; expected the same from each", to_string(element.dtype()),
          element.shape().to_string(), to_string(first.dtype()), first.shape().to_string());
  }
  // Its elements are charged where they were made; a body may give the same ones at each turn.
  count_bytes(sizeof(Tensor) + element.rank() * sizeof(std::int64_t) + list_overhead);
  elements_.push_back(std::move(element));
}

void Stack::store(KernelContext& context, std::size_t i) const {
  const auto count = static_cast<std::int64_t>(elements_.size());
  if (elements_.empty()) {
    const Type& type = context.node().output(i)->type;
    Shape shape{0};
    if (type.ranked()) {
      shape = Shape{};
      const std::size_t axis = resolve_axis(axis_, type.rank());
      for (std::size_t d = 0; d < type.rank(); ++d)
        shape.push_back(d == axis ? 0 : type.dims()[d].constant().value_or(0));
    }
    context.allocate(i, type.dtype(), shape);
    return;
  }
  const Tensor& first = elements_.front();
  const std::size_t axis = resolve_axis(axis_, first.rank() + 1);
  std::vector<std::int64_t> dims = first.shape().dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), count);
  Tensor& out = context.allocate(i, first.dtype(), Shape(std::move(dims)));
  Walk target = dense_walk(out.shape());
  const std::int64_t step = target.strides[axis];
  target.strides.erase(target.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  for (std::int64_t k = 0; k < count; ++k) {
    target.offset = (backwards_ ? count - 1 - k : k) * step;
    const Tensor& element = elements_[static_cast<std::size_t>(k)];
    copy_strided(first.shape(), element, dense_walk(first.shape()), out, target);
  }
}

Item sequence_of(std::vector<Item> items) {
  struct Held {
    std::vector<Item> items;
    Charge charge;
  };
  const std::uint64_t bytes = items.size() * (sizeof(Item) + list_overhead);
  auto held = std::make_shared<Held>(Held{std::move(items), Charge(current_account(), bytes)});
  Item sequence;
  sequence.items = std::shared_ptr<const std::vector<Item>>(held, &held->items);
  return sequence;
}

bool read_condition(const Tensor& tensor, std::string_view what) {
  check(tensor.dtype() == DType::boolean && tensor.elements() == 1, ErrorCode::invalid_argument,
        "{} is {} of shape {}, expected one bool", what, to_string(tensor.dtype()),
        tensor.shape().to_string());
  return tensor.as<bool>()[0];
}

} // namespace lanner::ops
