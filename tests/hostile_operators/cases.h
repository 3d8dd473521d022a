#pragma once
// All hostile cases under numbers, the same in every run.

#include <cstdint>
#include <string>
#include <vector>

#include "hostile_operators/mutations.h"
#include "hostile_operators/seed.h"

namespace lanner::hostile {

struct Case {
  std::string name; ///< `conv (seed 112): operand 1: f16`.
  Seed seed;
  bool untouched = false; ///< A seed itself, which has to run.
};

/// Cases of a table's operators: of each seed itself, each mutation alone, and `mixed` draws of two to four
/// of them together by random numbers that begin with `start`.
class Cases {
public:
  /// Throws std::runtime_error where an operator has no seed, or a seed has no operator.
  Cases(std::vector<Seed> seeds, const OpTable& ops, std::size_t mixed, std::uint64_t start);

  std::size_t count() const { return first_.back(); }
  std::size_t operators() const { return operators_; }
  Case at(std::size_t number) const;

private:
  Case drawn(std::size_t s, std::size_t number) const;

  std::vector<Seed> seeds_;
  std::vector<std::vector<Mutation>> mutations_; ///< By seed.
  std::vector<std::size_t> first_;               ///< Number of each seed's first case, and behind the last.
  std::size_t operators_;
  std::uint64_t start_;
};

} // namespace lanner::hostile
