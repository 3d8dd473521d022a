#pragma once
// Formulas of elementwise operators: a result element as a function of the operand elements at the same
// index. Each is written once, as a row of a list in ops/formulas/, and serves the reference kernel, the
// CPU's tiles and the source of GPU kernels.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lanner {

class AttributeMap;

/// The cost class of a formula's most expensive step.
enum class FormulaWeight : std::uint8_t {
  light,   ///< Arithmetic.
  heavy,   ///< A polynomial, such as an exponential.
  library, ///< A C library function, called for each element.
};

/// A real attribute that a formula reads, rounded to f32 as stored in ONNX files.
struct FormulaNumber {
  std::string_view attribute; ///< Empty where there is none.
  double fallback = 0;
};

/// Another formula to use where a string attribute of the operator has this value.
struct FormulaChoice {
  std::string_view attribute, value, formula;
};

inline constexpr int max_formula_operands = 3, max_formula_numbers = 2;

/// The contents of a row.
struct FormulaText {
  std::string_view name; ///< The operator's name, if it defines one.
  int operands = 1, number_count = 0;
  std::array<FormulaNumber, max_formula_numbers> numbers{};
  FormulaChoice choice{};
};

struct Formula : FormulaText {
  FormulaWeight weight = FormulaWeight::light;
  bool truth = false;    ///< The result is boolean: 0 or 1.
  std::string cuda;      ///< An expression of floats {x}, {y}, {z} (operands), {p} and {q} (numbers).
  std::size_t index = 0; ///< Index among all formulas, also in a backend's table.
};

/// Values of a formula's numbers; 0 for unused ones.
struct Numbers {
  float p = 0, q = 0;
  bool operator==(const Numbers&) const = default;
};

/// Every formula, by index. Thread-safe.
std::span<const Formula> all_formulas();
/// Null where there is no row of this name.
const Formula* find_formula(std::string_view name);
/// Error{internal} where there is no row of this name.
const Formula& formula(std::string_view name);

/// The formula that applies to a node of an operator with `formula`, and the numbers from its attributes.
struct FormulaCall {
  const Formula* formula;
  Numbers numbers;
};
FormulaCall call_of(const Formula& formula, const AttributeMap& attributes);

} // namespace lanner
