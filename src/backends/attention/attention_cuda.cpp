// Attention as one tensor-core kernel, compiled by NVRTC for its sizes: scores are never written to memory,
// and q, k and v are read from the output of the projections.

#include <algorithm>

#include "backends/attention/attention_source.h"
#include "backends/config_text.h"
#include "backends/cuda/pointer_kernel.h"
#include "backends/cuda/storage.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "base/check.h"
#include "device/cuda/code.h"
#include "device/cuda/nvrtc.h"

namespace lanner::cuda {
namespace {

constexpr int least_capability = 80;
constexpr std::int64_t offered_warps[] = {4, 8, 2};

std::optional<Attention> read(const Group& group, std::string& reason) {
  auto attention = read_attention(group, reason);
  if (!attention) return std::nullopt;
  const auto fits = [&](const ScoreStep& step) { return !step.bias || is_real(step.dtype); };
  if (is_real(attention->type) && std::ranges::all_of(attention->steps, fits) &&
      attention->steps.size() + 4 <= PointerKernel::max_pointers)
    return attention;
  reason = "supports floating-point operands and biases only";
  return std::nullopt;
}

/// Fewer warps where more would leave multiprocessors idle, or cover more queries than there are.
bool pays(const Attention& attention, const AttentionTile& tile, const Gpu& gpu) {
  if (tile.warps == 2) return attention_blocks(attention, {4, tile.keys}) < 4 * gpu.multiprocessors();
  if (tile.warps == 8)
    return attention.queries > 64 && attention_blocks(attention, tile) >= gpu.multiprocessors();
  return true;
}

double estimate_of(const Attention& attention, const AttentionTile& tile, const Target& target) {
  const auto padded = [](std::int64_t size, std::int64_t step) {
    return static_cast<double>((size + step - 1) / step * step) / static_cast<double>(size);
  };
  constexpr double share = 0.35; // Fraction of the tensor cores' peak.
  return seconds_of({.operations = attention.operations() * padded(attention.queries, tile.queries()) *
                                   padded(attention.keys, tile.keys) / share,
                     .bytes = 2.5 * attention.elements(),
                     .halves = true},
                    target);
}

TacticList attention_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto attention = nvrtc_status().found ? read(group, list.reason) : std::nullopt;
  if (!attention) return list;
  const Gpu& gpu = Gpu::get(target.device);
  if (gpu.capability() < least_capability) {
    list.reason = "needs a GPU of compute capability 8.0";
    return list;
  }
  for (const std::optional<DType> kept : half_types(attention->type, target)) {
    for (const std::int64_t warps : offered_warps) {
      const auto tile = attention_tile(*attention, warps);
      if (!tile || attention_blocks(*attention, *tile) > INT32_MAX || !pays(*attention, *tile, gpu)) continue;
      Tactic tactic;
      tactic.kernel = "attention";
      ConfigText config;
      config.set("warps", warps);
      tactic.config = config.bytes();
      tactic.inputs.assign(node.inputs().size(), on_device(target, Layout{}));
      for (const AttentionOperand* operand : {&attention->q, &attention->k, &attention->v})
        tactic.inputs[operand->input].dtype = kept;
      tactic.outputs = {on_device(target, Layout{}, kept)};
      tactic.estimate = estimate_of(*attention, *tile, target);
      tactic.accumulates = DType::f32;
      list.tactics.push_back(std::move(tactic));
    }
  }
  if (list.tactics.empty()) list.reason = "supports f16 and bf16 with rows of up to 256";
  return list;
}

std::unique_ptr<Kernel> attention_prepare(const Preparation& p) {
  const Gpu& gpu = Gpu::get(p.target.device);
  std::string reason;
  const auto attention = read(p.group, reason);
  check_taken(attention.has_value(), p, reason);
  const std::int64_t warps = ConfigText(p.tactic.config).integer("warps");
  lanner::check(std::ranges::count(offered_warps, warps) == 1, ErrorCode::bad_data,
                "cuda: attention: {} warps, expected 2, 4 or 8", warps);
  const auto tile = attention_tile(*attention, warps);
  const DType type = p.tactic.outputs.at(0).dtype.value_or(attention->type);
  lanner::check(tile && type != DType::f32, ErrorCode::unsupported,
                "cuda: attention: no kernel for these sizes: build the plan again");
  std::vector<std::size_t> inputs{attention->q.input, attention->k.input, attention->v.input};
  for (const ScoreStep& step : attention->steps)
    if (step.bias) inputs.push_back(step.bias->input);
  const Grid grid{static_cast<unsigned>(attention_blocks(*attention, *tile)),
                  static_cast<unsigned>(warps * 32), 0};
  const std::string source = attention_source(*attention, *tile, type);
  return std::make_unique<PointerKernel>(compiled_function(gpu, source, "attention"), grid, std::move(inputs),
                                         1);
}

std::vector<std::vector<const Node*>> attention_proposals(const Node& anchor, const Target& target) {
  if (anchor.kind() != "softmax" || !nvrtc_status().found) return {};
  const DType type = anchor.output()->type.dtype();
  return is_real(type) && !half_types(type, target).empty() ? propose_attention(anchor, target)
                                                            : std::vector<std::vector<const Node*>>{};
}

} // namespace

extern const KernelFamily attention_family{.kernel = "attention",
                                           .trust = KernelTrust::own(),
                                           .tactics = attention_tactics,
                                           .prepare = attention_prepare,
                                           .propose = attention_proposals};

} // namespace lanner::cuda
