#pragma once
// Engines of lowered graphs that a test spells, kernels and all: nothing has tried these.

#include <array>
#include <memory>
#include <string_view>

#include "engine/plan_file.h"
#include "engine/state.h"
#include "graph/parsed.h"
#include "lowering/table_backend.h"

namespace lanner::test {

/// An engine of one thread that runs `lowered` by kernels of `backend`, which must outlive it.
inline Engine lowered_engine(std::string_view lowered, const Backend& backend, Device device = {}) {
  auto state = std::make_shared<EngineState>();
  state->graph = parsed(lowered);
  state->target.threads = 1;
  state->target.device = device;
  describe(*state);
  const std::array<const Backend*, 1> backends{&backend};
  state->adopt(
      state->opt, 1,
      {std::make_shared<const Program>(parsed(lowered), backends, state->target, state->constants()), {}, 1});
  return engine_of(std::move(state));
}

} // namespace lanner::test
