#pragma once
// A model's initialisers, and which of them a run may override.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lanner/engine.h>

#include "graph/type/type.h"

namespace lanner {

struct EngineState;

/// Initialisers that are constants of an engine.
struct Initialisers {
  std::vector<Binding> overridable; ///< Listed among the model's inputs, so a run may override them.
  std::set<std::string, std::less<>>
      built_in; ///< Also listed, but the engine does not have the model to rebuild from.
  std::set<std::string, std::less<>> fixed; ///< Not listed.

  /// Throws Error{invalid_argument} with the reason where a caller uses an initialiser as an input that
  /// cannot be one.
  void refuse(std::string_view name) const;
  const Binding* find(std::string_view name) const; ///< Of `overridable`; null: none.
};

/// For an engine without its model: overridable ones become `built_in`.
Initialisers without_model(const Initialisers& initialisers);

/// Sets default values of inputs, by name, for runs that bind none. Throws Error{invalid_argument, not_found}
/// where a value does not fit its input, or the kind of input cannot have a default.
void set_defaults(EngineState& state, std::map<std::string, Tensor> values);

/// An input or output of this type.
Binding binding(const std::string& name, const Type& type);

/// Writes and reads their part of a plan's target, without the model; malformed JSON throws a JSON exception.
void write_initialisers(const Initialisers& initialisers, nlohmann::ordered_json& target);
Initialisers read_initialisers(const nlohmann::json& target);

} // namespace lanner
