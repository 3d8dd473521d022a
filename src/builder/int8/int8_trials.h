#pragma once
// Runs each candidate alone on FP32's own values, with its operands rounded as INT8 stores them: what a node
// loses is then its own, whatever the nodes before it lost.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "builder/int8/graph_run.h"
#include "passes/int8/int8_nodes.h"

namespace lanner {

class Int8Trials {
public:
  struct Results {
    std::map<std::string, Tensor> nodes; ///< Results of the candidates, by name.
    /// Of what a candidate reads, means by channel; by the candidate's mean_name().
    std::map<std::string, Tensor> exact_means, rounded_means;
  };
  static std::string mean_name(const passes::Int8Candidate& candidate);

  /// `negative`: by value that candidates read, whether it has negative values. Candidates whose weights
  /// cannot be quantised are left out.
  Int8Trials(const Graph& graph, const std::vector<passes::Int8Candidate>& candidates,
             const std::map<std::string, bool>& negative, const BuildOptions& options, const Target& target);

  /// `values`: of the values that candidates read; `thresholds`: of each.
  Results run(const std::map<std::string, Tensor>& values, const std::map<std::string, double>& thresholds,
              const Control& control);

  /// Of a candidate whose weights can be quantised; else null.
  const passes::WeightSums* weights(const std::string& node) const {
    const auto found = weights_.find(node);
    return found == weights_.end() ? nullptr : &found->second;
  }

private:
  std::map<std::string, passes::WeightSums> weights_; ///< By node.
  std::map<std::string, bool> negative_;
  std::unique_ptr<GraphRun> run_; ///< Null without candidates.
};

} // namespace lanner
