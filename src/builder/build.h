#pragma once
// From a model to the state of an engine, with the variants that a build makes ahead.

#include <filesystem>
#include <memory>

#include <lanner/engine.h>
#include <lanner/source.h>

#include "engine/state.h"

namespace lanner {

/// As Engine::build. `folder`: where the model may keep data beside it.
std::shared_ptr<EngineState> build_state(const SourcePtr& model, const BuildOptions& options,
                                         const std::filesystem::path& folder);

} // namespace lanner
