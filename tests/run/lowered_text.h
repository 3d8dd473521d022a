#pragma once
// Engines of networks in text, lowered without timing, compared with the interpreter.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/backends.h"
#include "engine/plan_file/plan_file.h"
#include "engine/state.h"
#include "graph/parsed.h"
#include "ops/interpreter/interpreter.h"
#include "ops/node_run.h"

namespace lanner::test {

/// Lowered at the first run, without timing.
inline Engine engine_of(std::string_view text, int threads, Device device, bool deterministic) {
  auto state = std::make_shared<EngineState>();
  state->graph = parsed(text);
  state->target.threads = threads;
  state->target.deterministic = deterministic;
  state->target.device = device;
  state->target.isa = isa_of(device);
  state->target.host_isa = isa_of({});
  describe(*state);
  return engine_of(std::move(state));
}
/// Deterministic on the host only: versions of fake libraries are not trusted.
inline Engine engine_of(std::string_view text, int threads = 1, Device device = {}) {
  return engine_of(text, threads, device, device.is_host());
}

inline std::map<std::string, Item> named(const Engine& engine, const std::vector<Item>& inputs) {
  std::map<std::string, Item> map;
  for (std::size_t i = 0; i < inputs.size(); ++i) map[engine.inputs()[i].name] = inputs[i];
  return map;
}

inline void expect_same(const Item& got, const Item& want, const std::string& what) {
  if (want.is_sequence()) {
    ASSERT_TRUE(got.is_sequence() && got.items->size() == want.items->size()) << what;
    for (std::size_t i = 0; i < want.items->size(); ++i)
      expect_same((*got.items)[i], (*want.items)[i], fmt::format("{}[{}]", what, i));
    return;
  }
  if (!want.tensor.defined() || want.tensor.dtype() != DType::f32) {
    EXPECT_EQ(show(got), show(want)) << what;
    return;
  }
  ASSERT_EQ(got.tensor.shape(), want.tensor.shape()) << what;
  const auto a = got.tensor.as<float>(), b = want.tensor.as<float>();
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], 1e-5f + 1e-4f * std::abs(b[i])) << what << " at " << i;
}

/// Expects two runs in a row to agree with the definition.
inline void expect_as_defined(const Engine& engine, const std::vector<Item>& inputs) {
  const auto want = run_reference(*state_of(engine).graph, inputs);
  Context context = engine.create_context();
  for (int run = 0; run < 2; ++run) {
    const auto got = context(named(engine, inputs));
    for (std::size_t i = 0; i < want.size(); ++i) {
      const std::string& name = engine.outputs()[i].name;
      expect_same(got.at(name), want[i], fmt::format("{}, run {}", name, run));
    }
  }
}

inline Tensor waves(const Shape& shape, float scale = 1) {
  Tensor tensor = Tensor::allocate(DType::f32, shape);
  float next = 0;
  for (float& element : tensor.as<float>()) element = scale * std::sin(next += 0.7f);
  return tensor;
}

/// Whether a node of the lowered graph, at any depth, has this tactic's backend and kind.
inline bool any_node(const Region& region, std::string_view kind, std::string_view backend) {
  return std::ranges::any_of(region.nodes(), [&](const auto& node) {
    return (node->kind() == kind && node->tactic.backend == backend) ||
           std::ranges::any_of(node->regions(),
                               [&](const auto& inner) { return any_node(*inner, kind, backend); });
  });
}

inline const Graph& lowered(const Engine& engine) {
  return state_of(engine).shown().variant->program->graph();
}

} // namespace lanner::test
