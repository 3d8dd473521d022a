#pragma once
// How many steps plans have.

#include <cstddef>
#include <memory>
#include <utility>

#include "backends/backends.h"
#include "program/program.h"

namespace lanner::test {

/// Of the program of a lowered graph with the host's kernels. Throws what Program does.
inline std::size_t step_count(std::unique_ptr<Graph> lowered) {
  WeightStore constants;
  return Program(std::move(lowered), backends_for({}), {}, constants).steps().size();
}

} // namespace lanner::test
