#include "ops/control/control_flow.h"

#include "base/check.h"
#include "base/limits/account.h"
#include "ops/definition/axis.h"
#include "ops/definition/strided.h"

namespace lanner::ops {

/// Bytes of an element in a list of tensors, in addition to the tensor: its sizes, and spare capacity of the
/// list.
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
  // Its elements were charged where they were made; a body may return the same ones in each iteration.
  count_bytes(sizeof(Tensor) + element.rank() * sizeof(std::int64_t) + list_overhead);
  elements_.push_back(std::move(element));
}

Tensor Stack::joined(const Type& type) const {
  const auto count = static_cast<std::int64_t>(elements_.size());
  if (elements_.empty()) {
    Shape shape{0};
    if (type.ranked()) {
      shape = Shape{};
      const std::size_t axis = resolve_axis(axis_, type.rank());
      for (std::size_t d = 0; d < type.rank(); ++d)
        shape.push_back(d == axis ? 0 : type.dims()[d].constant().value_or(0));
    }
    return Tensor::allocate(type.dtype(), shape, {}, {}, current_limits());
  }
  const Tensor& first = elements_.front();
  const std::size_t axis = resolve_axis(axis_, first.rank() + 1);
  std::vector<std::int64_t> dims = first.shape().dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), count);
  Tensor out = Tensor::allocate(first.dtype(), Shape(std::move(dims)), {}, {}, current_limits());
  for (std::int64_t k = 0; k < count; ++k)
    copy_slice(elements_[static_cast<std::size_t>(k)], out, axis, backwards_ ? count - 1 - k : k);
  return out;
}

/// The slice of `whole` at `index` along `axis`, as a walk over its other dims.
static Walk slice_walk(const Shape& whole, std::size_t axis, std::int64_t index) {
  Walk walk = dense_walk(whole);
  walk.offset = index * walk.strides[axis];
  walk.strides.erase(walk.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  return walk;
}

void copy_slice(const Tensor& slice, Tensor& whole, std::size_t axis, std::int64_t index) {
  copy_strided(slice.shape(), slice, dense_walk(slice.shape()), whole,
               slice_walk(whole.shape(), axis, index));
}

void take_slice(const Tensor& whole, std::size_t axis, std::int64_t index, Tensor& slice) {
  copy_strided(slice.shape(), whole, slice_walk(whole.shape(), axis, index), slice,
               dense_walk(slice.shape()));
}

Shape without_axis(const Shape& shape, std::size_t axis) {
  std::vector<std::int64_t> dims = shape.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return Shape(std::move(dims));
}

static std::vector<std::int64_t> list_of(const AttributeMap& attributes, std::string_view name,
                                         std::size_t count) {
  std::vector<std::int64_t> list = attributes.integers(name, std::vector<std::int64_t>(count, 0));
  check(list.size() == count, ErrorCode::invalid_argument, "scan: {} has {} entries, expected {}", name,
        list.size(), count);
  return list;
}

ScanPlan plan_scan(const AttributeMap& attributes, std::size_t inputs, std::size_t outputs) {
  const auto scanned = attributes.get<std::int64_t>("num_scan_inputs");
  check(scanned >= 1 && scanned <= static_cast<std::int64_t>(inputs), ErrorCode::invalid_argument,
        "scan: num_scan_inputs is {} of {} inputs", scanned, inputs);
  ScanPlan plan;
  plan.scanned = static_cast<std::size_t>(scanned);
  plan.states = inputs - plan.scanned;
  check(outputs >= plan.states, ErrorCode::invalid_argument, "scan: {} outputs for {} states", outputs,
        plan.states);
  plan.stacked = outputs - plan.states;
  plan.input_axes = list_of(attributes, "scan_input_axes", plan.scanned);
  plan.input_directions = list_of(attributes, "scan_input_directions", plan.scanned);
  plan.output_axes = list_of(attributes, "scan_output_axes", plan.stacked);
  plan.output_directions = list_of(attributes, "scan_output_directions", plan.stacked);
  return plan;
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
  return *static_cast<const std::uint8_t*>(tensor.data()) != 0; // A caller's tensor may hold any byte.
}

} // namespace lanner::ops
