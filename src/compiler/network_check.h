#pragma once
// A network as a whole: several contexts at work at once, and what they give beside the interpreter.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <lanner/engine.h>
#include <lanner/item.h>

namespace lanner {

struct NetworkRuns {
  std::size_t runs = 10; ///< Of each context.
  std::size_t contexts = 2;
  int threads = 0; ///< Of each context.
};

/// Runs the network on `inputs`, in the engine's order and on the host. Empty, or one line on how a run
/// fails, how outputs differ in one bit between runs or contexts, or how they lie further from `expected`,
/// the interpreter's outputs, than rounding explains. Throws Error{cancelled}.
std::string network_difference(const Engine& engine, std::span<const Item> inputs,
                               std::span<const Item> expected, const NetworkRuns& options,
                               const Control& control);

/// How `got` lies further from `want` than `bound` times its norm, or is no number where that is one; empty
/// where neither holds. Only reals of equal shapes are compared.
std::string gross_difference(const Item& got, const Item& want, double bound);

} // namespace lanner
