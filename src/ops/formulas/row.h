#pragma once
// Rows of formulas. A row's function is a generic lambda over an element type: its operands first, then its
// numbers. It may use what each of these types defines:
//
//   + - * / and unary -, literals, < <= > >= == !=, choose(condition, a, b)
//   multiply_add(a, b, c)         a * b + c, rounded once where the machine has that
//   at_least, at_most(x, bound)   `bound` beyond it, x where it is NaN
//   smaller, larger(x, y)         NaN where one is
//   abs sqrt floor ceil round (halves to even) exp expm1 log log1p (of finite numbers) tanh erf
//   pow sin cos tan asin acos atan sinh cosh asinh acosh atanh      from the C library, element by element
//
// The types: Number (number.h) for the reference, Elements (backends/elementwise/vector_elements.h) for the
// CPU's tiles, Symbol (ops/elementwise/formula.cpp) for CUDA source and for estimates. Files compiled for one
// instruction set include this: what is evaluated at run time is a template over the element type, so none of
// it is shared.

#include "ops/elementwise/formula.h"

namespace lanner::formulas {

/// How an operator treats integers.
enum class Integers : std::uint8_t {
  none,
  exact,   ///< In their own type; overflow wraps around.
  as_reals ///< As real numbers, truncated at the end.
};

template<int operand_count, int number_count, Integers taken, bool calls, typename Lambda>
struct Row {
  static constexpr int operands = operand_count, numbers = number_count;
  static constexpr Integers integers = taken; ///< Of the operator's reference kernel.
  static constexpr bool one_by_one = calls;   ///< The C library computes it.
  static_assert(operands <= max_formula_operands && numbers <= max_formula_numbers);
  using Function = Lambda;

  FormulaText text;

  /// The lambda's next number is this attribute's value.
  constexpr auto number(std::string_view attribute, double fallback) const {
    Row<operands, numbers + 1, integers, one_by_one, Lambda> more{text};
    more.text.numbers[numbers] = {attribute, fallback};
    more.text.number_count = numbers + 1;
    return more;
  }
  /// The lambda's next number is not an attribute: kernels set it.
  constexpr auto number() const { return number({}, 0); }
  /// The operator accepts integers too, which wrap around.
  constexpr Row<operands, numbers, Integers::exact, one_by_one, Lambda> with_integers() const {
    return {text};
  }
  /// The operator accepts integers too, as real numbers; the result is truncated.
  constexpr Row<operands, numbers, Integers::as_reals, one_by_one, Lambda> with_integers_as_reals() const {
    return {text};
  }
  /// CPUs compute it element by element, by calls of the C library.
  constexpr Row<operands, numbers, integers, true, Lambda> by_library() const { return {text}; }
  /// Another row applies where the operator's string attribute has this value.
  constexpr Row but(std::string_view attribute, std::string_view value, std::string_view formula) const {
    Row more = *this;
    more.text.choice = {attribute, value, formula};
    return more;
  }
};

template<int operands, typename Lambda>
constexpr Row<operands, 0, Integers::none, false, Lambda> row_of(std::string_view name) {
  return {{.name = name, .operands = operands}};
}
template<typename Lambda>
constexpr auto unary(std::string_view name, Lambda /*function*/) {
  return row_of<1, Lambda>(name);
}
template<typename Lambda>
constexpr auto binary(std::string_view name, Lambda /*function*/) {
  return row_of<2, Lambda>(name);
}
template<typename Lambda>
constexpr auto ternary(std::string_view name, Lambda /*function*/) {
  return row_of<3, Lambda>(name);
}

template<typename... Rows>
struct List {
  static constexpr std::size_t size = sizeof...(Rows);
  std::array<FormulaText, size> texts;
};
template<typename... Rows>
constexpr List<Rows...> list(Rows... rows) {
  return {{rows.text...}};
}

template<typename... As, typename... Bs>
constexpr List<As..., Bs...> operator+(const List<As...>& a, const List<Bs...>& b) {
  List<As..., Bs...> both{};
  for (std::size_t i = 0; i < a.size; ++i) both.texts[i] = a.texts[i];
  for (std::size_t i = 0; i < b.size; ++i) both.texts[a.size + i] = b.texts[i];
  return both;
}

/// Applies the row's function to elements; unused operands and numbers are ignored.
template<typename Row, typename V>
constexpr auto evaluate(V x, [[maybe_unused]] V y, [[maybe_unused]] V z, [[maybe_unused]] V p,
                        [[maybe_unused]] V q) {
  constexpr typename Row::Function function{};
  constexpr int numbers = Row::numbers;
  if constexpr (Row::operands == 1) {
    if constexpr (numbers == 0)
      return function(x);
    else if constexpr (numbers == 1)
      return function(x, p);
    else
      return function(x, p, q);
  } else if constexpr (Row::operands == 2) {
    if constexpr (numbers == 0)
      return function(x, y);
    else if constexpr (numbers == 1)
      return function(x, y, p);
    else
      return function(x, y, p, q);
  } else {
    if constexpr (numbers == 0)
      return function(x, y, z);
    else if constexpr (numbers == 1)
      return function(x, y, z, p);
    else
      return function(x, y, z, p, q);
  }
}

} // namespace lanner::formulas
