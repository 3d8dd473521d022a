#include "backends/family.h"

#include <iterator>

#include "base/check.h"

namespace lanner {
namespace {

/// Whether a word of `text` begins so, or several consecutive ones.
bool has_word(std::string_view text, std::string_view beginning) {
  for (std::size_t at = text.find(beginning); at != std::string_view::npos; at = text.find(beginning, at + 1))
    if (at == 0 || text[at - 1] == ' ') return true;
  return false;
}

} // namespace

bool KernelTrust::holds(std::string_view version, bool strided) const {
  if (source_ != Source::library) return source_ == Source::own;
  return !strided && std::ranges::any_of(versions_, [&](std::string_view swept) {
    return !swept.empty() && has_word(version, swept);
  });
}

void FamilyBackend::call(const Target& target, const std::function<void()>& work) const {
  if (table_.around)
    table_.around(target, work);
  else
    work();
}

const KernelFamily* FamilyBackend::find(std::string_view kernel) const {
  const auto found = std::ranges::find(table_.families, kernel, &KernelFamily::kernel);
  return found == table_.families.end() ? nullptr : &*found;
}

bool FamilyBackend::trusts(std::string_view kernel, bool strided) const {
  const KernelFamily* family = find(kernel);
  return family && family->trust.holds(version(), strided);
}

bool FamilyBackend::fuses(std::span<const Node* const> group, const Node& next, const Target& target) const {
  if (target.device.kind != table_.device) return false;
  std::vector<const Node*> nodes(group.begin(), group.end());
  nodes.push_back(&next);
  const Group joined = Group::of(nodes);
  if (joined.empty()) return false;
  for (const KernelFamily& family : table_.families)
    if (family.fuses && family.fuses(joined, target)) return true;
  return false;
}

std::vector<std::vector<const Node*>> FamilyBackend::propose(const Node& anchor, const Target& target) const {
  std::vector<std::vector<const Node*>> groups;
  if (target.device.kind != table_.device) return groups;
  for (const KernelFamily& family : table_.families)
    if (family.propose) std::ranges::move(family.propose(anchor, target), std::back_inserter(groups));
  return groups;
}

void check_taken(bool taken, const Preparation& preparation, const std::string& reason) {
  check(taken, ErrorCode::unsupported, "{}: {}: {}: build the plan again", preparation.backend,
        preparation.tactic.kernel, reason);
}

TacticList FamilyBackend::tactics(const Node& node, const Target& target) const {
  TacticList all;
  if (target.device.kind != table_.device) {
    all.reason = table_.device == DeviceKind::cpu ? "runs on the CPU only" : "runs on a GPU only";
    return all;
  }
  const Group group = Group::of(node);
  if (group.empty()) {
    all.reason = group.reason();
    return all;
  }
  call(target, [&] {
    for (const KernelFamily& family : table_.families) {
      TacticList some = family.tactics(node, group, target);
      std::move(some.tactics.begin(), some.tactics.end(), std::back_inserter(all.tactics));
      if (some.reason.empty()) continue;
      if (!all.reason.empty()) all.reason += "; ";
      all.reason += fmt::format("{}: {}", family.kernel, some.reason);
    }
  });
  if (all.tactics.empty() && all.reason.empty()) all.reason = "no kernel for " + node.kind();
  return all;
}

TacticList FamilyBackend::more_tactics(const Node& node, const Target& target) const {
  return of_families(node, target, &KernelFamily::more);
}

TacticList FamilyBackend::late_tactics(const Node& node, const Target& target) const {
  return of_families(node, target, &KernelFamily::late);
}

/// The tactics of the families that have such a list.
TacticList FamilyBackend::of_families(const Node& node, const Target& target,
                                      TacticList (*KernelFamily::*list)(const Node&, const Group&,
                                                                        const Target&)) const {
  TacticList all;
  if (target.device.kind != table_.device) return all;
  const Group group = Group::of(node);
  if (group.empty()) return all;
  call(target, [&] {
    for (const KernelFamily& family : table_.families) {
      if (!(family.*list)) continue;
      TacticList some = (family.*list)(node, group, target);
      std::move(some.tactics.begin(), some.tactics.end(), std::back_inserter(all.tactics));
    }
  });
  return all;
}

TacticList FamilyBackend::named_tactics(const Node& node, const Target& target) const {
  if (target.device.kind != table_.device) return {};
  const Group group = Group::of(node);
  if (group.empty()) return {};
  TacticList list;
  if (const KernelFamily* family = find(node.tactic.kernel))
    call(target, [&] { list = (family->named ? family->named : family->tactics)(node, group, target); });
  return list;
}

std::unique_ptr<Kernel> FamilyBackend::prepare(const Node& node, const Tactic& tactic,
                                               std::span<const Tensor* const> constants,
                                               const Target& target) const {
  const Group group = Group::of(node);
  check(!group.empty(), ErrorCode::internal, "{}: {}", table_.name, group.reason());
  const KernelFamily* family = find(tactic.kernel);
  check(family != nullptr, ErrorCode::unsupported,
        "{}: there is no kernel named {}: build the plan again with this version", table_.name,
        tactic.kernel);
  std::unique_ptr<Kernel> kernel;
  call(target, [&] { kernel = family->prepare({table_.name, node, group, tactic, constants, target}); });
  return kernel;
}

} // namespace lanner
