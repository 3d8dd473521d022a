#pragma once
// Valid operands and attributes of an operator. Rules are part of OpDef and are checked in one function,
// before the operator's own inference and so before its kernels see a node. docs/decisions/038 says why.

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/dtype.h>

namespace lanner {

class InferContext;

/// A set of element types.
class DTypeSet {
public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(DType type) : bits_(1U << static_cast<unsigned>(type)) {}
  constexpr DTypeSet(std::initializer_list<DType> types) {
    for (const DType type : types) bits_ |= DTypeSet(type).bits_;
  }
  constexpr bool has(DType type) const { return (bits_ & DTypeSet(type).bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr DTypeSet operator|(DTypeSet a, DTypeSet b) {
    a.bits_ |= b.bits_;
    return a;
  }
  static constexpr DTypeSet all() {
    DTypeSet every;
    every.bits_ = (std::uint32_t{1} << dtype_count) - 1;
    return every;
  }
  friend constexpr bool operator==(DTypeSet, DTypeSet) = default;
  /// `f32, f64, i8 to u64 or bool`: types in the order of DType, several neighbours as a range.
  std::string to_string() const;

private:
  std::uint32_t bits_ = 0;
};
static_assert(dtype_count < 32);

/// Sizes of an operand, as text: one letter per axis, where the same letter means the same size in all
/// operands of the node; a number is that size, `_` any size, and `...` any number of axes. `N C ...` has
/// rank 2 or more, the empty text is a scalar. Without a pattern every shape is valid.
class ShapePattern {
public:
  ShapePattern() = default;
  ShapePattern(
      const char* text); ///< Error{internal} for an invalid text. NOLINT(google-explicit-constructor)
  /// Exactly one element, in any number of axes.
  static ShapePattern one();

  bool any() const { return kind_ == Kind::any; }
  bool is_one() const { return kind_ == Kind::one; }
  std::string_view before() const { return std::string_view(axes_).substr(0, split_); }
  std::string_view after() const { return std::string_view(axes_).substr(split_); }
  bool open() const { return open_; } ///< Whether it has a `...`, between `before` and `after`.
  std::string to_string() const;

private:
  enum class Kind : std::uint8_t { any, axes, one };
  Kind kind_ = Kind::any;
  bool open_ = false;
  std::size_t split_ = 0;
  std::string axes_; ///< A letter, digit or `_` for each named axis.
};

/// The kind of an operand, for operators that take more than tensors.
enum class OperandForm : std::uint8_t { tensor, sequence, optional, item }; ///< `item`: any of them.

/// One operand of an operator. The last one of a variadic operator also describes all that follow.
struct OperandSpec {
  std::string name;
  DTypeSet types; ///< For a sequence or an optional: of its elements.
  char group = 0; ///< Operands with the same letter have the same element type.
  ShapePattern shape = {};
  OperandForm form = OperandForm::tensor;
};

/// Valid values of an attribute; ops/table/rules.h has helpers for them. User-defined operators have none.
struct AttributeRule {
  bool stated = false;
  std::int64_t least = std::numeric_limits<std::int64_t>::min(),
               most =
                   std::numeric_limits<std::int64_t>::max(); ///< Bounds of an integer, and of each in a list.
  double least_real = -std::numeric_limits<double>::infinity(),
         most_real = std::numeric_limits<double>::infinity(); ///< Likewise of reals; NaN is invalid.
  std::size_t min_count = 0, max_count = std::numeric_limits<std::size_t>::max(); ///< Length of a list.
  std::vector<std::string> choices; ///< Values of a string; empty: any.
  DTypeSet types = DTypeSet::all(); ///< For an element type, and for a tensor.

  AttributeRule counted(std::size_t min,
                        std::size_t max) const; ///< The same rule with these bounds on the length.
};

/// Checks the node's operands and attributes against its operator's rules. Error{invalid_argument}, one line,
/// without the node's name. Only constant sizes are compared.
void check_operands(const InferContext& context);

} // namespace lanner
