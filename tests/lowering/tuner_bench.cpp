#include "lowering/tuner_bench.h"

#include <lanner/error.h>

#include "base/check.h"
#include "graph/parsed.h"

namespace lanner::test {

TunerBench::TunerBench(std::string_view ir, std::string_view words, std::string_view table, Queue queue)
    : graph(parsed(ir)), backend(words, table, std::move(queue)) {}

Node& TunerBench::node() const {
  return *graph->body().nodes().back();
}

Tactic TunerBench::tactic(std::string_view kernel) const {
  for (Tactic& one : backend.named_tactics(node(), target).tactics)
    if (one.kernel == kernel) return std::move(one);
  fail(ErrorCode::bad_data, "the table has no kernel {} for {}", kernel, node().label());
}

Cost TunerBench::cost(std::string_view kernel, double budget, double until) {
  Tuner tuner(target, budget, cache, constants, control);
  const Tactic one = tactic(kernel);
  const Candidate candidate{&backend, &one};
  return tuner.costs(node(), std::span(&candidate, 1), {.until = until}).front();
}

Cost TunerBench::vet(std::string_view kernel, double budget) {
  Tuner tuner(target, budget, cache, constants, control);
  tuner.set_vetting(600); // enough time to check on any machine
  return tuner.vet(node(), backend, tactic(kernel));
}

} // namespace lanner::test
