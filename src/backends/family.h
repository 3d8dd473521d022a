#pragma once
// A backend as a list of kernel families.

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/group.h"
#include "graph/backend.h"

namespace lanner {

/// Arguments of `prepare`.
struct Preparation {
  std::string_view backend; ///< Its name.
  const Node& node;
  const Group& group;
  const Tactic& tactic;
  std::span<const Tensor* const> constants; ///< As in Backend::prepare.
  const Target& target;
};

/// For `prepare`, whose plan may come from another version: throws Error{unsupported}, naming backend and
/// kernel, unless the family takes the group. `reason`: why it does not; a reference, as the expression for
/// `taken` sets it.
void check_taken(bool taken, const Preparation& preparation, const std::string& reason);

/// Which of a family's kernels a build may use without checking or timing them (Backend::trusts()). Stated by
/// each family.
class KernelTrust {
public:
  /// Trusts the project's own kernels, which are tested with every change.
  static constexpr KernelTrust own() { return KernelTrust(Source::own); }
  /// Trusts a library's kernels in the versions that the sweep over tactics has verified (docs/tactics.md):
  /// up to four version prefixes, each matched against a word of Backend::version(), or against two words if
  /// it begins with the library's name.
  static constexpr KernelTrust swept(std::initializer_list<std::string_view> versions) {
    KernelTrust trust(Source::library);
    std::ranges::copy(versions, trust.versions_.begin());
    return trust;
  }
  /// Trusts nothing: the kernels are compared with the definition wherever they are used.
  static constexpr KernelTrust none() { return KernelTrust(Source::none); }

  /// `version`: of the backend. `strided`: with values within larger ones, which the sweep did not cover.
  bool holds(std::string_view version, bool strided) const;

private:
  enum class Source { own, library, none };
  explicit constexpr KernelTrust(Source source) : source_(source) {}

  Source source_;
  std::array<std::string_view, 4> versions_{};
};

/// Kernels of one name: the groups they support, the tactics they offer, their preparation.
struct KernelFamily {
  std::string_view kernel; ///< The name in tactics.
  KernelTrust trust;
  /// Tactics for any group. If there are none, `reason` says why for a group of this family, without the
  /// names of backend and kernel, which callers put before it; it is empty for any other group.
  TacticList (*tactics)(const Node& node, const Group& group, const Target& target);
  std::unique_ptr<Kernel> (*prepare)(const Preparation& preparation);
  /// Whether the group (the nodes so far and the next one) could be one node of this family.
  /// Null: none could.
  bool (*fuses)(const Group& group, const Target& target) = nullptr;
  /// As Backend::more_tactics; null: there are none.
  TacticList (*more)(const Node& node, const Group& group, const Target& target) = nullptr;
  /// As Backend::named_tactics; null: `tactics` is fast enough.
  TacticList (*named)(const Node& node, const Group& group, const Target& target) = nullptr;
  /// As Backend::propose; null: nothing.
  std::vector<std::vector<const Node*>> (*propose)(const Node& anchor, const Target& target) = nullptr;
  /// As Backend::late_tactics; null: none.
  TacticList (*late)(const Node& node, const Group& group, const Target& target) = nullptr;
};

/// Definition of a backend of kernel families. The families must outlive it.
struct FamilyTable {
  std::string_view name;
  std::span<const KernelFamily> families;
  DeviceKind device = DeviceKind::cpu;
  /// As Backend::version(); null: the kernels come from no library.
  std::string (*version)() = nullptr;
  /// Calls `work` with what the families' code needs set up for the target, such as a current CUDA context;
  /// null: `work` is called directly.
  void (*around)(const Target& target, const std::function<void()>& work) = nullptr;
};

/// A backend made of families.
class FamilyBackend final : public Backend {
public:
  explicit FamilyBackend(const FamilyTable& table) : table_(table) {}

  std::string_view name() const override { return table_.name; }
  std::string version() const override { return table_.version ? table_.version() : std::string(); }
  DeviceKind device() const override { return table_.device; }
  bool trusts(std::string_view kernel, bool strided) const override;
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
  void call(const Target& target, const std::function<void()>& work) const;
  const KernelFamily* find(std::string_view kernel) const;
  TacticList of_families(const Node& node, const Target& target,
                         TacticList (*KernelFamily::*list)(const Node&, const Group&, const Target&)) const;

  FamilyTable table_;
};

} // namespace lanner
