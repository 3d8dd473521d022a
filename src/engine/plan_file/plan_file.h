#pragma once
// The plan file: a safetensors file that holds weights, portable IR and the lowered IR of what was tuned.

#include <filesystem>
#include <memory>

#include <lanner/source.h>

#include "engine/state.h"

namespace lanner {

inline constexpr int plan_version = 2;

/// Writes the engine and its opt variant beside `path`, then renames.
void save_plan(const EngineState& state, const std::filesystem::path& path, const SaveOptions& options);

/// Validates every byte as hostile, whatever its digest says. Throws Error{bad_data, unsupported}.
std::shared_ptr<EngineState> load_plan(const SourcePtr& source, const LoadOptions& options);

/// Before the name of an input in the metadata of a graph: what preprocessing gives it.
inline constexpr const char* preprocess_key = "lanner.preprocess.";
/// Fills what follows from the graph: bindings, opt shapes, preprocessing.
void describe(EngineState& state);

} // namespace lanner
