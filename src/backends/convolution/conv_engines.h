#pragma once
// Which of cuDNN's engines run a convolution: looked for once a process, since it takes long.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/convolution/conv_graph.h"

namespace lanner::cuda {

/// An operation graph with the plan of one engine. Immutable; kernels of one problem share it.
struct ReadyGraph {
  std::shared_ptr<const OperationGraph> graph;
  GraphPlan plan;
};

/// How a problem may be run: its form and an engine for each graph of that.
struct EngineCandidate {
  ConvForm form;
  std::vector<EngineChoice> choices;
  double slowness = 1;      ///< A guess, relative to the first candidate.
  bool last_resort = false; ///< The heuristics know no engine of this form that they expect to be fast.
};

/// The engines of one problem. What it finds is kept for the process: layers of equal shapes, and the kernels
/// made of an engine that was tried, make nothing anew. The GPU's context must be current.
class ConvEngines {
public:
  ConvEngines(const ConvProblem& problem, const EngineRules& rules, Device device, cudnn::Handle handle);

  /// The first way in the order of cuDNN's heuristics that works. Nothing, with `reason` set, where none
  /// does.
  std::optional<EngineCandidate> first_candidate(std::string& reason) const;
  /// Others that may be faster, none of them twice.
  std::vector<EngineCandidate> further_candidates(std::string& reason) const;
  /// Whether this way keeps to the rules and works; else `reason` is set. Looks for no other.
  bool works(const EngineCandidate& candidate, std::string& reason) const;
  /// Graph `part` of a form made ready, from `graph` where it is there already. Throws as GraphPlan does.
  std::shared_ptr<const ReadyGraph> ready(ConvForm form, std::size_t part, const EngineChoice& choice,
                                          std::shared_ptr<const OperationGraph> graph = nullptr) const;

  /// Gives back what is kept for all problems.
  static void forget();

private:
  struct Candidates;
  Candidates candidates(ConvForm form, std::size_t part, std::size_t most) const;
  std::vector<EngineCandidate> candidates_of(ConvForm form, std::size_t most, std::string& reason) const;
  /// Whether the steps should run behind the convolution: with them the heuristics know this engine only, and
  /// for the convolution alone they name others before it.
  bool is_better_alone(ConvForm form, const EngineCandidate& candidate) const;
  std::string key(ConvForm form, std::size_t part) const;

  const ConvProblem& problem_;
  EngineRules rules_;
  cudnn::Handle handle_;
  std::string name_; ///< Device and problem.
};

} // namespace lanner::cuda
