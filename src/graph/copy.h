#pragma once
// Copies nodes from one region to another, of the same or a different graph.

#include <functional>
#include <unordered_map>

#include "graph/graph.h"

namespace lanner {

/// Keeps a map from original to copied values. New values keep their names where those are free.
class NodeCopier {
public:
  /// New nodes go before `before` (null: at the end of `to`).
  explicit NodeCopier(Region& to, Node* before = nullptr) : to_(&to), before_(before) {}

  /// Maps types; null keeps them.
  std::function<Type(const Type&)> convert_type;

  void map(const Value* from, Value* to) { mapped_[from] = to; }
  /// Null maps to null; a value that was never mapped or copied is Error{internal}.
  Value* mapped(const Value* from) const;

  /// Copies a node whose inputs are all mapped, regions included.
  Node* copy(const Node& node);
  /// Copies all nodes of `region`, whose parameters are mapped, and returns its outputs' counterparts.
  std::vector<Value*> copy_nodes(const Region& region);
  /// Sets the storage of all copied values of `region`. Separate from copy_nodes(), because arguments that
  /// replace parameters keep their own storage.
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

/// Inserts a copy of `region`'s nodes before `before`, with `arguments` replacing its parameters; returns its
/// outputs.
std::vector<Value*> inline_region(const Region& region, std::span<Value* const> arguments, Node* before);

} // namespace lanner
