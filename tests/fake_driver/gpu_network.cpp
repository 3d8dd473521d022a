#include "fake_driver/gpu_network.h"

#include <cstring>
#include <utility>

#include "ir_cases.h"
#include "ops/interpreter/interpreter.h"

namespace lanner::test {

std::unique_ptr<Graph> without_storages(const Graph& lowered) {
  auto graph = lowered.clone();
  for (const auto& input : graph->body().parameters()) input->storage = {};
  for (const auto& node : graph->body().nodes())
    for (const auto& output : node->outputs()) output->storage = {};
  return graph;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  const Tensor p = a.to({}), q = b.to({});
  return p.bytes() == q.bytes() && std::memcmp(p.data(), q.data(), p.bytes()) == 0;
}

GpuNetwork::GpuNetwork(std::shared_ptr<EngineState> engine_state)
    : state(std::move(engine_state)), inputs(random_inputs(*state->graph)),
      expected(run_reference(*state->graph, inputs)) {}

Context GpuNetwork::context(const ContextOptions& options) const {
  Context made = engine().create_context(options);
  bind(made);
  return made;
}

void GpuNetwork::bind(Context& context) const {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    context.bind(state->inputs[i].name, Item(inputs[i].tensor.to(gpu_device)));
}

bool GpuNetwork::right(Context& context) const {
  context.run();
  for (std::size_t o = 0; o < expected.size(); ++o)
    if (!same_bytes(context.output(state->outputs[o].name).tensor, expected[o].tensor)) return false;
  return true;
}

bool GpuNetwork::right_anew(Context& context) const {
  bind(context);
  return right(context);
}

int GpuNetwork::wrong_runs(unsigned orders, bool (GpuNetwork::*is_right)(Context&) const) const {
  int wrong = 0;
  for (unsigned seed = 1; seed <= orders; ++seed) {
    Context made = context();
    fake_cuda_defer(seed);
    for (int run = 0; run < 3; ++run) wrong += !(this->*is_right)(made);
    fake_cuda_defer(0);
  }
  return wrong;
}

} // namespace lanner::test
