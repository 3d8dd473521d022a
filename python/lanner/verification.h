#pragma once
// Engine.verify of Python.

#include <lanner/engine.h>

#include "bindings.h"

namespace lanner::python {

/// As Python gives them.
struct VerifyArguments {
  nb::dict shapes, inputs;
  std::uint64_t seed = 0;
  int runs = 10, contexts = 2, threads = 0;
  nb::object reproducer; ///< A path or None.
  nb::object progress;
};
Verification verify(const Engine& engine, const VerifyArguments& arguments);

} // namespace lanner::python
