#pragma once
// How integers and small floats stand for reals.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <lanner/dtype.h>

namespace lanner {

class Value;
class Type;
struct Storage;

/// The scales of a quantisation, or its zero points: numbers that stay as they are, or a value.
struct QuantizationNumbers {
  std::vector<double> numbers; ///< One for all elements, or one for each index of the axis.
  /// Or a value of the region that the quantised value is of: a constant, which refitting may change, or one
  /// that the run makes. Its shape is that of ONNX's DequantizeLinear: one element, one for each index of the
  /// axis, or with blocks the quantised value's with as many along the axis as there are blocks.
  Value* value = nullptr;

  bool given() const noexcept { return value || !numbers.empty(); }
  std::size_t count() const; ///< Of `numbers`, or of a value of known size; 0: not known.
  friend bool operator==(const QuantizationNumbers&, const QuantizationNumbers&) = default;
};

/// real = (stored - zero) * scale, as ONNX's DequantizeLinear (opset 21 and later) means it, and stored =
/// saturate(round_half_even(real / scale) + zero), as QuantizeLinear does. MX formats are blocks of 32 with
/// scales of f8e8m0; NVFP4 is blocks of 16 whose scales are themselves stored quantised, as f8e4m3fn with one
/// scale.
struct Quantization {
  int axis = -1;          ///< Along which scales differ; -1: one scale for all.
  std::int64_t block = 0; ///< Indices of the axis that share a scale, the last block may be shorter; 0: each
                          ///< index has its own.
  QuantizationNumbers scale; ///< Given, finite, above 0.
  QuantizationNumbers zero;  ///< Of the stored type; not given: 0.

  friend bool operator==(const Quantization&, const Quantization&) = default;
};

/// What the text of a storage calls the values that it names; null: by their names.
using ValueNamer = std::function<std::string(const Value&)>;

/// `scale=0.1 zero=3`, `scale=%s zero=%z axis=1 block=32`, `scale=[0.1, 0.2] axis=0`.
std::string to_string(const Quantization& quantization, const ValueNamer& name = {});

/// Whether numbers can be stored so: integers of up to 32 bits and floats of up to 8.
bool can_be_quantized(DType stored);

/// Throws Error{invalid_argument}, one line without the value's name, unless `storage` can hold a value of
/// this type. Whether the values that it names are of the right region is not looked at.
void check_quantization(const Type& type, const Storage& storage);

/// The values that a storage reads its scales and zero points from, and what these read theirs from, each
/// once, nearest first.
std::vector<Value*> values_of(const Storage& storage);
/// The same storage with `map` of these. One without such values is given back as it is; its parent stays.
Storage with_values(Storage storage, const std::function<Value*(Value*)>& map);

} // namespace lanner
