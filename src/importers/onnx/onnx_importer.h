#pragma once
// ONNX models to graphs.

#include "importers/importer.h"

namespace lanner::onnx {

/// Reads a model of any operator set from 1 to the newest; operators are converted to their newest version.
std::unique_ptr<Graph> import_onnx(const Content& content, const ImportOptions& options);

} // namespace lanner::onnx
