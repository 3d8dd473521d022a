#pragma once
// Conversions of values to another type, storage or quantisation, and their costs.

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
/// Form of a value in a lowered graph: on the host, 16-bit reals stored as f32 become values of type f32,
/// made by a cast.
Form lowered_form(const Type& type, Storage storage);
/// Of a `reorder`, or a `cast` to this type.
AttributeMap conversion_attributes(std::string_view kind, const Type& to);
/// Inputs of a reorder to a storage: the value and the scales and zero points of its old and new storage.
std::vector<Value*> conversion_inputs(Value& value, const Storage& to);
/// A graph of one such node.
std::unique_ptr<Graph> conversion_graph(const OpTable& ops, std::string_view kind, const Form& from,
                                        const Form& to);

/// Seconds that converting a value of `type` from one storage to another takes: copies, and changes of the
/// stored type and of quantisation; 0 when they are equal.
class ConversionCosts {
public:
  ConversionCosts(const Graph& graph, const LowerOptions& options) : graph_(graph), options_(options) {}
  double operator()(const Type& type, const Storage& from, const Storage& to);
  /// Seconds of a copy to the same storage.
  double copied(const Type& type, const Storage& storage);
  /// For two lowered types that differ in width: whether to cast before changing the rest of the storage.
  bool casts_first(const Form& from, const Form& to) { return cast_first(from, to) <= cast_last(from, to); }
  /// From a graph's input of settled storage to a reader.
  double from_caller(const Value& input, const Storage& to) { return (*this)(input.type, input.storage, to); }
  /// From a value to all outputs of the graph that it is.
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

/// The intermediate storage between two that differ in more than their device, since only whole values of one
/// form are copied between devices. Equal to one of them where they differ in the device alone.
Storage staging(const Type& type, const Storage& from, const Storage& to);

/// The fastest tactic of a reorder or a cast whose input and output storages are set; nothing where there is
/// none.
std::optional<Alternative> best_conversion(const Node& conversion, const LowerOptions& options);
/// The same among tactics that were vetted, for a conversion that is to run.
std::optional<Alternative> vetted_conversion(const Node& conversion, const LowerOptions& options);

} // namespace lanner
