#pragma once
// Converted models as SavedModels: engines are TRTEngineOp nodes.

#include <filesystem>
#include <optional>

#include "tf/convert/model_state.h"

namespace lanner::tf {

/// Writes a SavedModel. A node's native segment is the graph in its attribute `serialized_segment`; with
/// `engines` its plan is the asset `trt-serialized-engine.NAME`.
void write_converted(const ModelState& state, const std::filesystem::path& folder, bool engines);

/// The engine of a part from its plan below `folder`; nothing where there is none.
std::optional<Engine> loaded_engine(const PartPlan& plan, const std::filesystem::path& folder,
                                    const ConvertOptions& options);

} // namespace lanner::tf
