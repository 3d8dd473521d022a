#pragma once
// Names of a plan file's parts, shared by writer and reader.

#include <span>
#include <string>

#include "tensor/safetensors.h"

namespace lanner {

inline constexpr const char* digest_key = "lanner.digest";
inline constexpr const char* target_key = "lanner.target";
inline constexpr const char* weights_key = "lanner.weights";
/// Shapes and threads of the variants other than that of the opt shapes, which is in `target`; absent where
/// there are none.
inline constexpr const char* variants_key = "lanner.variants";

/// Names and versions of the custom operators that it needs; absent where there are none.
inline constexpr const char* operators_key = "lanner.operators";

/// The name of a variant's part: `lowered`, `lowered.1`; `reports`, `reports.1`.
std::string plan_part(const char* part, std::size_t variant);

/// Digest of everything in the file except itself and padding. `done` is called with the items' bytes.
std::string plan_digest(const SafetensorsMetadata& metadata, std::span<const SafetensorsItem> items,
                        const BytesDone& done = {});

} // namespace lanner
