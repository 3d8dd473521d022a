#pragma once
// Engines of lowered graphs in text, with unchecked kernels.

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "engine/plan_file/plan_file.h"
#include "engine/state.h"
#include "graph/parsed.h"
#include "lowering/table_backend.h"

namespace lanner::test {

/// The shared state of an engine of this graph, without a program.
inline std::shared_ptr<EngineState> engine_state(std::unique_ptr<const Graph> graph, const Target& target) {
  auto state = std::make_shared<EngineState>();
  state->graph = std::move(graph);
  state->target = target;
  describe(*state);
  return state;
}

/// Sets its program for opt shapes and one thread.
inline void set_program(const EngineState& state, std::shared_ptr<const Program> program) {
  state.adopt(*state.opt, 1, {std::move(program), {}, 1});
}

/// An engine of one thread that runs `lowered` with kernels of `backend`, which must outlive it.
inline Engine lowered_engine(std::string_view lowered, const Backend& backend, Device device = {}) {
  Target target;
  target.threads = 1;
  target.device = device;
  auto state = engine_state(parsed(lowered), target);
  const std::array<const Backend*, 1> backends{&backend};
  set_program(*state,
              std::make_shared<const Program>(parsed(lowered), backends, state->target, state->constants()));
  return engine_of(std::move(state));
}

} // namespace lanner::test
