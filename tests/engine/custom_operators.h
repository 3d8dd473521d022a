#pragma once
// The plug-in of tests/c/custom_operators.c, and networks with its operators.

#include <filesystem>
#include <string>
#include <vector>

#include <lanner/engine.h>

#include "engine/small_models.h"

namespace lanner::test {

std::filesystem::path custom_operators_plugin();
/// An environment with its operators.
Environment with_custom_operators();
/// Functions of the plug-in: number of live instances, and the maximum active at once.
int custom_instances();
int most_custom_instances_at_work();

/// `y = relu(own.Scale(x, w))`, x of [N, 3, 4, 5] with N as given; `w` is 1, 2, 3, the factor 0.5.
std::string scaling_model(const std::string& n = "2");
/// Its result for `x`.
std::vector<float> scaled(const std::vector<float>& x);

} // namespace lanner::test
