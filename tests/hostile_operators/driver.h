#pragma once
// Runs cases in a separate process, so that one that ends it is reported by name and the others continue.

#include <array>
#include <cstdint>
#include <string>

#include "hostile_operators/case_run.h"
#include "hostile_operators/cases.h"

namespace lanner::hostile {

struct DriverOptions {
  std::size_t first = 0, last = SIZE_MAX; ///< Numbers of cases, `last` exclusive.
  std::size_t every = 1;                  ///< Only every Nth case; unmodified seeds are always run.
  double hang_seconds = 60;               ///< Time limit of a case.
  std::uint64_t spare_bytes = 512u << 20; ///< Memory that a case may take beyond its limit.
};

struct Summary {
  std::array<std::size_t, static_cast<std::size_t>(End::count)> ends{};
  std::size_t crashed = 0, hung = 0, large = 0, kernels = 0, invalid_seeds = 0;
  std::size_t findings() const;
  std::string text() const;
};

/// Findings are printed to standard output immediately, each with the case's number and its graph.
Summary drive(const Cases& cases, const DriverOptions& options);

} // namespace lanner::hostile
