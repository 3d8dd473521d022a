#pragma once
// Which types kernels may compute in.

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/dtype.h>

namespace lanner {

/// A type that certain nodes are to be computed in.
struct PrecisionPin {
  /// Of names: those of the model's nodes, or of values in the IR. `*` stands for any characters, `?` for
  /// one.
  std::string pattern;
  DType type = DType::f32; ///< f32, f16 or bf16.
};

/// Types of kernels where the model says f32; values that the model has in another type keep it. Of what is
/// allowed the tuner takes what is fastest. Sums of products are in f32 always.
struct Precision {
  /// Of f32, f16 and bf16. f32 is allowed beside them unless `strict`.
  std::set<DType> types{DType::f32};
  /// The first whose pattern matches a node counts for it; it need not be of `types`. A pattern that matches
  /// nothing is Error{invalid_argument}.
  std::vector<PrecisionPin> pins;
  /// Nothing but `types` and pins: a node that no kernel computes so is Error{unsupported}, which names it; a
  /// line says so else, for pins.
  bool strict = false;
  /// No kernels that compute by another formula: no Winograd, no Fourier, and no rounding of f32 operands
  /// (TF32).
  bool exact = false;

  Precision() = default;
  Precision(std::initializer_list<DType> types) : types(types) {}
  /// Whether any kernel may compute in it.
  bool allows(DType type) const;
  /// `fp32`, `fp16,fp32`: names of types, comma separated. Throws Error{invalid_argument}.
  static Precision parse(std::string_view text);
  /// `bf16,fp16,fp32`, as parse() reads it.
  std::string types_text() const;
};

/// `fp32`, `fp16`, `bf16`; throws Error{invalid_argument} for other names.
DType parse_precision_type(std::string_view name);
std::string_view precision_name(DType type);

} // namespace lanner
