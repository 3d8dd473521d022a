#pragma once
// Number of steps of a program.

#include <cstddef>
#include <memory>
#include <utility>

#include "backends/backends.h"
#include "program/program.h"

namespace lanner::test {

/// Steps of a lowered graph's program with the host's kernels. Throws as Program does.
inline std::size_t step_count(std::unique_ptr<Graph> lowered) {
  WeightStore constants;
  return Program(std::move(lowered), backends_for({}), {}, constants).steps().size();
}

} // namespace lanner::test
