#pragma once
// What a build is asked of memory that callers give: states, aliases, storages. By names, as users say it and
// plans keep it.

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lanner/engine.h>

#include "engine/state.h"

namespace lanner {

/// As in BuildOptions.
struct CallerOptions {
  std::vector<StateNames> states;
  std::vector<AliasNames> aliases;
  std::vector<std::string> overwritable;
  std::map<std::string, BindingStorage> storages;
};

/// Checks `options` against the engine's inputs and outputs, which they change the description of. Throws
/// Error{invalid_argument, unsupported}.
void set_callers(EngineState& state, const CallerOptions& options);

/// Storages that lowering was free to choose are from now on as the first variant has them.
void settle_storages(EngineState& state, const Graph& lowered);

/// Throws where the shapes of a variant contradict an alias.
void check_aliases(const EngineState& state, const Graph& specialised);

/// The part of a plan's target that says it, and back: hostile JSON is a JSON exception.
void write_callers(const EngineState& state, nlohmann::ordered_json& target);
CallerOptions read_callers(const nlohmann::json& target);

} // namespace lanner
