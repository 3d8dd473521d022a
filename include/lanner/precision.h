#pragma once
// Element types that kernels may compute in.

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/dtype.h>

namespace lanner {

/// A compute type for certain nodes.
struct PrecisionPin {
  /// Matches names of the model's nodes, or of values in the IR. `*` matches any characters, `?` one.
  std::string pattern;
  DType type = DType::f32; ///< f32, f16, bf16 or i8.
};

/// Compute types of kernels where the model has f32; values of other types keep theirs. The tuner uses the
/// fastest of the allowed types. Sums of products are always in f32.
struct Precision {
  /// Of f32, f16, bf16 and i8. f32 is allowed in addition unless `strict`. i8 is for convolutions and
  /// products, whose operands are then stored in 8 bits: see BuildOptions::calibration. A model that was
  /// quantised already is computed in integers without it.
  std::set<DType> types{DType::f32};
  /// The first pattern that matches a node applies; its type need not be in `types`. A pattern that matches
  /// nothing is Error{invalid_argument}.
  std::vector<PrecisionPin> pins;
  /// Require `types` and pins: a node that no kernel computes so is Error{unsupported}, which names it. If
  /// false, an unmet pin is logged.
  bool strict = false;
  /// Exclude kernels with another formula: Winograd, FFT, and those that round f32 operands (TF32).
  bool exact = false;

  Precision() = default;
  Precision(std::initializer_list<DType> types) : types(types) {}
  /// Whether any kernel may compute in this type.
  bool allows(DType type) const;
  /// `fp32`, `fp16,fp32`: names of types, comma separated. Throws Error{invalid_argument}.
  static Precision parse(std::string_view text);
  /// `bf16,fp16,fp32`, in the form that parse() reads.
  std::string types_text() const;
};

/// `fp32`, `fp16`, `bf16`, `int8`; throws Error{invalid_argument} for other names.
DType parse_precision_type(std::string_view name);
std::string_view precision_name(DType type);

} // namespace lanner
