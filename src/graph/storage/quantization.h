#pragma once
// Quantisation: how integers and small floats represent reals.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <lanner/dtype.h>

namespace lanner {

class Value;
class Type;
struct Storage;

/// The scales of a quantisation, or its zero points: constant numbers, or a value.
struct QuantizationNumbers {
  std::vector<double> numbers; ///< One for all elements, or one for each index of the axis.
  /// Or a value of the quantised value's region: a constant, which refitting may change, or one computed by
  /// the run. Its shape is as in ONNX's DequantizeLinear: one element, one for each index of the axis, or
  /// with blocks the quantised value's shape with the number of blocks along the axis.
  Value* value = nullptr;

  bool given() const noexcept { return value || !numbers.empty(); }
  std::size_t count() const; ///< Of `numbers`, or of a value of known size; 0: unknown.
  friend bool operator==(const QuantizationNumbers&, const QuantizationNumbers&) = default;
};

/// real = (stored - zero) * scale, as in ONNX's DequantizeLinear (opset 21 and later), and stored =
/// saturate(round_half_even(real / scale) + zero), as in QuantizeLinear. MX formats are blocks of 32 with
/// scales of f8e8m0; NVFP4 is blocks of 16 whose scales are themselves stored quantised, as f8e4m3fn with one
/// scale.
struct Quantization {
  int axis = -1;          ///< The axis along which scales differ; -1: one scale for all.
  std::int64_t block = 0; ///< Indices of the axis that share a scale, the last block may be shorter; 0: each
                          ///< index has its own.
  QuantizationNumbers scale; ///< Required, finite, above 0.
  QuantizationNumbers zero;  ///< Of the stored type; absent: 0.

  friend bool operator==(const Quantization&, const Quantization&) = default;
};

/// Names values in the text of a storage; null: their own names.
using ValueNamer = std::function<std::string(const Value&)>;

/// `scale=0.1 zero=3`, `scale=%s zero=%z axis=1 block=32`, `scale=[0.1, 0.2] axis=0`.
std::string to_string(const Quantization& quantization, const ValueNamer& name = {});

/// Whether numbers can be stored quantised in this type: integers of up to 32 bits and floats of up to 8.
bool can_be_quantized(DType stored);

/// Throws Error{invalid_argument}, one line without the value's name, unless `storage` can hold a value of
/// this type. Does not check that the values it refers to are in the right region.
void check_quantization(const Type& type, const Storage& storage);

/// The values that a storage reads its scales and zero points from, and recursively those of these values,
/// each once, nearest first.
std::vector<Value*> values_of(const Storage& storage);
/// The same storage with `map` applied to these values. Returned unchanged without any; its parent stays.
Storage with_values(Storage storage, const std::function<Value*(Value*)>& map);

} // namespace lanner
