#pragma once
// Runs cases in a process of their own, so that one that ends it is told by name and the others go on.

#include <array>
#include <cstdint>
#include <string>

#include "hostile_operators/case_run.h"
#include "hostile_operators/cases.h"

namespace lanner::hostile {

struct DriverOptions {
  std::size_t first = 0, last = SIZE_MAX; ///< Numbers of cases, `last` behind the last one.
  std::size_t every = 1;                  ///< Only each so-manieth; seeds as they stand are taken all.
  double hang_seconds = 60;               ///< After which a case is ended.
  std::uint64_t spare_bytes = 512u << 20; ///< That a case may take beyond its limit, all told.
};

struct Summary {
  std::array<std::size_t, static_cast<std::size_t>(End::count)> ends{};
  std::size_t crashed = 0, hung = 0, large = 0, kernels = 0, invalid_seeds = 0;
  std::size_t findings() const;
  std::string text() const;
};

/// Findings go to standard output as they come, each with the case's number and its graph.
Summary drive(const Cases& cases, const DriverOptions& options);

} // namespace lanner::hostile
