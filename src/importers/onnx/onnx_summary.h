#pragma once
// What an ONNX file says of itself outside of its graph.

#include <cstddef>
#include <span>
#include <string>

namespace lanner::onnx {

/// `IR 8, opset 17 com.microsoft 1, by pytorch 2.4.0`; of a file that was cut off what comes before.
std::string summary(std::span<const std::byte> bytes);

} // namespace lanner::onnx
