#pragma once
// What `lanner explain` and the report show.

#include <string>

#include "engine/state.h"

namespace lanner {

/// JSON with `target`, `memory` and `nodes` of the variant of these shapes; see docs/explain.md.
std::string explain_json(const EngineState& state, const InputShapes& shapes, const MadeVariant& variant);

/// What Engine::graph_json gives.
std::string graph_json(const Graph& graph);

/// The reports alone, as the plan keeps them, and back. Hostile input is Error{bad_data}.
std::string reports_json(const std::vector<NodeReport>& reports);
std::vector<NodeReport> parse_reports(std::string_view json, const Limits& limits);

} // namespace lanner
