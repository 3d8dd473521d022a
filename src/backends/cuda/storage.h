#pragma once
// Storages and types that the CUDA families offer.

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/storage_layout.h"
#include "graph/backend.h"
#include "graph/target.h"
#include "graph/type/type.h"

namespace lanner::cuda {

/// `layout` on the target's device, elements of type `dtype` (unset: the value's own).
inline Storage on_device(const Target& target, Layout layout, std::optional<DType> dtype = std::nullopt) {
  Storage storage = target.storage();
  storage.layout = std::move(layout);
  storage.dtype = dtype;
  return storage;
}

/// Floating-point types that device code loads and stores.
inline bool is_real(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16;
}

/// Types that an f32 value may be stored in: f32 itself, and the target's narrower types. A value of a
/// narrower type stays in it. Unset means the value's own type.
inline std::vector<std::optional<DType>> storage_types(DType type, const Target& target) {
  std::vector<std::optional<DType>> types{std::nullopt};
  if (type != DType::f32) return types;
  for (const DType narrow : {DType::f16, DType::bf16})
    if (target.precision.allows(narrow)) types.emplace_back(narrow);
  return types;
}

/// The f16 and bf16 ones among these, whose products tensor cores compute.
inline std::vector<std::optional<DType>> half_types(DType type, const Target& target) {
  auto types = storage_types(type, target);
  std::erase_if(types, [&](const std::optional<DType>& kept) { return kept.value_or(type) == DType::f32; });
  return types;
}

/// Whether a value of this type may only be computed in f32.
inline bool is_true_f32(DType type, const Target& target) {
  return type == DType::f32 && storage_types(type, target).size() == 1;
}

/// The suffix of kernel names for a type: `f32`, `f16`, `bf16`.
inline std::string_view suffix(DType type) {
  return to_string(type);
}

/// Row-major, and channels last where that differs.
inline std::vector<Layout> image_layouts(const Shape& shape) {
  std::vector<Layout> layouts{Layout{}};
  if (shape.rank() < 3) return layouts;
  Layout last = canonical(Layout::channels_last(shape.rank()), shape);
  if (!last.row_major()) layouts.push_back(std::move(last));
  return layouts;
}

/// Adds `make(kept, layout)` to the list for each type that a value of `type` may be stored in and each of
/// `layouts`.
template<typename Make>
void offer(TacticList& list, DType type, const Target& target, const std::vector<Layout>& layouts,
           Make&& make) {
  for (const std::optional<DType> kept : storage_types(type, target))
    for (const Layout& layout : layouts) list.tactics.push_back(make(kept, layout));
}

} // namespace lanner::cuda
