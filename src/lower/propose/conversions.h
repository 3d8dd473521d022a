#pragma once
// Values in another type, storage or quantisation, and what making them takes.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "lower/options.h"
#include "lower/propose/alternatives.h"

namespace lanner {

/// A type and how a value of it is stored.
struct Form {
  Type type;
  Storage storage;
};
/// What a lowered graph says of a value: on the host halves are stored wider as values of the wider type,
/// which a cast makes.
Form lowered_form(const Type& type, Storage storage);
/// Of a `reorder`, or a `cast` to this type.
AttributeMap conversion_attributes(std::string_view kind, const Type& to);
/// What a reorder to a storage reads: the value and what tells how it is stored before and behind.
std::vector<Value*> conversion_inputs(Value& value, const Storage& to);
/// A graph of one such node.
std::unique_ptr<Graph> conversion_graph(const OpTable& ops, std::string_view kind, const Form& from,
                                        const Form& to);

/// Seconds that making what one storage holds of a value of `type` lie in another takes: moves, and changes
/// of the stored type and of quantisation; 0 when they are equal.
class ConversionCosts {
public:
  ConversionCosts(const Graph& graph, const LowerOptions& options) : graph_(graph), options_(options) {}
  double operator()(const Type& type, const Storage& from, const Storage& to);
  /// Seconds that a copy takes whose storage is the same.
  double copied(const Type& type, const Storage& storage);
  /// Of two lowered types that differ in width: whether to cast before changing the rest of the storage.
  bool casts_first(const Form& from, const Form& to) { return cast_first(from, to) <= cast_last(from, to); }
  /// Of a graph's input whose storage is settled, to a reader.
  double from_caller(const Value& input, const Storage& to) { return (*this)(input.type, input.storage, to); }
  /// Of what leaves the graph, to all outputs that it is.
  double to_caller(const Value& output, const Storage& from);

private:
  double cast_first(const Form& from, const Form& to);
  double cast_last(const Form& from, const Form& to);
  double reordered(const Form& from, const Form& to);
  double made(std::string_view kind, const Form& from, const Form& to);

  const Graph& graph_;
  const LowerOptions& options_;
  std::map<std::string, double> known_;
};

/// Between devices only whole values of one form move: what lies between two storages that differ in more
/// than their device. Equal to one of them where they do not.
Storage staging(const Type& type, const Storage& from, const Storage& to);

/// The fastest tactic of a reorder or a cast whose input and output storages are set; nothing where there is
/// none.
std::optional<Alternative> best_conversion(const Node& conversion, const LowerOptions& options);
/// The same of those that are right, for one that is to run.
std::optional<Alternative> vetted_conversion(const Node& conversion, const LowerOptions& options);

} // namespace lanner
