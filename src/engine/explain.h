#pragma once
// JSON for `lanner explain` and the report.

#include <string>

#include "engine/state.h"

namespace lanner {

/// JSON with `target`, `memory` and `nodes` of the variant of these shapes; see docs/explain.md.
std::string explain_json(const EngineState& state, const InputShapes& shapes, const MadeVariant& variant);

/// Implements Engine::graph_json.
std::string graph_json(const Graph& graph);

/// Writes and reads the reports as stored in a plan. Malformed input throws Error{bad_data}.
std::string reports_json(const std::vector<NodeReport>& reports);
std::vector<NodeReport> parse_reports(std::string_view json, const Limits& limits);

} // namespace lanner
