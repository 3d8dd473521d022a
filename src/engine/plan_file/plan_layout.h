#pragma once
// Names of a plan file's parts, which its writer and its reader agree on.

#include <span>
#include <string>

#include "tensor/safetensors.h"

namespace lanner {

inline constexpr const char* digest_key = "lanner.digest";
inline constexpr const char* target_key = "lanner.target";
inline constexpr const char* weights_key = "lanner.weights";
/// Shapes and threads of the variants beside that of the opt shapes, which `target` tells where there are
/// any; absent where there are none.
inline constexpr const char* variants_key = "lanner.variants";

/// Names and versions of the operators from outside that it needs; absent where there are none.
inline constexpr const char* operators_key = "lanner.operators";

/// The part of the variant with this number: `lowered`, `lowered.1`; `reports`, `reports.1`.
std::string plan_part(const char* part, std::size_t variant);

/// Of everything in the file but itself and what fills gaps. `done` is told of the items' bytes.
std::string plan_digest(const SafetensorsMetadata& metadata, std::span<const SafetensorsItem> items,
                        const BytesDone& done = {});

} // namespace lanner
