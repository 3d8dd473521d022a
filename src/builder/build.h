#pragma once
// Builds the state of an engine from a model, with the variants that a build makes ahead.

#include <filesystem>
#include <memory>

#include <lanner/engine.h>
#include <lanner/source.h>

#include "engine/state.h"

namespace lanner {

/// As Engine::build. `folder`: of the model's external data.
std::shared_ptr<EngineState> build_state(const SourcePtr& model, const BuildOptions& options,
                                         const std::filesystem::path& folder);

/// As calibrate().
CalibrationTable calibrated(const SourcePtr& model, const BuildOptions& options,
                            const std::filesystem::path& folder);

} // namespace lanner
