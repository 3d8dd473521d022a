#pragma once
// A backend whose kernels and costs stand in a table, and whose kernels compute what the operators'
// definitions say.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/tactic.h"

namespace lanner::test {

/// A table is text of one rule a line, each behind `//`:
///
///   conv: acdb, row -> acdb = 3                what a node of this kind may be run by: storages of inputs,
///   of
///                                              outputs, as IR spells them behind `@`; the cost in
///                                              milliseconds
///   conv+add: acdb, row, acdb -> acdb = 3, overwrites 2     in the memory of input 2, which it must get
///   conv+relu: acdb, row -> acdb = 3, in place 0            likewise, where it may
///   conv as direct/8: row, row -> row = 9      under another kernel's name, with a config
///   conv: row, row -> row = 2, later           offered by more_tactics() only
///   reorder: row -> acdb = 1                   likewise for reorders of exactly these storages
///   fuses add+relu                             kinds of a group with the node that joins it, in order
///   no softmax: its axis is not the last       why nothing is offered
///
/// A fused node's kind is its attribute. Values that a rule leaves out are stored row-major where the kernels
/// run. A rule is for values whose rank is that of its layouts. Kernels read what they may overwrite first,
/// then spoil their outputs, then read the rest: memory shared wrongly shows in the numbers.
class TableBackend final : public Backend {
public:
  /// How kernels of a GPU queue their work on a stream.
  using Queue = std::function<void(Stream stream, const std::function<void()>& work)>;

  /// `words`: the name, and after `on` the device where its kernels run: `fast on cuda:0`. Throws
  /// Error{bad_data} for a rule that is none.
  TableBackend(std::string_view words, std::string_view table, Queue queue = {});

  std::string_view name() const override { return name_; }
  DeviceKind device() const override { return device_.kind; }
  bool fuses(std::span<const Node* const> group, const Node& next, const Target& target) const override;
  TacticList tactics(const Node& node, const Target& target) const override;
  TacticList more_tactics(const Node& node, const Target& target) const override;
  TacticList named_tactics(const Node& node, const Target& target) const override;
  std::unique_ptr<Kernel> prepare(const Node& node, const Tactic& tactic,
                                  std::span<const Tensor* const> constants,
                                  const Target& target) const override;

private:
  struct Rule {
    std::string kind;
    Tactic tactic;
    bool later = false;
  };
  void add(std::string_view line);
  Rule parse_offer(std::string_view line) const;
  void parse_option(std::string_view option, Rule& rule) const;
  std::vector<Storage> parse_storages(std::string_view list) const;
  TacticList offered(const Node& node, bool later) const;

  std::string name_;
  Queue queue_;
  Device device_;
  std::vector<Rule> rules_;
  std::vector<std::string> fused_;
  std::vector<std::pair<std::string, std::string>> reasons_; ///< By kind.
};

} // namespace lanner::test
