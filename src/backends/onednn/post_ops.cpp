#include "backends/onednn/post_ops.h"

#include <map>

#include "backends/cpu/stored_types.h"
#include "backends/storage_layout.h"

namespace lanner::onednn {

namespace {

dnnl::algorithm algorithm_of(BinaryKind kind) {
  using A = dnnl::algorithm;
  switch (kind) {
  case BinaryKind::add:
    return A::binary_add;
  case BinaryKind::subtract:
    return A::binary_sub;
  case BinaryKind::multiply:
    return A::binary_mul;
  case BinaryKind::divide:
    return A::binary_div;
  case BinaryKind::minimum:
    return A::binary_min;
  case BinaryKind::maximum:
    return A::binary_max;
  }
  return A::undef;
}

bool can_add_in_place(const EpilogueStep& step) {
  return step.binary == BinaryKind::add && step.spread == Spread::full && step.operand.is_input() &&
         !step.operand.constant;
}

std::optional<Desc> operand_desc(const EpilogueStep& step, const Shape& result, const Layout& layout,
                                 std::size_t channel_axis, DType type) {
  if (step.spread == Spread::full) return describe(result, layout, type);
  Shape shape(std::vector<std::int64_t>(result.rank(), 1));
  if (step.spread == Spread::channel) shape[channel_axis] = result[channel_axis];
  return describe(shape, {}, step.operand.dtype());
}

/// Layout of an operand as large as the result, which the kernel describes by the result's dims. Nothing
/// where the operand's own dims cannot express that: padding along a dim that it lacks.
std::optional<Layout> full_layout(const Layout& layout, const Shape& result, const Shape& operand) {
  if (operand.rank() == result.rank()) return canonical(layout, result);
  Layout own = operand_layout(layout, result.rank(), operand);
  if (own.padded(operand).elements() != layout.padded(result).elements()) return std::nullopt;
  return own;
}

} // namespace

bool adds_in_place(const Epilogue& epilogue) {
  for (const EpilogueStep& step : epilogue)
    if (step.binary && can_add_in_place(step)) return true;
  return false;
}

std::optional<PostOps> post_ops(const Epilogue& epilogue, Residual residual, const Shape& result,
                                const Layout& layout, std::size_t channel_axis, DType type) {
  PostOps post;
  std::map<const Formula*, std::pair<float, float>> numbers;
  for (const EpilogueStep& step : epilogue) {
    if (!step.binary) {
      // oneDNN 2.6's products keep one alpha and beta per kind: a second step of the same kind would use
      // those of the first.
      const auto& [formula, alpha, beta] = step.activation;
      const auto [first, fresh] = numbers.try_emplace(formula, alpha, beta);
      if (!fresh && first->second != std::pair(alpha, beta)) return std::nullopt;
      if (!append(post.ops, step.activation)) return std::nullopt;
      continue;
    }
    if (step.operand.dtype() != DType::f32) return std::nullopt;
    if (residual == Residual::in_place && !post.added && can_add_in_place(step)) {
      post.ops.append_sum(1.0F);
      post.added = step.operand.index;
      continue;
    }
    const auto desc = operand_desc(step, result, layout, channel_axis, type);
    if (!desc) return std::nullopt;
    const int place = post.ops.len();
    post.ops.append_binary(algorithm_of(*step.binary), *desc);
    post.arguments.push_back(
        argument(DNNL_ARG_ATTR_MULTIPLE_POST_OP(place) | DNNL_ARG_SRC_1, *desc, step.operand));
  }
  return post;
}

Storage stored_real(Layout layout, DType type) {
  return stored_as(std::move(layout), type == DType::f32 ? std::nullopt : std::optional(type));
}

bool ask_operands(const Epilogue& epilogue, const Layout& layout, const Shape& result,
                  OperandStorages& storages, DType type) {
  for (const EpilogueStep& step : epilogue) {
    if (!step.binary) continue;
    const auto own = step.spread == Spread::full ? full_layout(layout, result, step.operand.shape())
                                                 : std::optional(Layout{});
    if (!own) return false;
    storages.ask(step.operand, stored_real(*own, step.spread == Spread::full ? type : DType::f32));
  }
  return storages.agree();
}

} // namespace lanner::onednn
