#include "ops/table/custom_node.h"

#include <algorithm>

#include "base/check.h"

namespace lanner {
namespace {

constexpr std::int64_t first_number = LANNER_SIZE_UNKNOWN - 1;

} // namespace

lanner_value unknown_value() noexcept {
  lanner_value value{};
  value.dtype = -1;
  value.rank = LANNER_RANK_UNKNOWN;
  std::ranges::fill(value.dims, LANNER_SIZE_UNKNOWN);
  std::ranges::fill(value.max_dims, INT64_MAX);
  return value;
}

Shape shape_of(const lanner_value& value) {
  return Shape(std::span<const std::int64_t>(value.dims, static_cast<std::size_t>(value.rank)));
}

bool is_known(const lanner_value& value) noexcept {
  return value.rank >= 0 &&
         std::all_of(value.dims, value.dims + value.rank, [](auto size) { return size >= 0; });
}

CustomNode::CustomNode(const Node& node) : attributes_(node.attributes.string("attributes", "{}")) {
  for (const Value* value : node.own_inputs()) {
    const Known known = value && value->constant() ? known_tensor(*value->constant()) : Known{};
    add_input(value ? &value->type : nullptr, &known, nullptr);
  }
  output_count_ = node.outputs().size();
  for (const auto& output : node.outputs()) outputs_.push_back(value(output->type, nullptr));
}

CustomNode::CustomNode(const InferContext& context)
    : attributes_(context.attributes().string("attributes", "{}")), output_count_(context.outputs()) {
  const Symbols& symbols = context.node().region()->graph().symbols;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    if (context.has(i))
      add_input(&context.input(i), &context.known(i), &symbols);
    else
      add_input(nullptr, nullptr, nullptr);
  }
}

CustomNode::CustomNode(const KernelContext& context)
    : attributes_(context.attributes().string("attributes", "{}")), output_count_(context.outputs()) {
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    if (!context.has(i)) {
      add_input(nullptr, nullptr, nullptr);
      continue;
    }
    const Tensor& tensor = context.input(i);
    const Type type(tensor.dtype(), tensor.shape());
    const Known known = known_tensor(tensor);
    add_input(&type, &known, nullptr);
  }
}

void CustomNode::add_input(const Type* type, const Known* known, const Symbols* symbols) {
  if (!type) {
    inputs_.push_back(unknown_value());
    inputs_.back().rank = LANNER_ABSENT;
    return;
  }
  inputs_.push_back(value(*type, symbols));
  if (!known->elements || !std::ranges::all_of(*known->elements, &Dim::is_constant)) return;
  std::vector<std::int64_t>& elements = elements_.emplace_back();
  for (const Dim& element : *known->elements) elements.push_back(element.value());
  elements.reserve(1); // an empty list is not null
  inputs_.back().elements = elements.data();
}

lanner_value CustomNode::value(const Type& type, const Symbols* symbols) {
  check(type.is_tensor() && type.dtype() != DType::string, ErrorCode::unsupported,
        "a value is {}: custom operators take and give tensors of numbers", type.to_string());
  lanner_value made = unknown_value();
  made.dtype = static_cast<lanner_dtype>(type.dtype());
  if (!type.ranked()) return made;
  check(type.rank() <= LANNER_MAX_DIMS, ErrorCode::unsupported,
        "a value is {}: custom operators take and give tensors of at most {} dims", type.to_string(),
        LANNER_MAX_DIMS);
  made.rank = static_cast<std::int32_t>(type.rank());
  for (std::size_t d = 0; d < type.rank(); ++d) set_size(made, d, type.dims()[d], symbols);
  return made;
}

void CustomNode::set_size(lanner_value& value, std::size_t d, const Dim& dim, const Symbols* symbols) {
  if (const auto size = dim.constant()) {
    value.dims[d] = value.max_dims[d] = *size;
    return;
  }
  auto found = std::ranges::find(unknown_, dim);
  if (found == unknown_.end()) found = unknown_.insert(found, dim);
  value.dims[d] = first_number - (found - unknown_.begin());
  if (symbols) value.max_dims[d] = dim.bounds(*symbols).max;
}

const Dim* CustomNode::unknown(std::int64_t number) const {
  const std::uint64_t index = static_cast<std::uint64_t>(first_number) - static_cast<std::uint64_t>(number);
  return index < unknown_.size() ? &unknown_[index] : nullptr;
}

lanner_node CustomNode::shown() const {
  return {sizeof(lanner_node), attributes_.c_str(), inputs_.size(),
          inputs_.data(),      output_count_,       outputs_.empty() ? nullptr : outputs_.data()};
}

CustomOperand::CustomOperand(DType type, const Shape& shape, std::string_view layout)
    : layout_(layout), dims_(shape.dims()) {
  const Layout parsed = Layout::parse(layout_);
  form_.dtype = static_cast<lanner_dtype>(type);
  form_.rank = static_cast<std::int32_t>(shape.rank());
  form_.bytes = parsed.bytes(shape, type);
  if (parsed.blocks.empty()) strides_ = parsed.order.empty() ? dense_strides(shape) : parsed.strides(shape);
}

lanner_operand CustomOperand::at(const void* data) const {
  lanner_operand operand = form_;
  operand.struct_size = sizeof operand;
  if (layout_.empty()) {
    operand.rank = LANNER_ABSENT;
    return operand;
  }
  operand.dims = dims_.data();
  operand.strides = dims_.empty() || !strides_.empty() ? strides_.data() : nullptr;
  operand.layout = layout_.c_str();
  operand.data = const_cast<void*>(data);
  return operand;
}

} // namespace lanner
