#pragma once
// Profiles: ranges of input shapes that an engine is prepared for.

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
  std::vector<std::optional<ShapeRange>> ranges; ///< By input; unset: any sizes.
  /// Shapes of all inputs that are tuned. Unset where sizes stay open.
  std::optional<InputShapes> opt;
  /// The largest shapes of all inputs; nothing where an input may have any sizes.
  std::optional<InputShapes> max(const Graph& graph) const;
  bool holds(const InputShapes& shapes) const;
};

/// Throws Error{invalid_argument} unless `range` is a min, opt and max shape of `input`,
/// each of one rank and no smaller than the one before.
void check_range(const Value& input, const ShapeRange& range);

/// Sets the rank of inputs of any rank to that of all profiles, before passes run.
void apply_ranks(Graph& graph, std::span<const std::map<std::string, ShapeRange>> profiles);

/// The given profiles, checked against the model; inputs that a profile does not name are as in `opt`. Throws
/// Error{invalid_argument} that begins with the profile's number, from 1.
std::vector<ShapeProfile> checked_profiles(const Graph& graph,
                                           std::span<const std::map<std::string, ShapeRange>> profiles,
                                           const std::optional<InputShapes>& opt);

/// Throws the same where the model does not accept a profile's smallest or largest shapes.
void check_profile_ends(const Graph& graph, std::span<const ShapeProfile> profiles);

/// Writes and reads profiles as stored in a plan; malformed JSON throws Error{bad_data} or a JSON exception.
nlohmann::ordered_json profiles_json(std::span<const ShapeProfile> profiles);
std::vector<ShapeProfile> parse_profiles(const nlohmann::json& json, const Graph& graph,
                                         const std::optional<InputShapes>& opt);

} // namespace lanner
