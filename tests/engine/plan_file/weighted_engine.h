#pragma once
// Engines of networks in text with named source weights.

#include <string>
#include <string_view>

#include "engine/source_weights.h"
#include "graph/text/lexer.h"
#include "passes/pipeline.h"
#include "run/lowered_text.h"

namespace lanner::test {

/// Lowered without timing, with weights registered as in a build.
inline Engine weighted_engine(std::string_view text, Device device = {}, DType precision = DType::f32) {
  auto state = std::make_shared<EngineState>();
  auto graph = parsed(text);
  const WeightValues sources = weights_of(*graph, max_kept_source);
  run_passes(*graph);
  Graph& portable = *graph;
  state->graph = std::move(graph);
  learn_weights(*state, portable, sources);
  state->target.device = device;
  state->target.threads = 1;
  state->target.deterministic = true;
  state->target.isa = isa_of(device);
  state->target.host_isa = isa_of({});
  if (precision != DType::f32) state->target.precision.types.insert(precision);
  describe(*state);
  state->expect({});
  state->make_ahead(state->opt_variants(), {});
  return engine_of(std::move(state));
}

/// `%NAME: TYPE`, a source weight whose numbers depend on the seed.
inline std::string weight(std::string_view name, std::string_view type, int seed) {
  return fmt::format("  {}: {} = constant() {{weight = \"{}\", value = random({}, seed = {}, std = 0.3)}}\n",
                     value_name(name), type, name, type, seed);
}

/// The values of `weight()` in another engine's text.
inline WeightValues values_of(std::string_view text, const std::vector<std::string>& names) {
  WeightValues all = weights_of(*parsed(text)), wanted;
  for (const std::string& name : names) wanted.emplace(name, all.at(name));
  return wanted;
}

inline std::vector<Item> run(const Engine& engine, const std::vector<Item>& inputs) {
  Context context = engine.create_context();
  const auto got = context(named(engine, inputs));
  std::vector<Item> outputs;
  for (const Binding& output : engine.outputs()) outputs.push_back(got.at(output.name));
  return outputs;
}

/// Whether every element is the same, bit for bit.
inline void expect_equal(const std::vector<Item>& got, const std::vector<Item>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(got[i].tensor.as<float>(), want[i].tensor.as<float>()))
        << show(got[i]) << " and " << show(want[i]);
}

} // namespace lanner::test
