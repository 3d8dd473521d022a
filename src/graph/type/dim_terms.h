#pragma once
// Normal form of Dim, shared by dim.cpp, dim_bounds.cpp and dim_text.cpp.

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/type/dim.h"

namespace lanner {

enum class AtomKind : std::uint8_t { symbol, floor_div, mod, min, max };

/// An indivisible part of the normal form: a symbol, or a function of two expressions.
struct Atom {
  AtomKind kind = AtomKind::symbol;
  std::string name; ///< For a symbol.
  Dim a, b;         ///< For a function.
};
using AtomPtr = std::shared_ptr<const Atom>;

/// `factor` times the product of `atoms`, which are in order; no atoms: a constant.
struct Term {
  std::int64_t factor = 1;
  std::vector<AtomPtr> atoms;
};

/// A sum of terms in order: higher degree first, so that a constant is last. No factor is 0, no product
/// occurs twice.
struct Dim::Terms {
  std::vector<Term> terms;
  std::uint32_t depth = 1; ///< Nesting depth of functions.
  std::uint32_t size = 1;  ///< Atoms and terms, counted as a tree.
};

/// Gives Dim's own files access to its normal form.
struct DimAccess {
  static std::vector<Term> terms(const Dim& dim);
  static const Dim::Terms* normal(const Dim& dim) { return dim.terms_.get(); }
  static Dim make(std::vector<Term> terms); ///< Sorts, merges and checks the limits.
};

std::strong_ordering compare(const Dim& a, const Dim& b);
std::strong_ordering compare(const Atom& a, const Atom& b);
std::strong_ordering compare_atoms(const Term& a,
                                   const Term& b); ///< Compares products only, not the factors.
Dim apply(AtomKind kind, const Dim& a, const Dim& b);

} // namespace lanner
