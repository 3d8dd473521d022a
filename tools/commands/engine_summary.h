#pragma once
// What a build made, where its time goes, and what would make it faster: from facts, for people and as JSON.

#include <optional>
#include <string>
#include <vector>

#include <lanner/engine.h>

#include "options/engine_options.h"
#include "output/json_text.h"

namespace lanner::tool {

/// Steps of one kind that run by one kernel.
struct StepGroup {
  std::string kind, kernel; ///< `conv+relu`, `onednn:conv`.
  std::size_t steps = 0;
  double seconds = 0;         ///< Of one run.
  bool by_definition = false; ///< No kernel takes them: they run by their operator's plain definition.
  bool on_host = false;       ///< Of an engine on a GPU.
  std::string first;          ///< Name of the slowest of them.
};

/// What was measured of an engine, as far as it was.
struct Measurements {
  struct Batch {
    int size = 1;
    double items_per_second = 0, p50 = 0, p99 = 0;
    std::size_t runs = 0;
  };
  std::vector<Batch> batches;
  std::vector<StepProfile> profile; ///< Empty: the kernels' own timing by the build is told.
};

class EngineSummary {
public:
  /// `times` of a build, where there was one.
  EngineSummary(const Engine& engine, const ModelFacts& facts, const std::optional<BuildTimes>& times);

  /// Nodes, precision, device, threads, memory and the time that building took, a line each.
  std::string text() const;
  Json json() const;
  bool deterministic() const { return plan_["target"]["deterministic"].get<bool>(); }

  /// Steps by kind and kernel, the slowest first; none where nothing was timed.
  std::vector<StepGroup> groups(const std::vector<StepProfile>& profile = {}) const;
  /// Sentences that say what holds the engine back, each from a fact; may be none.
  std::vector<std::string> advice(const Measurements& measured) const;

private:
  std::string nodes_text() const;

  Json plan_;                  ///< What the engine explains of itself.
  std::size_t simplified_ = 0; ///< Nodes of the portable graph.
  std::size_t imported_ = 0;   ///< Nodes of the model as it was read, 0 where only a plan is known.
  std::optional<BuildTimes> times_;
};

/// `71.2 %  conv+relu  onednn:conv  12 steps`, a line each, the slowest first; what is short together.
std::string where_text(const std::vector<StepGroup>& groups);
Json where_json(const std::vector<StepGroup>& groups);
/// Empty for no sentences.
std::string advice_text(const std::vector<std::string>& sentences);

} // namespace lanner::tool
