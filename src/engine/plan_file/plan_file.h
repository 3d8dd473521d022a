#pragma once
// The plan file: a safetensors file with weights, portable IR and the lowered IR of tuned variants.

#include <filesystem>
#include <memory>

#include <lanner/source.h>

#include "engine/state.h"

namespace lanner {

inline constexpr int plan_version = 2;

/// Writes the engine and its variants to a temporary file next to `path`, then renames it.
void save_plan(const EngineState& state, const std::filesystem::path& path, const SaveOptions& options);

/// Validates every byte as untrusted, even if the digest matches. Throws Error{bad_data, unsupported}.
std::shared_ptr<EngineState> load_plan(const SourcePtr& source, const LoadOptions& options);

/// Prefix of an input's name in the metadata of a graph: its preprocessing.
inline constexpr const char* preprocess_key = "lanner.preprocess.";
/// Sets the members derived from the graph: bindings, opt shapes, preprocessing.
void describe(EngineState& state);

} // namespace lanner
