#pragma once
// TF-TRT's rules of which shapes an engine serves, and what a TRTEngineOp node says of its engines.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lanner/tensorflow.h>

#include "importers/import_graph.h"

namespace lanner::tf {

/// Shapes of a part's inputs, in order.
using PartShapes = std::vector<Shape>;
/// What an engine serves, by input: `opt` are the shapes that its kernels are timed for.
using ServedShapes = std::vector<ShapeRange>;

struct CacheRules {
  std::optional<EngineMode> mode;
  EngineShapes shapes = EngineShapes::any;
  ProfileStrategy strategy = ProfileStrategy::range;
  std::size_t maximum = 16;
  std::int64_t max_batch = 1;
  bool build_at_run = true;
};

/// The options, and where they are unset what the node of a saved engine says; null: there is none. Throws
/// Error{invalid_argument} for options out of range.
CacheRules rules_of(const ConvertOptions& options, const ImportNode* node);

/// Why no engine may serve these shapes, whatever is in the cache.
std::optional<NativeCause> refused(const CacheRules& rules, const PartShapes& shapes);
/// Whether ranks are equal and all sizes within the ranges.
bool serves(const ServedShapes& served, const PartShapes& shapes);
/// For the choice of the smallest: elements of the largest shapes.
double size_of(const ServedShapes& served);
PartShapes opt_of(const ServedShapes& served);

/// What an engine built for these shapes serves: they and smaller first sizes, or with profiles what the
/// strategy makes of them.
ServedShapes served_by(const CacheRules& rules, const PartShapes& shapes);
/// The profiles that a strategy makes of all shapes seen.
std::vector<ServedShapes> profiles_of(ProfileStrategy strategy, const std::vector<PartShapes>& seen);

/// The shapes of a static engine: the types' sizes, with `batch` for an open first one. Nothing where another
/// is open.
std::optional<PartShapes> static_shapes(const std::vector<Type>& types, std::int64_t batch);

/// `[8, 224], [8]`.
std::string shapes_text(const PartShapes& shapes);
/// Why a part ran natively, for users.
std::string sentence(NativeCause cause);

/// The attribute of a node for the ranges of its engines, and one for static mode: TF-TRT's own means that
/// the node has TensorRT's engine alone.
inline constexpr const char* profiles_attribute = "_lanner_profiles";
inline constexpr const char* static_attribute = "_lanner_static";
/// Ranges as text for a node's attribute, and back. Throws Error{bad_data}.
std::string to_json(const std::vector<ServedShapes>& entries);
std::vector<ServedShapes> parse_entries(const std::string& json, std::size_t inputs);

} // namespace lanner::tf
