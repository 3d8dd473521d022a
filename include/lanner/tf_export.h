#pragma once
// Files of a converted TensorFlow model besides its SavedModel.

#include <filesystem>

#include <lanner/tensorflow.h>

namespace lanner::tf {

/// Writes the plan of a model that is one engine, with the names of its signature. It is built for this file,
/// with the options of the conversion. Throws Error{unsupported} that names native nodes where there are
/// others; what Engine::build throws.
void save_plan(const Model& model, const std::filesystem::path& plan, const Control& control = {});

/// Writes the model as ONNX, with the names of its signature. Throws Error{unsupported} that names an
/// operator without a counterpart in ONNX.
void save_onnx(const Model& model, const std::filesystem::path& onnx);

/// Writes event files for TensorBoard into the folder's `before` and `after`: the graph as it was read,
/// functions inlined, and with the engines as TRTEngineOp nodes. Values of constants are left out.
void write_events(const Model& model, const std::filesystem::path& folder);

} // namespace lanner::tf
