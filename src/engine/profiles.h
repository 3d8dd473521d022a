#pragma once
// Ranges of shapes that an engine is made ready for.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lanner/engine.h>

#include "engine/context/given_shapes.h"
#include "graph/graph.h"

namespace lanner {

inline constexpr std::size_t max_profiles = 32;

/// One of BuildOptions::profiles.
struct ShapeProfile {
  std::vector<std::optional<ShapeRange>> ranges; ///< By input; those that nobody named have any sizes.
  /// Of all inputs: what is tuned. Unset where it leaves sizes of others open.
  std::optional<InputShapes> opt;
  /// The largest of all inputs; nothing where an input may have any sizes.
  std::optional<InputShapes> max(const Graph& graph) const;
  bool holds(const InputShapes& shapes) const;
};

/// Throws Error{invalid_argument} unless `range` is a min, opt and max shape of `input`,
/// each of one rank and no smaller than the one before.
void check_range(const Value& input, const ShapeRange& range);

/// Gives inputs of any rank the one that all profiles say, before passes look at the graph.
void apply_ranks(Graph& graph, std::span<const std::map<std::string, ShapeRange>> profiles);

/// What was asked for, checked against the model; inputs that a profile does not name are as in `opt`. Throws
/// Error{invalid_argument} that begins with the profile's number, from 1.
std::vector<ShapeProfile> checked_profiles(const Graph& graph,
                                           std::span<const std::map<std::string, ShapeRange>> profiles,
                                           const std::optional<InputShapes>& opt);

/// Throws the same where the model cannot take a profile's smallest or largest shapes.
void check_profile_ends(const Graph& graph, std::span<const ShapeProfile> profiles);

/// As a plan keeps them, and back: hostile JSON is Error{bad_data} or a JSON exception.
nlohmann::ordered_json profiles_json(std::span<const ShapeProfile> profiles);
std::vector<ShapeProfile> parse_profiles(const nlohmann::json& json, const Graph& graph,
                                         const std::optional<InputShapes>& opt);

} // namespace lanner
