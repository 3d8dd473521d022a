#include "backends/family.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace lanner {

bool FamilyBackend::fuses(std::span<const Node* const> group, const Node& next, const Target& target) const {
  if (target.device.kind != device_) return false;
  std::vector<const Node*> nodes(group.begin(), group.end());
  nodes.push_back(&next);
  const Group joined = Group::of(nodes);
  if (joined.empty()) return false;
  for (const KernelFamily& family : families_)
    if (family.fuses && family.fuses(joined, target)) return true;
  return false;
}

std::vector<std::vector<const Node*>> FamilyBackend::propose(const Node& anchor, const Target& target) const {
  std::vector<std::vector<const Node*>> groups;
  if (target.device.kind != device_) return groups;
  for (const KernelFamily& family : families_)
    if (family.propose) std::ranges::move(family.propose(anchor, target), std::back_inserter(groups));
  return groups;
}

TacticList FamilyBackend::tactics(const Node& node, const Target& target) const {
  TacticList all;
  if (target.device.kind != device_) {
    all.reason = device_ == DeviceKind::cpu ? "runs on the CPU only" : "runs on a GPU only";
    return all;
  }
  const Group group = Group::of(node);
  if (group.empty()) {
    all.reason = group.reason();
    return all;
  }
  for (const KernelFamily& family : families_) {
    TacticList some = family.tactics(node, group, target);
    std::move(some.tactics.begin(), some.tactics.end(), std::back_inserter(all.tactics));
    if (some.reason.empty()) continue;
    if (!all.reason.empty()) all.reason += "; ";
    all.reason += some.reason;
  }
  if (all.tactics.empty() && all.reason.empty()) all.reason = "no kernel for " + node.kind();
  return all;
}

TacticList FamilyBackend::more_tactics(const Node& node, const Target& target) const {
  return of_families(node, target, &KernelFamily::more);
}

TacticList FamilyBackend::late_tactics(const Node& node, const Target& target) const {
  return of_families(node, target, &KernelFamily::late);
}

/// Of the families that have such a list.
TacticList FamilyBackend::of_families(const Node& node, const Target& target,
                                      TacticList (*KernelFamily::*list)(const Node&, const Group&,
                                                                        const Target&)) const {
  TacticList all;
  if (target.device.kind != device_) return all;
  const Group group = Group::of(node);
  if (group.empty()) return all;
  for (const KernelFamily& family : families_) {
    if (!(family.*list)) continue;
    TacticList some = (family.*list)(node, group, target);
    std::move(some.tactics.begin(), some.tactics.end(), std::back_inserter(all.tactics));
  }
  return all;
}

TacticList FamilyBackend::named_tactics(const Node& node, const Target& target) const {
  if (target.device.kind != device_) return {};
  const Group group = Group::of(node);
  if (group.empty()) return {};
  for (const KernelFamily& family : families_)
    if (family.kernel == node.tactic.kernel)
      return family.named ? family.named(node, group, target) : family.tactics(node, group, target);
  return {};
}

std::unique_ptr<Kernel> FamilyBackend::prepare(const Node& node, const Tactic& tactic,
                                               std::span<const Tensor* const> constants,
                                               const Target& target) const {
  const Group group = Group::of(node);
  check(!group.empty(), ErrorCode::internal, "{}: {}", name_, group.reason());
  for (const KernelFamily& family : families_)
    if (family.kernel == tactic.kernel) return family.prepare({node, group, tactic, constants, target});
  fail(ErrorCode::unsupported, "{}: no kernel is named {}: build the plan again with this version", name_,
       tactic.kernel);
}

} // namespace lanner
