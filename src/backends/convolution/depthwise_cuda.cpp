// 2-D depthwise convolutions with a fused epilogue, each compiled by NVRTC for its sizes. cuDNN's kernels for
// large filters reach a few percent of the memory bandwidth.

#include <algorithm>

#include "backends/config_text.h"
#include "backends/convolution/convolution_window.h"
#include "backends/convolution/depthwise_source.h"
#include "backends/convolution/image_matrix.h"
#include "backends/cuda/pointer_kernel.h"
#include "backends/cuda/storage.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "base/check.h"
#include "device/cuda/code.h"
#include "device/cuda/nvrtc.h"

namespace lanner::cuda {
namespace {

constexpr std::size_t channel_axis = 1;

bool reads(const Epilogue& epilogue, DType type) {
  return std::ranges::all_of(epilogue, [&](const EpilogueStep& step) {
    if (!step.binary) return true;
    return step.operand.is_input() && step.operand.dtype() == type;
  });
}

std::optional<Depthwise> read_depthwise(const Group& group, std::string& reason) {
  const GroupOp& op = group.ops().front();
  if (op.kind() != "conv") return std::nullopt;
  Depthwise conv;
  conv.src = op.input(0);
  conv.weights = op.input(1);
  conv.bias = op.input(2);
  const Shape x = conv.src.shape(), filter = conv.weights.shape(), &y = op.type().shape();
  if (x.rank() != 4 || filter[1] != 1 || x[1] == 1 || filter[0] != x[1]) return std::nullopt; // cuDNN's.
  reason = "supports floating-point operands that are inputs of the node, and steps of the "
           "same type";
  const auto given = [](const Operand& operand) { return !operand || operand.is_input(); };
  if (!is_real(conv.src.dtype()) || !given(conv.src) || !given(conv.weights) || !given(conv.bias))
    return std::nullopt;
  auto epilogue = epilogue_of(group, channel_axis, reason, &conv.rounding);
  if (!epilogue || !reads(*epilogue, conv.src.dtype())) return std::nullopt;
  conv.epilogue = std::move(*epilogue);
  conv.type = conv.src.dtype();
  conv.batch = x[0];
  conv.channels = x[1];
  const ops::Window window = window_of(op.attributes(), x, y, std::span(filter.dims()).subspan(2));
  for (std::size_t i = 0; i < 2; ++i) {
    conv.image[i] = window.image[i];
    conv.result[i] = window.positions[i];
    conv.kernel[i] = window.kernel[i];
    conv.strides[i] = window.strides[i];
    conv.dilations[i] = window.dilations[i];
    conv.begin[i] = window.begin[i];
  }
  constexpr std::int64_t most_taps = 256, most_elements = INT32_MAX;
  const bool fits = conv.kernel[0] * conv.kernel[1] <= most_taps && x.elements() <= most_elements &&
                    y.elements() <= most_elements && y.elements() > 0 && x.elements() > 0;
  const bool small = std::ranges::all_of(window.dilations, [](std::int64_t step) { return step <= 8; }) &&
                     std::ranges::all_of(window.strides, [](std::int64_t step) { return step <= 8; });
  if (!fits || !small) {
    reason = "supports filters of up to 256 taps and images below 2^31 elements";
    return std::nullopt;
  }
  reason.clear();
  return conv;
}

/// Memory order of weights: height, width, channels.
Layout weights_layout(const Shape& filter) {
  return canonical(Layout{{2, 3, 1, 0}, {}}, filter);
}

double bytes_of(const Depthwise& conv) {
  const double pixels = static_cast<double>(conv.image[0] * conv.image[1] + conv.result[0] * conv.result[1]);
  return static_cast<double>(conv.batch * conv.channels) * pixels *
         static_cast<double>(bit_width(conv.type)) / 8;
}

Tactic tactic_of(const Node& node, const Depthwise& conv, const Shape& result, std::optional<DType> kept,
                 const Target& target) {
  Tactic tactic;
  tactic.kernel = "depthwise";
  // A rounding's scale and zero point, which are part of the source, keep their types.
  tactic.inputs.assign(node.inputs().size(), on_device(target, Layout{}));
  for (const Operand* operand : {&conv.src, &conv.weights, &conv.bias})
    if (*operand) tactic.inputs[operand->index].dtype = kept;
  for (const EpilogueStep& step : conv.epilogue)
    if (step.binary) tactic.inputs[step.operand.index].dtype = kept;
  tactic.inputs[conv.src.index].layout = pixels_layout(conv.src.shape());
  tactic.inputs[conv.weights.index].layout = weights_layout(conv.weights.shape());
  for (const EpilogueStep& step : conv.epilogue)
    if (step.binary && step.spread == Spread::full)
      tactic.inputs[step.operand.index].layout =
          operand_layout(pixels_layout(result), result.rank(), step.operand.shape());
  tactic.outputs.assign(node.outputs().size(),
                        on_device(target, pixels_layout(result), conv.rounding ? std::nullopt : kept));
  const double taps = static_cast<double>(conv.kernel[0] * conv.kernel[1]);
  tactic.estimate = seconds_of(
      {.operations = 4 * taps * static_cast<double>(result.elements()), .bytes = 1.5 * bytes_of(conv)},
      target);
  tactic.accumulates = DType::f32;
  return tactic;
}

/// Order of the shares that keep all multiprocessors busy: the least overhead first, then more threads, then
/// fewer.
std::vector<DepthwiseShare> ordered_shares(const Depthwise& conv, const Gpu& gpu) {
  constexpr std::int64_t enough = 512; // Threads per multiprocessor.
  const std::vector<DepthwiseShare> shares = depthwise_shares(conv);
  std::size_t first = 0;
  while (first + 1 < shares.size() && depthwise_threads(conv, shares[first]) < enough * gpu.multiprocessors())
    ++first;
  std::vector<DepthwiseShare> ordered{shares[first]};
  for (std::size_t i = first + 1; i < shares.size() && ordered.size() < 4; ++i) ordered.push_back(shares[i]);
  if (first > 0) ordered.push_back(shares[first - 1]);
  return ordered;
}

/// The index of a share in that order; `all`: any that a plan may name, also one built on another GPU.
enum class Shares : std::uint8_t { first, further, all };

TacticList offered(const Node& node, const Group& group, const Target& target, Shares which) {
  TacticList list;
  const auto read = nvrtc_status().found ? read_depthwise(group, list.reason) : std::nullopt;
  if (!read) return list;
  const Shape result = group.ops().front().type().shape();
  for (const std::optional<DType> kept : storage_types(read->type, target)) {
    Depthwise conv = *read;
    conv.type = kept.value_or(read->type);
    const std::vector<DepthwiseShare> shares =
        which == Shares::all ? depthwise_shares(conv) : ordered_shares(conv, Gpu::get(target.device));
    const std::size_t end = which == Shares::first ? 1 : shares.size();
    for (std::size_t i = which == Shares::further ? 1 : 0; i < end; ++i) {
      Tactic tactic = tactic_of(node, conv, result, kept, target);
      ConfigText config;
      config.set("channels", shares[i].channels)
          .set("columns", shares[i].columns)
          .set("lines", shares[i].lines);
      tactic.config = config.bytes();
      tactic.estimate *= 1 + 0.01 * static_cast<double>(i);
      list.tactics.push_back(std::move(tactic));
    }
  }
  return list;
}

TacticList depthwise_tactics(const Node& node, const Group& group, const Target& target) {
  return offered(node, group, target, Shares::first);
}

TacticList more_depthwise_tactics(const Node& node, const Group& group, const Target& target) {
  return offered(node, group, target, Shares::further);
}

TacticList all_depthwise_tactics(const Node& node, const Group& group, const Target& target) {
  return offered(node, group, target, Shares::all);
}

DepthwiseShare share_of(const Depthwise& conv, const Tactic& tactic) {
  const ConfigText config(tactic.config);
  const DepthwiseShare share{config.integer("channels"), config.integer("columns"), config.integer("lines")};
  const std::vector<DepthwiseShare> known = depthwise_shares(conv);
  lanner::check(
      std::ranges::find(known, share) != known.end(), ErrorCode::bad_data,
      "cuda: depthwise: no kernel for {} channels x {} columns x {} lines per thread; build the plan "
      "again",
      share.channels, share.columns, share.lines);
  return share;
}

std::unique_ptr<Kernel> depthwise_prepare(const Preparation& p) {
  const Gpu& gpu = Gpu::get(p.target.device);
  std::string reason;
  auto conv = read_depthwise(p.group, reason);
  check_taken(conv.has_value(), p, reason);
  conv->type = p.tactic.inputs.at(conv->weights.index).dtype.value_or(conv->type);
  std::vector<std::size_t> inputs{conv->src.index, conv->weights.index};
  if (conv->bias) inputs.push_back(conv->bias.index);
  for (const EpilogueStep& step : conv->epilogue)
    if (step.binary) inputs.push_back(step.operand.index);
  const DepthwiseShare share = share_of(*conv, p.tactic);
  const std::int64_t blocks = (depthwise_threads(*conv, share) + depthwise_block - 1) / depthwise_block;
  return std::make_unique<PointerKernel>(compiled_function(gpu, depthwise_source(*conv, share), "depthwise"),
                                         Grid{static_cast<unsigned>(blocks), depthwise_block, 0},
                                         std::move(inputs), 1);
}

bool depthwise_fuses(const Group& group, const Target&) {
  std::string reason;
  const auto conv = nvrtc_status().found ? read_depthwise(group, reason) : std::nullopt;
  return conv && conv->epilogue.size() + 4 <= PointerKernel::max_pointers;
}

} // namespace

extern const KernelFamily depthwise_family{.kernel = "depthwise",
                                           .trust = KernelTrust::own(),
                                           .tactics = depthwise_tactics,
                                           .prepare = depthwise_prepare,
                                           .fuses = depthwise_fuses,
                                           .more = more_depthwise_tactics,
                                           .named = all_depthwise_tactics};

} // namespace lanner::cuda
