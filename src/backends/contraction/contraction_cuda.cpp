// Convolutions and matrix products of bytes on tensor cores, each compiled by NVRTC for its sizes, with any
// epilogue.

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "backends/contraction/contraction.h"
#include "backends/convolution/image_matrix.h"
#include "backends/cuda/families.h"
#include "backends/cuda/storage.h"
#include "backends/operand_storages.h"
#include "backends/product/matrix_kernel.h"
#include "backends/product/product.h"
#include "base/check.h"

namespace lanner::cuda {
namespace {

bool is_even(std::int64_t size) {
  return size % 2 == 0;
}

bool fits(const Contraction& c) {
  if (c.conv) return counts_in_31_bits(c.input, c.filter, c.output, c.window);
  const auto small = [](const Shape& shape) { return shape.elements() < INT32_MAX; };
  return small(c.input) && small(c.filter) && small(c.output);
}

bool reads_padding(const Contraction& c) {
  return c.conv && (std::ranges::any_of(c.window.begin, [](std::int64_t n) { return n > 0; }) ||
                    std::ranges::any_of(c.window.end, [](std::int64_t n) { return n > 0; }));
}

bool has_usable_operands(const Contraction& c) {
  const auto usable = [](const ContractionStep& step) { return !step.operand || step.operand.is_input(); };
  const auto given = [](const Operand& operand) { return !operand || operand.is_input(); };
  return c.x.operand.is_input() && c.weights.is_input() && given(c.x_zero) && given(c.weight_scale) &&
         given(c.bias) && std::ranges::all_of(c.steps, usable) && c.steps.size() + 3 < most_matrix_operands;
}

/// Why the kernels do not take it; empty where they do.
std::string refusal(const Contraction& c) {
  if (!has_usable_operands(c)) return "supports operands that are inputs of the group, of a dozen steps";
  if (c.has_weight_zeros()) return "supports weights whose zero points are 0";
  if (c.depthwise()) return "a depthwise convolution has too short sums for tensor cores";
  if (!is_even(c.channels())) return "supports an even number of channels";
  if (c.x_zero && reads_padding(c)) return "supports no padding where the zero point is a value of the run";
  return fits(c) ? "" : "sizes exceed 31 bits";
}

std::optional<Contraction> read(const Group& group, bool conv, std::string& reason) {
  auto c = contraction_of(group, conv, reason);
  if (!c) return std::nullopt;
  reason = refusal(*c);
  return reason.empty() ? std::move(c) : std::nullopt;
}

Layout value_layout(const Contraction& c, const Shape& shape) {
  return c.conv ? pixels_layout(shape) : Layout{};
}
/// With the depth innermost.
Layout weights_layout(const Contraction& c) {
  if (c.conv) return pixels_layout(c.filter);
  return c.transposed ? Layout{} : exchanged_layout(c.filter);
}

bool adds_bytes(const ContractionStep& step) {
  return step.stored && !step.rounded && step.formula->name == "add";
}

/// Whether the steps are at most an addition of bytes and a ReLU, so that everything may be divided by the
/// result's scale beforehand.
bool in_units_of_result(const Contraction& c) {
  if (!c.quantised) return false;
  auto step = c.steps.begin();
  if (step != c.steps.end() && adds_bytes(*step)) ++step;
  if (step != c.steps.end() && !step->rounded && !step->operand && step->formula->name == "relu") ++step;
  return step == c.steps.end();
}
float unit_of(const Contraction& c) {
  return in_units_of_result(c) ? c.quantised->scale : 1;
}

/// The step's operand, with the storage that the tactic names.
MatrixOperand operand_of(const Contraction& c, const ContractionStep& step, const Tactic& tactic) {
  const Storage& storage = tactic.inputs.at(step.operand.index);
  MatrixOperand operand{storage.dtype.value_or(step.operand.dtype()), step.spread,
                        step.spread == Spread::full ? row_distance(storage, c.columns()) : 0, step.stored};
  // Offsets hold the zero point.
  if (in_units_of_result(c)) operand.stored = ByteScale{step.stored->scale / unit_of(c), 0};
  return operand;
}

/// Returns the inputs that the steps read, in order.
std::vector<std::size_t> add_steps(const Contraction& c, const Tactic& tactic, MatrixProblem& problem) {
  std::vector<std::size_t> inputs;
  for (const ContractionStep& step : c.steps) {
    MatrixStep added{step.formula, step.numbers, {}, step.reversed};
    if (step.rounded) added.rounding = ByteRounding{*step.rounded, *step.stored};
    if (step.operand) {
      added.operand = operand_of(c, step, tactic);
      inputs.push_back(step.operand.index);
    }
    problem.steps.push_back(added);
  }
  if (c.quantised)
    problem.rounding = ByteRounding{c.type, {c.quantised->scale / unit_of(c), c.quantised->zero}};
  return inputs;
}

bool is_corrected(const Contraction& c) {
  return c.type == DType::i32 && c.x.by.zero != 0;
}

/// Takes strides and types from the storages that `tactic` names; distances of a and b are in pairs.
MatrixProblem problem_of(const Contraction& c, const Tactic& tactic, std::vector<std::size_t>& inputs) {
  const Storage &x = tactic.inputs.at(c.x.operand.index), &y = tactic.outputs.at(0);
  MatrixProblem problem;
  problem.type = c.x.operand.dtype();
  problem.bytes = MatrixBytes{c.weights.dtype(), reads_padding(c) ? c.x.by.zero : 0, {}, is_corrected(c)};
  problem.result = y.dtype.value_or(c.type);
  problem.batch = c.groups;
  problem.side_by_side = c.groups > 1;
  problem.columns = c.group_columns();
  problem.rows = c.rows();
  problem.depth = c.depth() / 2;
  problem.b = {problem.depth, true, c.groups > 1 ? problem.columns * problem.depth : 0};
  const std::int64_t pixel = row_distance(x, c.channels() * c.groups) / 2;
  if (c.conv) {
    const MatrixWindow window = matrix_window(c.window, c.channels() / 2, pixel);
    if (!reads_own_pixel(window)) problem.window = window;
  }
  problem.a = {pixel, false, c.groups > 1 ? c.channels() / 2 : 0};
  problem.leading = row_distance(y, c.columns());
  inputs = {c.x.operand.index, c.weights.index};
  if (c.x_zero) {
    problem.bytes->zero_type = c.x_zero.dtype();
    inputs.push_back(c.x_zero.index);
  }
  if (c.type != DType::i32) std::ranges::copy(add_steps(c, tactic, problem), std::back_inserter(inputs));
  return problem;
}

/// Types in which values of f32 may be stored, where there are any.
std::vector<std::optional<DType>> kept_types(const Contraction& c, const Target& target) {
  const auto is_real = [](const ContractionStep& step) {
    return step.operand && step.spread == Spread::full && !step.stored;
  };
  if (c.type == DType::f32 || std::ranges::any_of(c.steps, is_real)) return storage_types(DType::f32, target);
  return {std::nullopt};
}

/// Which values may lie within larger ones: the result and operands of its shape. Rows of x are read in pairs
/// of bytes, which a larger value could split.
void take_slices(const Contraction& c, Tactic& tactic) {
  const auto slices = [&](const Shape& shape) {
    const bool taken = !c.conv || takes_channel_slices(shape);
    return taken ? AxisSet::only(static_cast<int>(c.channel_axis())) : AxisSet{};
  };
  tactic.strided_outputs = {slices(c.output)};
  tactic.strided_inputs.assign(tactic.inputs.size(), {});
  for (const ContractionStep& step : c.steps)
    if (step.operand && step.spread == Spread::full && step.operand.shape() == c.output)
      tactic.strided_inputs[step.operand.index] = slices(c.output);
}

/// Nothing where one input would need two storages.
std::optional<Tactic> tactic_of(const Contraction& c, std::optional<DType> kept, const Node& node,
                                const Target& target) {
  const Layout result = value_layout(c, c.output);
  const auto own = [&](DType type) { return type == DType::f32 ? kept : std::nullopt; };
  OperandStorages storages(node.inputs().size(), on_device(target, Layout{}));
  storages.ask(c.x.operand, on_device(target, value_layout(c, c.input)));
  storages.ask(c.weights, on_device(target, weights_layout(c)));
  for (const Operand* operand : {&c.x_zero, &c.weight_scale, &c.weight_zero, &c.bias})
    storages.ask(*operand, on_device(target, Layout{}));
  for (const ContractionStep& step : c.steps) {
    if (!step.operand) continue;
    const bool full = step.spread == Spread::full;
    storages.ask(step.operand,
                 full ? on_device(target, operand_layout(result, c.output.rank(), step.operand.shape()),
                                  own(step.operand.dtype()))
                      : on_device(target, Layout{}));
  }
  if (!storages.agree()) return std::nullopt;
  Tactic tactic;
  tactic.kernel = c.conv ? int8_conv_family.kernel : int8_matmul_family.kernel;
  tactic.inputs = storages.take();
  tactic.outputs = {on_device(target, result, own(c.type))};
  take_slices(c, tactic);
  return tactic;
}

template<bool conv>
TacticList tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto c = read(group, conv, list.reason);
  if (!c) return list;
  list.reason = matrix_missing(target);
  if (!list.reason.empty()) return list;
  for (const std::optional<DType> kept : kept_types(*c, target)) {
    const auto tactic = tactic_of(*c, kept, node, target);
    std::vector<std::size_t> inputs;
    if (tactic) offer_plans(list, problem_of(*c, *tactic, inputs), *tactic, target);
  }
  return list;
}

template<typename T>
void add_up(const T* weights, std::int64_t depth, std::span<std::int32_t> sums) {
  for (std::int32_t& sum : sums) {
    for (std::int64_t k = 0; k < depth; ++k) sum += weights[k];
    weights += depth;
  }
}

/// The sum of each column's weights; zeros where no zero point multiplies them.
Tensor column_sums(const Contraction& c, const Preparation& p) {
  Tensor sums = Tensor::zeros(DType::i32, Shape{c.columns()});
  if (c.x.by.zero == 0 && !c.x_zero) return sums;
  const Tensor& weights = *prepared_constant(c.weights, p);
  if (c.has_signed_weights())
    add_up(static_cast<const std::int8_t*>(weights.data()), c.depth(), sums.as<std::int32_t>());
  else
    add_up(static_cast<const std::uint8_t*>(weights.data()), c.depth(), sums.as<std::int32_t>());
  return sums;
}

/// The multiplier and the offset of each column. Computed in double, so that each is rounded once.
std::array<Tensor, 2> multipliers_and_offsets(const Contraction& c, std::span<const std::int32_t> sums,
                                              const Preparation& p) {
  const auto numbers = [&](const Operand& operand) {
    return column_numbers(operand, c.columns(), operand ? prepared_constant(operand, p) : nullptr);
  };
  const std::vector<double> scales = numbers(c.weight_scale), bias = numbers(c.bias);
  double shift = 0; // By zero points of an added operand.
  if (in_units_of_result(c) && !c.steps.empty() && c.steps.front().stored)
    shift = static_cast<double>(c.steps.front().stored->scale) * c.steps.front().stored->zero;
  std::array<Tensor, 2> both{Tensor::allocate(DType::f32, Shape{c.columns()}),
                             Tensor::allocate(DType::f32, Shape{c.columns()})};
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const double scale = scales[i] * static_cast<double>(c.x.by.scale);
    const double of_zero = scale * c.x.by.zero * static_cast<double>(sums[i]);
    both[0].as<float>()[i] = static_cast<float>(scale / static_cast<double>(unit_of(c)));
    both[1].as<float>()[i] =
        static_cast<float>((bias[i] - of_zero - shift) / static_cast<double>(unit_of(c)));
  }
  return both;
}

