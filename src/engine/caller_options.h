#pragma once
// Build options on the memory of callers: states, aliases, storages. By name, as in the API and in plans.

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

/// Checks `options` against the engine's inputs and outputs and updates their descriptions. Throws
/// Error{invalid_argument, unsupported}.
void set_callers(EngineState& state, const CallerOptions& options);

/// Fixes storages that lowering was free to choose to those of the first variant.
void settle_storages(EngineState& state, const Graph& lowered);

/// Throws where the shapes of a variant do not allow an alias.
void check_aliases(const EngineState& state, const Graph& specialised);

/// Writes and reads the callers' part of a plan's target; malformed JSON throws a JSON exception.
void write_callers(const EngineState& state, nlohmann::ordered_json& target);
CallerOptions read_callers(const nlohmann::json& target);

} // namespace lanner
