#pragma once
// Converted models as SavedModels: engines are TRTEngineOp nodes.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tf/convert/model_state.h"

namespace lanner::tf {

/// Writes a SavedModel. A node's native segment is a function of the library; without native_fallback it is
/// the graph in the attribute `serialized_segment`, from which engines are made. With `engines` its plan is
/// the asset `trt-serialized-engine.NAME`, that of a static engine with a function `serialized_segment`.
void write_converted(const ModelState& state, const std::filesystem::path& folder, bool engines);

/// Writes a SavedModel without engines, whose nodes are all TensorFlow's, with the signature `calibration`:
/// it gives `values` of the flat graph, each by its name, and changes variables as the model does.
void write_native(const ModelState& state, const std::vector<std::string>& values,
                  const std::filesystem::path& folder);

/// The engine of a part from its plan: `inside` its node, where that is not null, else below `folder`;
/// nothing where there is none.
std::optional<Engine> loaded_engine(const PartPlan& plan, const std::string* inside,
                                    const std::filesystem::path& folder, const ConvertOptions& options);

} // namespace lanner::tf
