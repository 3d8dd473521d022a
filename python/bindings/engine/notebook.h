#pragma once
// Representations of objects at a prompt and in a notebook.

#include <string>
#include <utility>
#include <vector>

#include <lanner/engine.h>
#include <lanner/task.h>

#include "calls/bindings.h"

namespace lanner::python {

/// Names and values of a table.
using Rows = std::vector<std::pair<std::string, std::string>>;

/// HTML-escaped text.
std::string html_escaped(std::string_view text);
/// A table with a caption, `lanner.Engine` and what comes after it in bold; `below` is markup.
nb::object html_table(std::string_view kind, std::string_view name, const Rows& rows,
                      std::string_view below = {});
/// Markup of a table with a row of headings.
std::string html_columns(const std::vector<std::string>& headings,
                         const std::vector<std::vector<std::string>>& rows);
/// Markup of a picture, at most so many pixels wide; empty without one.
std::string html_picture(const Image& image, std::int32_t widest);

/// Inputs, outputs, device and threads.
std::string engine_text(const Engine& engine);
nb::object engine_html(const Engine& engine);
std::string context_text(const Engine& engine, int threads);
nb::object context_html(const Engine& engine, int threads, std::uint64_t arena_bytes);
/// Type, shape and device, and some elements if they are in host memory.
nb::object tensor_text(nb::handle self);
/// The same, with least, greatest and mean.
nb::object tensor_html(nb::handle self);
nb::object preprocess_html(const Preprocess& spec);
nb::object verification_html(const Verification& found);
/// A task's result, with the labels of the task.
nb::object result_html(const TaskResult& result, const Task& task);

} // namespace lanner::python
