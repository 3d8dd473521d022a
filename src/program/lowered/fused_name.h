#pragma once
// Names of steps that compute several nodes of the model.

#include <span>
#include <string>

namespace lanner {

/// Name of a step as shown to users: the model's nodes that it computes, each once, `conv1 + relu1`.
std::string fused_name(std::span<const std::string> sources);

} // namespace lanner
