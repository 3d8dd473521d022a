#pragma once
// The finished plan of a narrower precision against the one of FP32.

#include <memory>
#include <optional>
#include <string>

#include <lanner/cancel.h>

#include "engine/state.h"

namespace lanner {

/// Whether to time a plan against FP32's: it was made for known sizes on a CPU within a budget, by a policy
/// that allows FP32 but no more than allows it, and some kernel computes in another type.
bool is_worth_timing(const EngineState& state);

/// Seconds of one run of the opt shapes.
struct PlanTimes {
  double allowed = 0, fp32 = 0;
  bool fp32_wins = false; ///< The allowed plan is kept only where it is faster.
};

/// Times the two in alternation on the same seeded inputs, for at most `seconds` where runs are short.
/// Nothing where the networks cannot be run on such inputs. Throws Error{cancelled}.
std::optional<PlanTimes> timed_plans(const std::shared_ptr<const EngineState>& allowed,
                                     const std::shared_ptr<const EngineState>& fp32, double seconds,
                                     const Control& control);

/// One line on what was found.
std::string told(const PlanTimes& times, const std::string& types);
/// Adds the times and the line to the metadata of the graph whose plan is kept.
void record(Graph& graph, const PlanTimes& times, const std::string& line);

} // namespace lanner
