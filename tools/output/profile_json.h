#pragma once
// The steps of a profile as JSON, for `bench --json` and the page of `run --report`.

#include <span>

#include <lanner/engine.h>

#include "input/json_parser.h"

namespace lanner::tool {

/// An array with an object for each step.
Json profile_json(std::span<const StepProfile> profile);

} // namespace lanner::tool
