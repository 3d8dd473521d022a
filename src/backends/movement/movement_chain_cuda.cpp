// Consecutive slices and concats, with the transposes and reshapes between them, as one kernel compiled by
// NVRTC: for example a rolled image split into windows (Swin), or 2x2 pixels merged into one. Separately they
// would write each intermediate value.

#include "backends/movement/movement_chain.h"

#include <algorithm>
#include <set>

#include "backends/cuda/pointer_kernel.h"
#include "backends/cuda/storage.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "base/check.h"
#include "device/cuda/code.h"
#include "device/cuda/nvrtc.h"
#include "ops/movement/movement_rules.h"
#include "ops/table/named.h"

namespace lanner::cuda {
namespace {

TacticList movement_chain_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto chain = nvrtc_status().found ? movement_chain_of(group) : std::nullopt;
  if (!chain) return list;
  for (const std::optional<DType> kept : storage_types(group.ops().front().type().dtype(), target)) {
    Tactic tactic;
    tactic.kernel = "movement_chain";
    tactic.inputs.assign(node.inputs().size(), on_device(target, Layout{}));
    for (const MovementChain::Source& source : chain->sources) tactic.inputs[source.input].dtype = kept;
    tactic.outputs = {on_device(target, Layout{}, kept)};
    tactic.estimate = seconds_of({.bytes = 2 * plain_bytes(*node.outputs().front())}, target);
    list.tactics.push_back(std::move(tactic));
  }
  return list;
}

std::unique_ptr<Kernel> movement_chain_prepare(const Preparation& p) {
  auto chain = movement_chain_of(p.group);
  lanner::check(chain.has_value(), ErrorCode::unsupported,
                "cuda: movement_chain: these movements do not form one kernel: build the plan again");
  const DType type = p.tactic.outputs.at(0).dtype.value_or(p.group.ops().front().type().dtype());
  chain->element_bytes = bit_width(type) / 8;
  std::vector<std::size_t> inputs;
  for (const MovementChain::Source& source : chain->sources) inputs.push_back(source.input);
  const std::int64_t threads = chain->result().elements() / chain->pack(),
                     blocks = (threads + movement_chain_block - 1) / movement_chain_block;
  return std::make_unique<PointerKernel>(
      compiled_function(Gpu::get(p.target.device), movement_chain_source(*chain), "movement_chain"),
      Grid{static_cast<unsigned>(blocks), movement_chain_block, 0}, std::move(inputs), 1);
}

bool is_link(const Node& node) {
  return node.kind() == "transpose" || node.kind() == "slice" || ops::is_concat(node) ||
         ops::is_renamed(node);
}

/// A chain's last node, with all nodes above it that have no other reader.
std::vector<std::vector<const Node*>> propose_movement_chain(const Node& anchor, const Target&) {
  constexpr std::size_t most = 32;
  const auto goes_on = [](const Use& use) { return use.node && is_link(*use.node); };
  if (!nvrtc_status().found || !is_link(anchor) || std::ranges::all_of(anchor.output()->uses(), goes_on))
    return {};
  std::vector<const Node*> members{&anchor};
  std::set<const Node*> known{&anchor};
  // From the last node up: the readers of a node come before it.
  for (std::size_t i = 0; i < members.size() && members.size() < most; ++i) {
    const std::size_t read = ops::is_concat(*members[i]) ? members[i]->own_inputs().size() : 1;
    for (std::size_t k = 0; k < read; ++k) {
      const Value* value = members[i]->input(k);
      const Node* above = value ? value->producer() : nullptr;
      if (!above || above->region() != anchor.region() || !is_link(*above) || known.contains(above)) continue;
      const bool inside = std::ranges::all_of(
          value->uses(), [&](const Use& use) { return use.node && known.contains(use.node); });
      if (!inside) continue;
      known.insert(above);
      members.push_back(above);
    }
  }
  const auto moving = std::ranges::count_if(
      members, [](const Node* node) { return node->kind() == "slice" || ops::is_concat(*node); });
  if (moving < 2) return {};
  return {members};
}

} // namespace

extern const KernelFamily movement_chain_family{.kernel = "movement_chain",
                                                .trust = KernelTrust::own(),
                                                .tactics = movement_chain_tactics,
                                                .prepare = movement_chain_prepare,
                                                .propose = propose_movement_chain};

} // namespace lanner::cuda
