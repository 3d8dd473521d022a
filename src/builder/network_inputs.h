#pragma once
// Inputs that a network is tried on.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <lanner/item.h>

#include "engine/context/given_shapes.h"
#include "graph/graph.h"

namespace lanner {

/// How integers wider than a byte are drawn where no node that reads them says what places there are.
enum class DrawnIntegers : std::uint8_t { low, zero };

struct InputDraw {
  std::uint64_t seed = 0;
  DrawnIntegers integers = DrawnIntegers::low; ///< 0 and 1, or 0 alone; `zero` holds for places too.
  Device device{};                             ///< Where pictures lie.
};

/// Items by input of `graph`, on the host: those of `given`, by name, and for the others reals close to a
/// normal distribution of deviation 1, every value of bytes and bools, and places that those nodes have which
/// read integers as such. All shapes of `graph` are concrete. Throws Error{invalid_argument} where what is
/// given does not fit, or a sequence is not given.
std::vector<Item> network_inputs(const Graph& graph, const std::map<std::string, Item>& given,
                                 const InputDraw& draw);

/// Whether an input of a type that InputDraw::integers decides on is drawn.
bool draws_places(const Graph& graph, const std::map<std::string, Item>& given);

} // namespace lanner
