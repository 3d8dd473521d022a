#pragma once
// Extracts one node of a lowered network as a model.

#include <filesystem>
#include <memory>
#include <span>

#include "builder/verification.h"
#include "graph/graph.h"

namespace lanner {

/// A portable graph of the node: fused nodes are a chain again, constants are row-major, other operands are
/// inputs with their names, without kernels and storages.
std::unique_ptr<Graph> graph_of(const DifferingNode& found);

/// File of the operands of a reproducer: `conv.inputs.safetensors` for `conv.onnx`.
std::filesystem::path operands_path(const std::filesystem::path& model);

/// Writes the model, and its operands next to it. Those of types that safetensors lacks become constants of
/// the model. Throws Error{unsupported} where ONNX has no form for the node, before anything is written.
void write_reproducer(const DifferingNode& found, const std::string& reason,
                      const std::filesystem::path& model);

} // namespace lanner
