#pragma once
// Engine.verify of Python.

#include <span>

#include <lanner/engine.h>

#include "calls/bindings.h"
#include "calls/keywords.h"

namespace lanner::python {

/// Its keyword-only arguments.
std::span<const Keyword> verify_keywords();
/// Runs it with `shapes` and `inputs` by input name, and those keywords.
Verification verify(const Engine& engine, const nb::dict& shapes, const nb::dict& inputs,
                    const nb::kwargs& others);

} // namespace lanner::python
