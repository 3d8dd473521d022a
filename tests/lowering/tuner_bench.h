#pragma once
// A node, a backend with a table, and a tuner that tests the backend's kernels for the node.

#include <memory>
#include <string>
#include <string_view>

#include "lower/measure/tuner.h"
#include "lowering/table_backend.h"

namespace lanner::test {

/// Kernels are tested on the last node of a graph. Results are kept in `cache`.
class TunerBench {
public:
  TunerBench(std::string_view ir, std::string_view words, std::string_view table, Queue queue = {});

  Node& node() const;
  /// The tactic of this kernel, which must be offered.
  Tactic tactic(std::string_view kernel) const;
  /// The cost by a new tuner.
  Cost cost(std::string_view kernel, double budget, double until = 1e9);
  Cost vet(std::string_view kernel, double budget = 0);
  /// Number of kernel launches during `call`.
  template<typename Call>
  int launches(Call call) {
    const int before = backend.launches();
    call();
    return backend.launches() - before;
  }

  std::unique_ptr<Graph> graph;
  TableBackend backend;
  Target target;
  TimingCache cache;
  WeightStore constants;
  Control control;
};

} // namespace lanner::test
