#pragma once
// Converted models as SavedModels: engines are TRTEngineOp nodes.

#include <filesystem>
#include <optional>

#include "tf/convert/model_state.h"

namespace lanner::tf {

/// Writes a SavedModel. A node's native segment is a function of the library; without native_fallback it is
/// the graph in the attribute `serialized_segment`, from which engines are made. With `engines` its plan is
/// the asset `trt-serialized-engine.NAME`, that of a static engine with a function `serialized_segment`.
void write_converted(const ModelState& state, const std::filesystem::path& folder, bool engines);

/// The engine of a part from its plan: `inside` its node, where that is not null, else below `folder`;
/// nothing where there is none.
std::optional<Engine> loaded_engine(const PartPlan& plan, const std::string* inside,
                                    const std::filesystem::path& folder, const ConvertOptions& options);

} // namespace lanner::tf
