#pragma once
// A backend with kernels and costs from a table; its kernels compute by the operators' definitions.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/backend.h"
#include "graph/storage/storage_parser.h"
#include "lowering/defined_kernel.h"

namespace lanner::test {

/// A table is text of one rule per line, each after `//`:
///
///   conv: acdb, row -> acdb = 3
/// an alternative for nodes of this kind: storages of inputs and outputs, as in IR after `@`, and the cost in
/// milliseconds;
///   conv+add: acdb, row, acdb -> acdb = 3, overwrites 2
///   conv+relu: acdb, row -> acdb = 3, in place 0
/// a kernel whose output uses the memory of that input, always or where allowed;
///   conv as direct/8: row, row -> row = 9
/// with a kernel's name and a config;
///   conv: row, row -> row = 2, later
/// offered by more_tactics() only;
///   relu: row -> row = 1, to f32
/// for nodes whose first output has this type;
///   conv: acdb, row -> acdb = 3, strided
/// which supports all values as parts of larger ones;
///   conv as bad: row, row -> row = 1, fault wrong value
/// with an injected fault, see parse_fault(); kind, kernel and config must be unique;
///   reorder: row -> acdb = 1
/// the same for reorders, of exactly these storages;
///   fused: i8 row, row, row -> i8 row scale=%1 zero=%2 = 1
/// quantised by inputs of the node, given by index;
///   fuses add+relu
/// kinds of a group's nodes in order, the joining one last;
///   proposes a, b
/// the nodes whose first outputs have these names, the anchor first;
///   no softmax: its axis is not the last
/// the reason why nothing is offered.
///
/// A fused node's kind is its attribute. Values without a storage in a rule are row-major on the kernels'
/// device. A rule applies to values with the rank of its layouts. With several GPUs a rule names one and is
/// offered only there.
class TableBackend final : public Backend {
public:
  /// `words`: the name, optionally a version, and after `on` the device of its kernels: `fast 1.2 on cuda:0`.
  /// Throws Error{bad_data} for a malformed rule.
  TableBackend(std::string_view words, std::string_view table, Queue queue = {});

  /// Adds a line to the table, without `//`.
  void add_rule(std::string_view line);
  /// Launches of all its kernels since construction.
  int launches() const noexcept { return *launches_; }

  std::string_view name() const override { return name_; }
  std::string version() const override { return version_; }
  DeviceKind device() const override { return device_.kind; }
  /// Trusted if it has the name of one of the project's own backends.
  bool trusts(std::string_view, bool) const override { return name_ == "cpu" || name_ == "reference"; }
  bool fuses(std::span<const Node* const> group, const Node& next, const Target& target) const override;
  std::vector<std::vector<const Node*>> propose(const Node& anchor, const Target& target) const override;
  TacticList tactics(const Node& node, const Target& target) const override;
  TacticList more_tactics(const Node& node, const Target& target) const override;
  TacticList named_tactics(const Node& node, const Target& target) const override;
  std::unique_ptr<Kernel> prepare(const Node& node, const Tactic& tactic,
                                  std::span<const Tensor* const> constants,
                                  const Target& target) const override;

private:
  struct Rule {
    std::string kind;
    Tactic tactic; ///< Without storages.
    std::vector<SpelledStorage> inputs, outputs;
    bool later = false, strided = false;
    std::optional<DType> type;
    Fault fault = Fault::none;
  };
  Rule parse_offer(std::string_view line) const;
  void parse_option(std::string_view option, Rule& rule) const;
  static std::vector<SpelledStorage> parse_storages(std::string_view list);
  TacticList offered(const Node& node, const Target& target, bool later) const;

  std::string name_, version_;
  Queue queue_;
  Device device_;
  std::vector<Rule> rules_;
  std::vector<std::string> fused_;
  std::vector<std::vector<std::string>> proposed_;
  std::vector<std::pair<std::string, std::string>> reasons_; ///< By kind.
  std::shared_ptr<std::atomic<int>> launches_ = std::make_shared<std::atomic<int>>(0);
};

} // namespace lanner::test
