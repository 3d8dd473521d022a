#pragma once
// Helpers that make the rules of operands and attributes (graph/operands.h).

#include <cstdint>
#include <string>
#include <vector>

#include "graph/op.h"

namespace lanner::ops {

/// Sets of element types.
namespace dtypes {
inline constexpr DTypeSet floats{DType::f32, DType::f64, DType::f16, DType::bf16};
inline constexpr DTypeSet tiny_floats{DType::f4e2m1, DType::f8e4m3fn,   DType::f8e4m3fnuz,
                                      DType::f8e5m2, DType::f8e5m2fnuz, DType::f8e8m0};
/// Types of elementwise functions of reals: they compute in f32 or f64.
inline constexpr DTypeSet all_floats = floats | tiny_floats;
inline constexpr DTypeSet signed_integers{DType::i8, DType::i16, DType::i32, DType::i64};
inline constexpr DTypeSet unsigned_integers{DType::u8, DType::u16, DType::u32, DType::u64};
inline constexpr DTypeSet integers = signed_integers | unsigned_integers; ///< Of whole bytes.
inline constexpr DTypeSet wide_integers{DType::i32, DType::i64, DType::u32, DType::u64};
inline constexpr DTypeSet tiny_integers{DType::i4, DType::u4, DType::i2, DType::u2};
inline constexpr DTypeSet numbers = all_floats | integers; ///< Types of arithmetic.
inline constexpr DTypeSet booleans{DType::boolean};
inline constexpr DTypeSet strings{DType::string};
inline constexpr DTypeSet bytes{DType::i8, DType::u8};
/// Indices, sizes and axes: all integer types that inference reads.
inline constexpr DTypeSet counts = integers | tiny_integers | booleans;
inline constexpr DTypeSet any = DTypeSet::all();
} // namespace dtypes

/// One operand, of any form.
OperandSpec any_operand(std::string name);
/// A sequence of tensors of any type.
OperandSpec sequence_operand();
/// Exactly one element, in any number of axes.
OperandSpec one_element(std::string name, DTypeSet types, char group = 0);
/// A list of sizes, indices or axes, whose length inference checks.
OperandSpec list_of_counts(std::string name);
/// The operands of an elementwise operator, all of one type.
std::vector<OperandSpec> same_types(DTypeSet types, std::vector<std::string> names);

/// Rules for integers, and for each integer of a list.
AttributeRule between(std::int64_t least, std::int64_t most);
AttributeRule at_least(std::int64_t least);
AttributeRule any_integer(); ///< Checked by inference, or every value is valid.
AttributeRule axis_range();  ///< An axis that inference resolves.
AttributeRule yes_or_no();   ///< 0 or 1.
/// For windows: pads (`least` 0), strides, dilations and kernel sizes (1), one for each of `axes` axes.
AttributeRule window_range(std::int64_t least);
/// Rules for reals.
AttributeRule finite();
AttributeRule finite_from(double least);
AttributeRule no_nan(); ///< Any real but NaN.
/// Rules for the other kinds.
AttributeRule one_of(std::vector<std::string> choices);
AttributeRule any_text(); ///< Inference parses it.
AttributeRule element_types(DTypeSet types);
AttributeRule any_value(); ///< For types and tensors.

} // namespace lanner::ops
