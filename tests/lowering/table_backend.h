#pragma once
// A backend whose kernels and costs stand in a table, and whose kernels compute what the operators'
// definitions say.

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

/// A table is text of one rule a line, each behind `//`:
///
///   conv: acdb, row -> acdb = 3
/// what a node of this kind may be run by: storages of inputs, of outputs, as IR spells them behind `@`; the
/// cost in milliseconds;
///   conv+add: acdb, row, acdb -> acdb = 3, overwrites 2
///   conv+relu: acdb, row -> acdb = 3, in place 0
/// by a kernel that gets the memory of that input for its output, always or where it may;
///   conv as direct/8: row, row -> row = 9
/// under another kernel's name, with a config;
///   conv: row, row -> row = 2, later
/// offered by more_tactics() only;
///   relu: row -> row = 1, to f32
/// for nodes whose first output has this type;
///   conv: acdb, row -> acdb = 3, strided
/// which takes all values within larger ones too;
///   conv as bad: row, row -> row = 1, fault wrong value
/// does one thing wrong, see parse_fault(): no other rule has its kind, kernel and config;
///   reorder: row -> acdb = 1
/// as the others, for reorders of exactly these storages;
///   fused: i8 row, row, row -> i8 row scale=%1 zero=%2 = 1
/// quantised by inputs of the node, told by their numbers;
///   fuses add+relu
/// kinds of a group with the node that may join it, in order;
///   proposes a, b
/// the nodes whose first outputs have these names, the anchor first;
///   no softmax: its axis is not the last
/// why nothing is offered.
///
/// A fused node's kind is its attribute. Values that a rule leaves out are stored row-major where the kernels
/// run. A rule is for values whose rank is that of its layouts. Of several GPUs a rule says the one; it is
/// offered there alone.
class TableBackend final : public Backend {
public:
  /// `words`: the name, a version where there is one, and after `on` the device where its kernels run:
  /// `fast 1.2 on cuda:0`. Throws Error{bad_data} for a rule that is none.
  TableBackend(std::string_view words, std::string_view table, Queue queue = {});

  /// A line of the table more, without `//`.
  void add_rule(std::string_view line);
  /// Of all its kernels, since it was made.
  int launches() const noexcept { return *launches_; }

  std::string_view name() const override { return name_; }
  std::string version() const override { return version_; }
  DeviceKind device() const override { return device_.kind; }
  /// One that is named as the project's own is trusted as that is.
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
    Tactic tactic; ///< But for its storages.
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
