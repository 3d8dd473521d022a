#pragma once
// Which of cuDNN's engines run a convolution: searched once per process and cached, since the search is slow.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/convolution/conv_graph.h"

namespace lanner::cuda {

/// An operation graph with the plan of one engine. Immutable; shared by kernels of the same problem.
struct ReadyGraph {
  std::shared_ptr<const OperationGraph> graph;
  GraphPlan plan;
};

/// One way to run a problem: its form and an engine for each of the form's graphs.
struct EngineCandidate {
  ConvForm form;
  std::vector<EngineChoice> choices;
  double slowness = 1;      ///< An estimate, relative to the first candidate.
  bool last_resort = false; ///< The heuristics know no engine for this form that they expect to be fast.
};

/// The engines of one problem. Results are cached for the process, so that layers of equal shapes, and
/// kernels of an engine already tried, repeat no work. The GPU's context must be current.
class ConvEngines {
public:
  ConvEngines(const ConvProblem& problem, const EngineRules& rules, Device device, cudnn::Handle handle);

  /// The first candidate that works, in the order of cuDNN's heuristics. Nothing, with `reason` set, where
  /// none does.
  std::optional<EngineCandidate> first_candidate(std::string& reason) const;
  /// Other candidates that may be faster, without duplicates.
  std::vector<EngineCandidate> further_candidates(std::string& reason) const;
  /// Whether this candidate meets the rules and works; else `reason` is set. Tries no other.
  bool works(const EngineCandidate& candidate, std::string& reason) const;
  /// Graph `part` of a form with its plan; uses `graph` if given. Throws as GraphPlan does.
  std::shared_ptr<const ReadyGraph> ready(ConvForm form, std::size_t part, const EngineChoice& choice,
                                          std::shared_ptr<const OperationGraph> graph = nullptr) const;

  /// Frees the caches of all problems.
  static void forget();

private:
  struct Candidates;
  Candidates candidates(ConvForm form, std::size_t part, std::size_t most) const;
  std::vector<EngineCandidate> candidates_of(ConvForm form, std::size_t most, std::string& reason) const;
  /// Whether the steps should run after the convolution as a separate graph: with them the heuristics know
  /// this engine only, and for the convolution alone they prefer others.
  bool is_better_alone(ConvForm form, const EngineCandidate& candidate) const;
  std::string key(ConvForm form, std::size_t part) const;

  const ConvProblem& problem_;
  EngineRules rules_;
  cudnn::Handle handle_;
  std::string name_; ///< Device and problem.
};

} // namespace lanner::cuda
