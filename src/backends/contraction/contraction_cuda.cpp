// Convolutions and matrix products of bytes on tensor cores, each compiled by NVRTC for its sizes, with any
// epilogue.

#include <algorithm>
#include <span>

#include "backends/contraction/contraction.h"
#include "backends/convolution/image_matrix.h"
#include "backends/cuda/bounds.h"
#include "backends/cuda/families.h"
#include "backends/cuda/storage.h"
#include "backends/operand_storages.h"
#include "backends/product/matrix_kernel.h"
#include "backends/product/product.h"
#include "base/check.h"

namespace lanner::cuda {
namespace {

constexpr std::int64_t largest = INT32_MAX;

bool is_even(std::int64_t size) {
  return size % 2 == 0;
}

/// Whether sizes fit the 31 bits in which kernels count.
bool fits(const Contraction& c) {
  const auto small = [](std::int64_t value) { return value < 1 << 24; };
  if (c.input.elements() >= largest || c.output.elements() >= largest || c.filter.elements() >= largest)
    return false;
  const ops::Window& w = c.window;
  return !c.conv || (std::ranges::all_of(w.strides, small) && std::ranges::all_of(w.dilations, small) &&
                     std::ranges::all_of(w.begin, small) && std::ranges::all_of(w.kernel, small) &&
                     std::ranges::all_of(w.image, small) && within_library_bounds(w));
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

std::optional<MatrixRounding> rounding_of(const std::optional<ByteScale>& by, DType type) {
  if (!by) return std::nullopt;
  return MatrixRounding{type, *by};
}

/// The bias and the steps behind the scales, with the storages that a tactic names.
class Steps {
public:
  Steps(const Contraction& c, const Tactic& tactic, MatrixProblem& problem, std::vector<std::size_t>& inputs)
      : c_(c), tactic_(tactic), problem_(problem), inputs_(inputs) {}

  void add() {
    // Sums times the product of both scales.
    MatrixOperand scale = operand_of(c_.weight_scale, spread_of_columns(c_.weight_scale));
    scale.stored = ByteScale{c_.x.by.scale, 0};
    problem_.steps.push_back({&formula("mul"), {}, scale});
    if (c_.bias)
      problem_.steps.push_back({&formula("add"), {}, operand_of(c_.bias, spread_of_columns(c_.bias))});
    for (const ContractionStep& step : c_.steps) add(step);
    problem_.rounding = rounding_of(c_.quantised, c_.type);
  }

private:
  static Spread spread_of_columns(const Operand& operand) {
    return operand.shape().elements() == 1 ? Spread::scalar : Spread::channel;
  }

  void add(const ContractionStep& step) {
    MatrixStep added{step.formula, step.numbers, {}, step.reversed};
    if (step.rounded) added.rounding = rounding_of(step.stored, *step.rounded);
    if (step.operand) {
      added.operand = operand_of(step.operand, step.spread);
      added.operand->stored = step.stored;
    }
    problem_.steps.push_back(added);
  }

  MatrixOperand operand_of(const Operand& operand, Spread spread) {
    const Storage& storage = tactic_.inputs.at(operand.index);
    inputs_.push_back(operand.index);
    return {storage.dtype.value_or(operand.dtype()), spread,
            spread == Spread::full ? row_distance(storage, c_.columns()) : 0};
  }

  const Contraction& c_;
  const Tactic& tactic_;
  MatrixProblem& problem_;
  std::vector<std::size_t>& inputs_;
};

/// Takes strides and types from the storages that `tactic` names; distances of a and b are in pairs.
MatrixProblem problem_of(const Contraction& c, const Tactic& tactic, std::vector<std::size_t>& inputs) {
  const Storage &x = tactic.inputs.at(c.x.operand.index), &y = tactic.outputs.at(0);
  MatrixProblem problem;
  problem.type = c.x.operand.dtype();
  problem.bytes = MatrixBytes{c.weights.dtype(), c.x.by.zero, {}};
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
  if (c.type != DType::i32) Steps(c, tactic, problem, inputs).add();
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

/// The sum of each column's weights, on the device; undefined where no zero point needs them.
Tensor column_sums(const Contraction& c, const MatrixProblem& problem, const Preparation& p) {
  if (!problem.bytes->has_zero()) return {};
  const Tensor& weights = *prepared_constant(c.weights, p);
  Tensor sums = Tensor::zeros(DType::i32, Shape{c.columns()});
  const std::span<std::int32_t> columns = sums.as<std::int32_t>();
  if (c.has_signed_weights())
    add_up(static_cast<const std::int8_t*>(weights.data()), c.depth(), columns);
  else
    add_up(static_cast<const std::uint8_t*>(weights.data()), c.depth(), columns);
  return sums.to(p.target.device);
}

template<bool conv>
std::unique_ptr<Kernel> prepare(const Preparation& p) {
  std::string reason;
  const auto c = read(p.group, conv, reason);
  check_taken(c.has_value(), p, reason);
  std::vector<std::size_t> inputs;
  const MatrixProblem problem = problem_of(*c, p.tactic, inputs);
  return matrix_kernel(p, problem, std::move(inputs), column_sums(*c, problem, p));
}

} // namespace

extern const KernelFamily int8_conv_family{
    .kernel = "int8_conv", .trust = KernelTrust::own(), .tactics = tactics<true>, .prepare = prepare<true>};
extern const KernelFamily int8_matmul_family{.kernel = "int8_matmul",
                                             .trust = KernelTrust::own(),
                                             .tactics = tactics<false>,
                                             .prepare = prepare<false>};

} // namespace lanner::cuda
