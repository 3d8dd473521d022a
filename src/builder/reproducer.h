#pragma once
// One node of a lowered network as a model of its own.

#include <filesystem>
#include <memory>
#include <span>

#include "builder/verification.h"
#include "graph/graph.h"

namespace lanner {

/// The node in a graph of its own, as the model says it: what was fused is a chain of nodes, constants are
/// row-major, other operands are inputs under their names, and nothing is said of kernels and storage.
std::unique_ptr<Graph> graph_of(const DifferingNode& found);

/// Where the operands are kept that belong to a reproducer: `conv.inputs.safetensors` for `conv.onnx`.
std::filesystem::path operands_path(const std::filesystem::path& model);

/// Writes the model, and its operands beside it. Those of types that safetensors lacks become constants of
/// the model. Throws Error{unsupported} where ONNX has no form for the node, before anything is written.
void write_reproducer(const DifferingNode& found, const std::string& reason,
                      const std::filesystem::path& model);

} // namespace lanner
