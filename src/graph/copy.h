#pragma once
// Copies nodes from one region into another, of the same graph or of a different one.

#include <functional>
#include <unordered_map>

#include "graph/graph.h"

namespace lanner {

/// Remembers which value stands for which. New values keep their names where those are free.
class NodeCopier {
public:
  /// New nodes go before `before` (null: at the end of `to`).
  explicit NodeCopier(Region& to, Node* before = nullptr) : to_(&to), before_(before) {}

  /// What types turn into; null keeps them.
  std::function<Type(const Type&)> convert_type;

  void map(const Value* from, Value* to) { mapped_[from] = to; }
  /// Null stays null; a value that was never mapped or copied is Error{internal}.
  Value* mapped(const Value* from) const;

  /// Copies a node whose inputs are all mapped, regions included.
  Node* copy(const Node& node);
  /// Copies all nodes of `region`, whose parameters are mapped, and returns its outputs' counterparts.
  std::vector<Value*> copy_nodes(const Region& region);
  /// Gives the counterparts of all of `region`'s values their storage. Apart from copy_nodes, because
  /// arguments in the place of parameters keep their own storage.
  void copy_storages(const Region& region) const;

private:
  Type converted(const Type& type) const { return convert_type ? convert_type(type) : type; }
  void copy_attributes(const Node& from, Node& to) const;
  void copy_region(const Region& from, Region& to, std::size_t captures);
  void copy_storage(const Value& from, Value& to) const;

  Region* to_;
  Node* before_;
  std::unordered_map<const Value*, Value*> mapped_;
};

/// Puts a copy of `region`'s nodes before `before`, `arguments` in the place of its parameters; returns its
/// outputs.
std::vector<Value*> inline_region(const Region& region, std::span<Value* const> arguments, Node* before);

} // namespace lanner
