#pragma once
// ONNX files to parse trees (onnx.proto of IR version 3 to 13).

#include <lanner/source.h>

#include "importers/import_graph.h"
#include "importers/importer.h"

namespace lanner::onnx {

/// Whether the first bytes look like an ONNX model: a protobuf message whose fields have ONNX's numbers and
/// wire types.
bool looks_like_onnx(std::span<const std::byte> bytes);

/// Reads a model. Tensors are views of the content's memory where possible; external data is read from the
/// options' folder.
ImportModel read_onnx(const Content& content, const ImportOptions& options);

} // namespace lanner::onnx
