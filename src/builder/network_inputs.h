#pragma once
// Random inputs for verifying a network.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <lanner/engine.h>
#include <lanner/item.h>

#include "engine/context/given_shapes.h"
#include "graph/graph.h"

namespace lanner {

/// How integers wider than a byte are drawn where no reader bounds them as indices.
enum class DrawnIntegers : std::uint8_t { low, zero };

struct InputDraw {
  std::uint64_t seed = 0;
  DrawnIntegers integers = DrawnIntegers::low; ///< 0 and 1, or 0 alone; `zero` also for indices.
  Device device{};                             ///< Device of pictures.
};

/// Items by input of `graph`, on the host: those of `given`, by name; for the others reals close to a normal
/// distribution of deviation 1, all values of bytes and bools, and valid indices for integers that are read
/// as indices. All shapes of `graph` are concrete. Throws Error{invalid_argument} where a given item does not
/// fit, or a sequence is not given.
std::vector<Item> network_inputs(const Graph& graph, const std::map<std::string, Item>& given,
                                 const InputDraw& draw);

/// An item of network_inputs() as input `i` of the engine is bound: in its type and layout, and in memory of
/// its own where a run may overwrite it.
Item in_binding(const Engine& engine, std::size_t i, Item item);

/// Whether an input whose type InputDraw::integers applies to is drawn.
bool draws_index_inputs(const Graph& graph, const std::map<std::string, Item>& given);

} // namespace lanner
