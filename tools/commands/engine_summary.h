#pragma once
// What a build made, where its time goes, and what would make it faster, as text and JSON.

#include <optional>
#include <string>
#include <vector>

#include <lanner/engine.h>

#include "options/engine_options.h"
#include "output/json_text.h"

namespace lanner::tool {

/// Steps of one kind with one kernel.
struct StepGroup {
  std::string kind, kernel; ///< `conv+relu`, `onednn:conv`.
  std::size_t steps = 0;
  double seconds = 0;         ///< In one run.
  bool by_definition = false; ///< No kernel supports them: they run by their operator's definition.
  bool on_host = false;       ///< For an engine on a GPU.
  std::string first;          ///< Name of the slowest of them.
};

/// Measurements of an engine, as far as there are any.
struct Measurements {
  struct Batch {
    int size = 1;
    double items_per_second = 0, p50 = 0, p99 = 0;
    std::size_t runs = 0;
  };
  std::vector<Batch> batches;
  std::vector<StepProfile> profile; ///< Empty: the times of the build's own timing are used.
};

class EngineSummary {
public:
  /// `times`: of the build, where there was one.
  EngineSummary(const Engine& engine, const ModelFacts& facts, const std::optional<BuildTimes>& times);

  /// Nodes, precision, device, threads, memory and build time, a line each.
  std::string text() const;
  Json json() const;
  bool deterministic() const { return plan_["target"]["deterministic"].get<bool>(); }

  /// Steps by kind and kernel, the slowest first; none where nothing was timed.
  std::vector<StepGroup> groups(const std::vector<StepProfile>& profile = {}) const;
  /// Sentences that say what limits the engine's speed, each from a fact; may be empty.
  std::vector<std::string> advice(const Measurements& measured) const;

private:
  std::string nodes_text() const;

  Json plan_;                  ///< Engine::explain_json().
  std::size_t simplified_ = 0; ///< Nodes of the portable graph.
  std::size_t imported_ = 0;   ///< Nodes of the model as read, 0 for a plan.
  std::optional<BuildTimes> times_;
};

/// `71.2 %  conv+relu  onednn:conv  12 steps`, a line each, the slowest first; small shares as one line.
std::string where_text(const std::vector<StepGroup>& groups);
Json where_json(const std::vector<StepGroup>& groups);
/// Empty for no sentences.
std::string advice_text(const std::vector<std::string>& sentences);

} // namespace lanner::tool
