// Convolutions, f16 and bf16 on tensor cores, as implicit matrix products over channels-last images, each
// compiled by NVRTC for its sizes, with any epilogue.

#include <algorithm>

#include "backends/convolution/convolution_window.h"
#include "backends/convolution/image_matrix.h"
#include "backends/cuda/families.h"
#include "backends/cuda/own_kernels.h"
#include "backends/cuda/storage.h"
#include "backends/epilogue.h"
#include "backends/operand_storages.h"
#include "backends/product/matrix_kernel.h"
#include "backends/storage_layout.h"
#include "base/check.h"

namespace lanner::cuda {
namespace {

constexpr std::size_t channel_axis = 1;
constexpr std::int64_t largest = INT32_MAX;

struct OwnConv {
  Operand src, weights, bias;
  Shape input, filter, output;
  std::int64_t groups = 1;
  ops::Window window;
  Epilogue epilogue;
  std::optional<ByteRounding> rounding;

  DType type() const { return src.dtype(); }
};

/// Groups of several channels each; for one channel other kernels are faster.
bool divides(const OwnConv& conv) {
  constexpr std::int64_t least = 4;
  const std::int64_t channels = conv.input[1], own = conv.filter[1];
  if (own == 0 || channels % own != 0 || conv.filter[0] % (channels / own) != 0) return false;
  return own == channels || own >= least;
}

std::optional<OwnConv> read(const Group& group, std::string& reason) {
  const GroupOp& op = group.ops().front();
  if (op.kind() != "conv") return std::nullopt;
  OwnConv conv;
  conv.src = op.input(0);
  conv.weights = op.input(1);
  conv.bias = op.input(2);
  conv.input = conv.src.shape();
  conv.filter = conv.weights.shape();
  conv.output = op.type().shape();
  const std::size_t rank = conv.input.rank();
  if (!is_real(conv.type()) || conv.weights.dtype() != conv.type() || !conv.src.is_input() ||
      !conv.weights.is_input() || rank < 3 || rank > 4 || !divides(conv) || conv.output.elements() == 0 ||
      conv.filter.elements() == 0) {
    reason = "the image and the filter must be inputs of the group, not empty, both "
             "f32, f16 or bf16, with one or two spatial axes, and one group or at least 4 channels a group";
    return std::nullopt;
  }
  conv.groups = conv.input[1] / conv.filter[1];
  conv.window = window_of(op.attributes(), conv.input, conv.output, std::span(conv.filter.dims()).subspan(2));
  if (!counts_in_31_bits(conv.input, conv.filter, conv.output, conv.window)) {
    reason = "sizes exceed 31 bits";
    return std::nullopt;
  }
  auto epilogue = epilogue_of(group, channel_axis, reason, &conv.rounding);
  if (!epilogue || !takes_steps(conv.bias, *epilogue, reason)) return std::nullopt;
  conv.epilogue = std::move(*epilogue);
  return conv;
}

/// Takes strides and types from the storages that `tactic` names.
MatrixProblem problem_of(const OwnConv& conv, const Tactic& tactic, std::vector<std::size_t>& inputs) {
  const Storage &x = tactic.inputs.at(conv.src.index), &y = tactic.outputs.at(0);
  MatrixProblem problem;
  problem.type = x.dtype.value_or(conv.type());
  problem.result = conv.rounding ? conv.rounding->type : y.dtype.value_or(conv.type());
  problem.rounding = conv.rounding;
  const std::int64_t channels = conv.filter[0];
  problem.batch = conv.groups;
  problem.side_by_side = conv.groups > 1;
  problem.columns = channels / conv.groups;
  problem.rows = conv.output.elements() / channels;
  problem.depth = conv.filter.elements() / channels;
  problem.b = {problem.depth, true, conv.groups > 1 ? problem.columns * problem.depth : 0};
  const MatrixWindow window =
      matrix_window(conv.window, conv.filter[1], leading_of(x, conv.input[channel_axis]));
  if (!reads_own_pixel(window)) problem.window = window;
  problem.a = {window.pixel, false, conv.groups > 1 ? window.channels : 0};
  problem.leading = leading_of(y, channels);
  inputs = {conv.src.index, conv.weights.index};
  std::ranges::copy(add_steps(problem, conv.bias, conv.epilogue, tactic), std::back_inserter(inputs));
  return problem;
}

/// Nothing where one input would need two storages.
std::optional<Tactic> tactic_of(const OwnConv& conv, std::optional<DType> kept, const Node& node,
                                const Target& target) {
  const Storage full = on_device(target, pixels_layout(conv.output), kept);
  OperandStorages storages(node.inputs().size(), on_device(target, Layout{}));
  storages.ask(conv.src, on_device(target, pixels_layout(conv.input), kept));
  storages.ask(conv.weights, on_device(target, pixels_layout(conv.filter), kept));
  storages.ask(conv.bias, on_device(target, Layout{}));
  for (const EpilogueStep& step : conv.epilogue) {
    Storage storage = step_storage(step, full, target);
    storage.layout =
        operand_layout(storage.layout, conv.output.rank(), step.operand ? step.operand.shape() : conv.output);
    storages.ask(step.operand, std::move(storage));
  }
  if (!storages.agree()) return std::nullopt;
  Tactic tactic;
  tactic.kernel = own_conv_family.kernel;
  tactic.inputs = storages.take();
  tactic.outputs = {conv.rounding ? on_device(target, full.layout) : full};
  const AxisSet channels = AxisSet::only(channel_axis);
  const bool of_output = takes_channel_slices(conv.output);
  if (of_output) tactic.strided_outputs = {channels};
  tactic.strided_inputs.assign(node.inputs().size(), {});
  if (takes_channel_slices(conv.input)) tactic.strided_inputs[conv.src.index] = channels;
  for (const EpilogueStep& step : conv.epilogue)
    if (of_output && step.binary && step.spread == Spread::full && step.operand.shape() == conv.output)
      tactic.strided_inputs[step.operand.index] = channels;
  return tactic;
}

TacticList plans(const Node& node, const Group& group, const Target& target, bool replaces) {
  TacticList list;
  const auto conv = read(group, list.reason);
  if (!conv) return list;
  list.reason = matrix_missing(target);
  if (!list.reason.empty()) return list;
  for (const std::optional<DType> kept : own_types(conv->type(), target, replaces)) {
    const auto tactic = tactic_of(*conv, kept, node, target);
    std::vector<std::size_t> inputs;
    if (tactic) offer_plans(list, problem_of(*conv, *tactic, inputs), *tactic, target);
  }
  return list;
}

using Lists = OwnKernelTactics<conv_family, plans>;

std::unique_ptr<Kernel> own_conv_prepare(const Preparation& p) {
  std::string reason;
  const auto conv = read(p.group, reason);
  check_taken(conv.has_value(), p, reason);
  std::vector<std::size_t> inputs;
  const MatrixProblem problem = problem_of(*conv, p.tactic, inputs);
  // Windows are found by offsets of 31 bits in the value that the image may be a part of.
  const std::int64_t pixels = conv->input.elements() / conv->input[channel_axis];
  check_taken(!problem.window || pixels <= largest / problem.window->pixel, p,
              "the image lies within a value that exceeds 31 bits");
  return matrix_kernel(p, problem, std::move(inputs));
}

bool own_conv_fuses(const Group& group, const Target& target) {
  std::string reason;
  const auto conv = read(group, reason);
  return conv && matrix_missing(target).empty();
}

} // namespace

extern const KernelFamily own_conv_family{.kernel = "own_conv",
                                          .trust = KernelTrust::own(),
                                          .tactics = Lists::offered,
                                          .prepare = own_conv_prepare,
                                          .fuses = own_conv_fuses,
                                          .named = Lists::all};

} // namespace lanner::cuda
