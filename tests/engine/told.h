#pragma once
// Parsed explain output of an engine.

#include <nlohmann/json.hpp>

#include <lanner/engine.h>

namespace lanner::test {

inline nlohmann::json told(const Engine& engine) {
  return nlohmann::json::parse(engine.explain_json());
}

} // namespace lanner::test
