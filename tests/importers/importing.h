#pragma once
// Imports files from memory and runs the result by the operators' definitions.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <lanner/error.h>
#include <lanner/limits.h>
#include <lanner/tensor.h>

#include "graph/graph.h"

namespace lanner::test {

std::unique_ptr<Graph> imported(std::string_view file, const std::filesystem::path& folder = {},
                                const Limits& limits = {});

/// The graph's text, or the importer's error: `bad_data: ...`. A message of several lines or an internal
/// error fails the test.
std::string outcome(std::string_view file, const std::filesystem::path& folder = {},
                    const Limits& limits = {});

/// Runs the first output on `inputs`; `f32[2](1, 2)`.
std::string result(std::string_view file, std::vector<Tensor> inputs,
                   const std::filesystem::path& folder = {});

} // namespace lanner::test
