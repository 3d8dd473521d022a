#pragma once
// All hostile cases, with numbers that are the same in every run.

#include <cstdint>
#include <string>
#include <vector>

#include "hostile_operators/mutations.h"
#include "hostile_operators/seed.h"

namespace lanner::hostile {

struct Case {
  std::string name; ///< `conv (seed 112): operand 1: f16`.
  Seed seed;
  bool untouched = false; ///< An unmodified seed, which must run.
};

/// Cases of a table's operators: each seed itself, each mutation alone, and `mixed` random combinations of
/// two to four of them, starting with the random seed `start`.
class Cases {
public:
  /// Throws std::runtime_error where an operator has no seed, or a seed names no operator.
  Cases(std::vector<Seed> seeds, const OpTable& ops, std::size_t mixed, std::uint64_t start);

  std::size_t count() const { return first_.back(); }
  std::size_t operators() const { return operators_; }
  Case at(std::size_t number) const;

private:
  Case drawn(std::size_t s, std::size_t number) const;

  std::vector<Seed> seeds_;
  std::vector<std::vector<Mutation>> mutations_; ///< By seed.
  std::vector<std::size_t> first_; ///< Number of each seed's first case, and one past the last case.
  std::size_t operators_;
  std::uint64_t start_;
};

} // namespace lanner::hostile
