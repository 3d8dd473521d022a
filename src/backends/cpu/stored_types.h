#pragma once
// Types that the CPU's kernels may store real values in.

#include <optional>
#include <vector>

#include "graph/storage/storage.h"
#include "graph/target.h"

namespace lanner {

/// Whether the CPU of this target multiplies bf16: with AVX512-BF16, which processors with AMX have too.
/// Without it bf16 saves nothing, as products would have to be computed in f32.
bool multiplies_bf16(const Target& target);

/// Types that a value of `type` may be stored in: its own (unset) and, for f32 where the precision policy
/// allows it and the processor multiplies it, bf16.
std::vector<std::optional<DType>> stored_types(DType type, const Target& target);

/// The type that a value is stored in.
DType stored_type(const Storage& storage, DType own);
/// A storage on the host; `type`: unset, the value's own.
Storage stored_as(Layout layout, std::optional<DType> type);

} // namespace lanner
