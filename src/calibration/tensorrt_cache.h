#pragma once
// Calibration caches of TensorRT.

#include <string_view>

#include <lanner/calibration.h>

namespace lanner {

/// Whether a text begins as such a cache: `TRT-8401-EntropyCalibration2`, the version and the calibrator.
bool is_tensorrt_cache(std::string_view text);

/// Reads one. Each line after the first is `name: 3c010a14`, the tensor's name, which may hold colons, and
/// the scale of i8, a float in hexadecimal digits of its bits (IEEE 754, most significant first): the
/// threshold is 127 times it. A scale of 0, which TensorRT writes for a tensor of zeros, becomes a threshold
/// of 1. Whether a tensor has negative values is not in the cache: all count as having some. Throws
/// Error{bad_data}.
CalibrationTable parse_tensorrt_cache(std::string_view text);

} // namespace lanner
