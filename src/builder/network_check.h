#pragma once
// Verifies a whole network: several concurrent contexts, and their results against the portable graph.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <lanner/engine.h>
#include <lanner/item.h>

#include "builder/portable_answers.h"

namespace lanner {

struct NetworkRuns {
  std::size_t runs = 10; ///< Of each context.
  std::size_t contexts = 2;
  int threads = 0; ///< Of each context.
};

/// Runs the network on `inputs`, in the engine's order and on the host. Empty, or one line on how a run
/// fails, how outputs differ in one bit between runs or contexts, or how they differ from `answers`. Throws
/// Error{cancelled}.
std::string network_difference(const Engine& engine, std::span<const Item> inputs, PortableAnswers& answers,
                               const NetworkRuns& options, const Control& control);

} // namespace lanner
