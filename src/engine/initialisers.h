#pragma once
// A model's initialisers as its users see them: which of them runs may give.

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

/// Those that an engine has as constants.
struct Initialisers {
  std::vector<Binding> overridable; ///< A run may give them: the model lists them among its inputs.
  std::set<std::string, std::less<>> built_in; ///< So does the model, but the engine does not have it.
  std::set<std::string, std::less<>> fixed;    ///< The model does not.

  /// Throws Error{invalid_argument} where a caller names one as an input that is none; says why.
  void refuse(std::string_view name) const;
  const Binding* find(std::string_view name) const; ///< Of `overridable`; null: none.
};

/// Of an engine that nothing can be built of any more: what could be overridden is built in.
Initialisers without_model(const Initialisers& initialisers);

/// Gives inputs of the engine, by name, values for runs that bind none. Throws Error{invalid_argument,
/// not_found} where a value does not fit its input, or the input is of a kind that has no such value.
void set_defaults(EngineState& state, std::map<std::string, Tensor> values);

/// An input or output of this type.
Binding binding(const std::string& name, const Type& type);

/// The part of a plan's target that says it, without the model, and back: hostile JSON is a JSON exception.
void write_initialisers(const Initialisers& initialisers, nlohmann::ordered_json& target);
Initialisers read_initialisers(const nlohmann::json& target);

} // namespace lanner
