#pragma once
// Engines of lowered graphs on the fake driver, compared with their definitions.

#include <memory>
#include <vector>

#include <lanner/engine.h>

#include "engine/state.h"
#include "fake_driver/fake_gpu.h"
#include "fake_driver/queue.h"
#include "lowering/table_backend.h"

namespace lanner::test {

/// Has GPU kernels, and host kernels for one more operator.
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

/// The same graph, run by its definition.
std::unique_ptr<Graph> without_storages(const Graph& lowered);

/// Bitwise equality, on any device.
bool same_bytes(const Tensor& a, const Tensor& b);

/// An engine, its inputs, and the expected results by its definition.
struct GpuNetwork {
  explicit GpuNetwork(std::shared_ptr<EngineState> engine_state);

  Engine engine() const { return engine_of(state); }
  /// With bound copies of those inputs that are on the GPU.
  Context context(const ContextOptions& options = {}) const;
  /// Binds new copies.
  void bind(Context& context) const;
  /// Whether one more run gives the expected results.
  bool right(Context& context) const;
  /// The same with new copies of the inputs.
  bool right_anew(Context& context) const;
  /// How many runs are wrong, by `right` or `right_anew`: three runs of a new context for each of so many
  /// orders of the queued work.
  int wrong_runs(unsigned orders, bool (GpuNetwork::*is_right)(Context&) const) const;

  std::shared_ptr<EngineState> state;
  std::vector<Item> inputs, expected;
};

} // namespace lanner::test
