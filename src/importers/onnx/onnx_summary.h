#pragma once
// Header information of an ONNX file, outside of its graph.

#include <cstddef>
#include <span>
#include <string>

namespace lanner::onnx {

/// `IR 8, opset 17 com.microsoft 1, by pytorch 2.4.0`; for a truncated file, the part that could be read.
std::string summary(std::span<const std::byte> bytes);

} // namespace lanner::onnx
