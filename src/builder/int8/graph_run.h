#pragma once
// Runs a canonical graph in FP32 and gives values from its inside.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <lanner/engine.h>

#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// An engine of a copy of the graph, with kernels chosen by estimates, which are not timed.
class GraphRun {
public:
  /// `values`: of the graph, f32 tensors, which run() gives in addition to the outputs. Devices and threads
  /// are those of `target`.
  GraphRun(const Graph& graph, const std::vector<std::string>& values, const BuildOptions& options,
           const Target& target);
  ~GraphRun();
  GraphRun(const GraphRun&) = delete;

  struct Results {
    std::map<std::string, Tensor> values;  ///< By name, on the host, row-major.
    std::map<std::string, Tensor> outputs; ///< Of the graph, by name; those that are f32 tensors.
  };
  Results run(const std::map<std::string, Item>& inputs, const Control& control);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
