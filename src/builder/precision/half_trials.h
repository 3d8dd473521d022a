#pragma once
// Runs nodes alone on FP32's own values, with their operands and results rounded as FP16 or BF16 stores them:
// what a node loses is then its own, whatever the nodes before it lost.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "builder/int8/graph_run.h"

namespace lanner {

/// A node whose values can be stored in a narrower type, by the name of its one result.
struct HalfCandidate {
  std::string node;
  std::vector<std::string> values; ///< Values of the run that it reads, each once.
};

/// Nodes of the graph's body that compute one result of f32 from values of f32 and constants.
std::vector<HalfCandidate> half_candidates(const Graph& graph);

class HalfTrials {
public:
  HalfTrials(const Graph& graph, const std::vector<HalfCandidate>& candidates, DType type,
             const BuildOptions& options, const Target& target);

  /// Results of the candidates by name. `values`: of the values that they read.
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& values, const Control& control);

private:
  std::vector<std::string> values_; ///< That candidates read, each once.
  std::unique_ptr<GraphRun> run_;
};

} // namespace lanner
