#pragma once
// What objects show of themselves at a prompt and in a notebook.

#include <string>

#include <lanner/engine.h>

#include "bindings.h"

namespace lanner::python {

/// Inputs, outputs, device and threads.
std::string engine_text(const Engine& engine);
/// The same as a table.
nb::object engine_html(const Engine& engine);
std::string context_text(const Engine& engine, int threads);
/// Some of its numbers where they are in host memory, type, shape and device.
nb::object tensor_text(nb::handle self);

} // namespace lanner::python
