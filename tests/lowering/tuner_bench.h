#pragma once
// A node, a backend with a table and a tuner that tries the one on the other.

#include <memory>
#include <string>
#include <string_view>

#include "lower/measure/tuner.h"
#include "lowering/table_backend.h"

namespace lanner::test {

/// The last node of a graph is what kernels are tried on. What one tuner found out is kept in `cache`.
class TunerBench {
public:
  TunerBench(std::string_view ir, std::string_view words, std::string_view table, Queue queue = {});

  Node& node() const;
  /// The tactic of this kernel, which has to be offered.
  Tactic tactic(std::string_view kernel) const;
  /// A fresh tuner's answer.
  Cost cost(std::string_view kernel, double budget, double until = 1e9);
  Cost vet(std::string_view kernel, double budget = 0);
  /// How often kernels are launched meanwhile.
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
