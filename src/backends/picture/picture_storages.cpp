#include "backends/picture/picture_storages.h"

#include <algorithm>

#include "backends/storage_layout.h"
#include "ops/picture/picture.h"

namespace lanner {
namespace {

/// The memory order of the result's pixels that is opposite to its shape's.
Layout opposite_layout(const Preprocess& spec) {
  Layout layout = Layout::channels_last(4);
  if (spec.channels_last) layout.order = {0, 3, 1, 2};
  return layout;
}

} // namespace

std::vector<Storage> picture_storages(const Node& picture, const Target& target) {
  const Type& type = picture.output()->type;
  std::vector<std::optional<DType>> types{std::nullopt};
  for (const DType narrow : {DType::f16, DType::bf16})
    if (type.dtype() == DType::f32 && target.precision.allows(narrow)) types.emplace_back(narrow);
  std::vector<Storage> storages;
  for (const auto& dtype : types)
    for (const Layout& layout : {Layout{}, opposite_layout(ops::preprocess_of(picture))}) {
      Storage storage = target.storage();
      storage.dtype = dtype;
      storage.layout = canonical(layout, type.shape());
      if (std::ranges::find(storages, storage) == storages.end()) storages.push_back(std::move(storage));
    }
  return storages;
}

Preprocess stored_preprocess(const Node& picture, const Storage& storage) {
  Preprocess spec = ops::preprocess_of(picture);
  spec.dtype = storage.dtype.value_or(picture.output()->type.dtype());
  if (!storage.layout.row_major()) spec.channels_last = !spec.channels_last;
  return spec;
}

} // namespace lanner
