// Convolutions and products of reals in the form of contraction.h.

#include <algorithm>

#include "backends/contraction/contraction.h"
#include "backends/product/product.h"

namespace lanner {
namespace {

ContractionStep step_of(const EpilogueStep& step) {
  if (step.binary) return {&formula_of(*step.binary), {}, step.operand, step.spread, false, {}};
  const ActivationCall& call = step.activation;
  return {call.formula, {call.alpha, call.beta}, {}, Spread::full, false, {}};
}

bool read_conv(const Group& group, Contraction& c, std::string& reason) {
  constexpr std::size_t channel_axis = 1;
  const GroupOp& op = group.ops().front();
  if (op.kind() != "conv") return false;
  c.x.operand = op.input(0);
  c.weights = op.input(1);
  c.bias = op.input(2);
  if (!read_contraction_shapes(op, true, c, reason)) return false;
  const auto epilogue = epilogue_of(group, channel_axis, reason);
  if (!epilogue) return false;
  for (const EpilogueStep& step : *epilogue) c.steps.push_back(step_of(step));
  return true;
}

bool read_product(const Group& group, Contraction& c, std::string& reason) {
  const auto product = product_of(group, reason);
  if (!product) return false;
  if (!product->single() || product->transpose_a || product->result.rank() != product->a.shape().rank()) {
    reason = "supports a single matrix of weights, and rows as they are";
    return false;
  }
  c.x.operand = product->a;
  c.weights = product->b;
  c.bias = product->bias;
  c.transposed = product->transpose_b;
  c.input = product->a.shape();
  c.filter = product->b.shape();
  c.output = product->result;
  for (const EpilogueStep& step : product->epilogue) c.steps.push_back(step_of(step));
  return true;
}

bool is_real(const Operand& operand) {
  return operand.dtype() == DType::f32;
}

bool is_from_outside(const Operand& operand) {
  return !operand || (is_real(operand) && !operand.is_op());
}

bool is_usable(const ContractionStep& step) {
  if (!step.operand) return true;
  if (!is_from_outside(step.operand)) return false;
  if (step.spread == Spread::full) return step.operand.is_input(); // A constant inside would be row-major.
  return step.spread == Spread::channel || takes_run_time_number(*step.formula);
}

} // namespace

std::optional<Contraction> real_contraction_of(const Group& group, bool conv, std::string& reason) {
  if (group.empty()) return std::nullopt;
  Contraction c;
  c.type = DType::bf16;
  if (!(conv ? read_conv(group, c, reason) : read_product(group, c, reason))) return std::nullopt;
  take_bias(c);
  const bool taken = is_real(c.x.operand) && c.x.operand.is_input() && c.weights.is_input() &&
                     c.weights.constant && is_real(c.weights) && (!c.bias || c.bias.constant) &&
                     is_from_outside(c.bias) && std::ranges::all_of(c.steps, is_usable);
  if (taken) return c;
  reason = "supports f32 with constant weights and a constant bias";
  return std::nullopt;
}

} // namespace lanner
