#pragma once
// A backend as a list of kernel families.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/group.h"
#include "graph/tactic.h"

namespace lanner {

/// What `prepare` is given.
struct Preparation {
  const Node& node;
  const Group& group;
  const Tactic& tactic;
  std::span<const Tensor* const> constants; ///< As in Backend::prepare.
  const Target& target;
};

/// Kernels of one name: the groups they take, the ways they offer, how one is made ready.
struct KernelFamily {
  std::string_view kernel; ///< The name in tactics.
  /// Tactics for a group that may or may not be of this family. Where it is and none is offered, `reason`
  /// says why; where it is not, the reason stays empty.
  TacticList (*tactics)(const Node& node, const Group& group, const Target& target);
  std::unique_ptr<Kernel> (*prepare)(const Preparation& preparation);
  /// Whether the group (the nodes so far and the next one) could be one node of this family.
  bool (*fuses)(const Group& group, const Target& target);
  /// As Backend::more_tactics; null: there are none.
  TacticList (*more)(const Node& node, const Group& group, const Target& target) = nullptr;
  /// As Backend::named_tactics; null: `tactics` is quick enough.
  TacticList (*named)(const Node& node, const Group& group, const Target& target) = nullptr;
  /// As Backend::propose; null: nothing.
  std::vector<std::vector<const Node*>> (*propose)(const Node& anchor, const Target& target) = nullptr;
  /// As Backend::late_tactics; null: none.
  TacticList (*late)(const Node& node, const Group& group, const Target& target) = nullptr;
};

/// Joins families under one name. The table must outlive it.
class FamilyBackend final : public Backend {
public:
  /// `version`: of the library that the kernels come from, where it is one of its own.
  FamilyBackend(std::string_view name, std::span<const KernelFamily> families,
                DeviceKind device = DeviceKind::cpu, std::string version = {})
      : name_(name), families_(families), device_(device), version_(std::move(version)) {}

  std::string_view name() const override { return name_; }
  std::string version() const override { return version_; }
  DeviceKind device() const override { return device_; }
  bool fuses(std::span<const Node* const> group, const Node& next, const Target& target) const override;
  std::vector<std::vector<const Node*>> propose(const Node& anchor, const Target& target) const override;
  TacticList tactics(const Node& node, const Target& target) const override;
  TacticList more_tactics(const Node& node, const Target& target) const override;
  TacticList named_tactics(const Node& node, const Target& target) const override;
  TacticList late_tactics(const Node& node, const Target& target) const override;
  std::unique_ptr<Kernel> prepare(const Node& node, const Tactic& tactic,
                                  std::span<const Tensor* const> constants,
                                  const Target& target) const override;

private:
  TacticList of_families(const Node& node, const Target& target,
                         TacticList (*KernelFamily::*list)(const Node&, const Group&, const Target&)) const;

  std::string_view name_;
  std::span<const KernelFamily> families_;
  DeviceKind device_;
  std::string version_;
};

} // namespace lanner
