#pragma once
// Engines of lowered graphs on the fake driver, against their definitions.

#include <memory>
#include <vector>

#include <lanner/engine.h>

#include "engine/state.h"
#include "fake_driver/fake_gpu.h"
#include "fake_driver/queue.h"
#include "lowering/table_backend.h"

namespace lanner::test {

/// Has kernels of a GPU, and of a host for one operator more.
class GpuProgramTest : public GpuTest {
protected:
  std::vector<const Backend*> backends() const { return {&gpu_, &host_}; }

  TableBackend gpu_{"gpu on cuda:0",
                    "// matmul: cuda:0, cuda:0 -> cuda:0 = 1\n"
                    "// relu: cuda:0 -> cuda:0 = 1\n"
                    "// neg: cuda:0 -> cuda:0 = 1, in place 0\n"
                    "// add: cuda:0, cuda:0 -> cuda:0 = 1, in place 1\n"
                    "// mul: cuda:0, cuda:0 -> cuda:0 = 1, overwrites 1\n"
                    "// abs: cuda:0 -> cuda:0 = 1, fault unrecordable\n"
                    "// reorder: cuda:0 -> row = 1\n"
                    "// reorder: row -> cuda:0 = 1\n",
                    fake_queue};
  TableBackend host_{"host", "// sqrt: row -> row = 1\n", fake_queue};
};

/// The same graph as its definition has it.
std::unique_ptr<Graph> without_storages(const Graph& lowered);

/// In every bit, wherever they lie.
bool same_bytes(const Tensor& a, const Tensor& b);

/// An engine, inputs for it and what its definition makes of them.
struct GpuNetwork {
  explicit GpuNetwork(std::shared_ptr<EngineState> engine_state);

  Engine engine() const { return engine_of(state); }
  /// With copies of the inputs bound that lie on the GPU.
  Context context(const ContextOptions& options = {}) const;
  /// Binds new copies.
  void bind(Context& context) const;
  /// Whether one more run gives what it has to.
  bool right(Context& context) const;
  /// The same with new copies of the inputs.
  bool right_anew(Context& context) const;
  /// How many runs are wrong, by `right` or `right_anew`, of three by a new context in each of so many orders
  /// of what is queued.
  int wrong_runs(unsigned orders, bool (GpuNetwork::*is_right)(Context&) const) const;

  std::shared_ptr<EngineState> state;
  std::vector<Item> inputs, expected;
};

} // namespace lanner::test
