#pragma once
// Symbolic sizes: integer expressions over named symbols.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lanner {

/// What is known of a symbol: its range over all runs and the value that builds tune for.
struct SymbolInfo {
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
  std::int64_t opt = -1; ///< -1 when not given.
  friend bool operator==(const SymbolInfo&, const SymbolInfo&) = default;
};
using Symbols = std::map<std::string, SymbolInfo, std::less<>>;
using Bindings = std::map<std::string, std::int64_t, std::less<>>;

class Dim;
using DimBindings = std::map<std::string, Dim, std::less<>>;

/// An integer expression in normal form: a sum of integer multiples of products of atoms, where an atom is a
/// symbol or a floor_div, mod, min or max of expressions. Equal expressions compare equal (`(N*4)/4 == N`,
/// `N+N == 2*N`) as far as the normal form recognises it. Immutable, cheap to copy. Overflow throws
/// Error{limit_exceeded}.
class Dim {
public:
  Dim(std::int64_t value = 0) : constant_(value) {}
  static Dim
  symbol(std::string name); ///< Name: [A-Za-z_][A-Za-z0-9_.]*; the caller maps other names to that.

  bool is_constant() const noexcept { return terms_ == nullptr; }
  std::int64_t value() const; ///< Throws Error{internal} unless is_constant().
  std::optional<std::int64_t> constant() const noexcept;
  std::optional<std::string> as_symbol() const; ///< The name when the expression is a single symbol.

  friend Dim operator+(const Dim&, const Dim&);
  friend Dim operator-(const Dim&, const Dim&);
  friend Dim operator*(const Dim&, const Dim&);
  friend Dim floor_div(const Dim&,
                       const Dim&); ///< Exact when the divisor divides every term; division by 0 throws.
  friend Dim ceil_div(const Dim&, const Dim&);
  friend Dim mod(const Dim&, const Dim&);
  friend Dim min(const Dim&, const Dim&);
  friend Dim max(const Dim&, const Dim&);
  friend bool operator==(const Dim&, const Dim&);

  Dim substitute(const DimBindings& values) const;
  Dim substitute(const Bindings& values) const;
  /// Throws Error{invalid_argument} naming the first symbol that has no value.
  std::int64_t evaluate(const Bindings& values) const;
  /// Smallest and largest value over the symbols' ranges (interval arithmetic; may be wider than exact
  /// bounds).
  SymbolInfo bounds(const Symbols& symbols) const;
  void collect_symbols(std::set<std::string>& into) const;

  /// `N`, `2*N + 1`, `(N + 1) // 2`, `max(N, 1)`; parse reads the same grammar (usual precedence,
  /// parentheses).
  std::string to_string() const;
  static Dim parse(std::string_view text); ///< Throws Error{bad_data}; nesting is bounded.

  struct Terms; ///< Normal form; private to dim.cpp.

private:
  friend struct DimAccess;
  std::int64_t constant_ = 0; ///< The value, when terms_ is null.
  std::shared_ptr<const Terms> terms_;
};

Dim floor_div(const Dim&, const Dim&);
Dim ceil_div(const Dim&, const Dim&);
Dim mod(const Dim&, const Dim&);
Dim min(const Dim&, const Dim&);
Dim max(const Dim&, const Dim&);

using Dims = std::vector<Dim>;
std::string to_string(const Dims& dims); ///< `[N, 3, 224, 224]`
Dim product(const Dims& dims);

} // namespace lanner
