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
  /// `negative`: by value that candidates read, whether it has negative values. Candidates whose weights
  /// cannot be quantised are left out.
  Int8Trials(const Graph& graph, const std::vector<passes::Int8Candidate>& candidates,
             const std::map<std::string, bool>& negative, const BuildOptions& options, const Target& target);

  /// Results of the candidates by name. `values`: of the values that they read; `thresholds`: of each.
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& values,
                                    const std::map<std::string, double>& thresholds, const Control& control);

private:
  std::map<std::string, bool> negative_;
  std::unique_ptr<GraphRun> run_; ///< Null without candidates.
};

} // namespace lanner