/// As matrix_kernel() takes them.
std::vector<Tensor> columns_of(const Contraction& c, const Preparation& p) {
  Tensor sums = column_sums(c, p);
  std::vector<Tensor> columns;
  if (c.type != DType::i32)
    for (const Tensor& numbers : multipliers_and_offsets(c, sums.as<std::int32_t>(), p))
      columns.push_back(numbers.to(p.target.device));
  if (is_corrected(c))
    for (std::int32_t& sum : sums.as<std::int32_t>()) sum *= c.x.by.zero;
  if (c.x_zero || is_corrected(c)) columns.push_back(sums.to(p.target.device));
  return columns;
}

template<bool conv>
std::unique_ptr<Kernel> prepare(const Preparation& p) {
  std::string reason;
  const auto c = read(p.group, conv, reason);
  check_taken(c.has_value(), p, reason);
  std::vector<std::size_t> inputs;
  const MatrixProblem problem = problem_of(*c, p.tactic, inputs);
  return matrix_kernel(p, problem, std::move(inputs), columns_of(*c, p));
}

} // namespace

extern const KernelFamily int8_conv_family{
    .kernel = "int8_conv", .trust = KernelTrust::own(), .tactics = tactics<true>, .prepare = prepare<true>};
extern const KernelFamily int8_matmul_family{.kernel = "int8_matmul",
                                             .trust = KernelTrust::own(),
                                             .tactics = tactics<false>,
                                             .prepare = prepare<false>};

} // namespace lanner::cuda
