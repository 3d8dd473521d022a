#include "backends/cpu/stored_types.h"

#include <utility>

#include "backends/storage_layout.h"

namespace lanner {

bool multiplies_bf16(const Target& target) {
  const std::string& isa = target.device.is_host() ? target.isa : target.host_isa;
  return isa.find("avx512_bf16") != std::string::npos;
}

std::vector<std::optional<DType>> stored_types(DType type, const Target& target) {
  std::vector<std::optional<DType>> types{std::nullopt};
  if (type == DType::f32 && target.precision.allows(DType::bf16) && multiplies_bf16(target))
    types.emplace_back(DType::bf16);
  return types;
}

DType stored_type(const Storage& storage, DType own) {
  return storage.dtype.value_or(own);
}

Storage stored_as(Layout layout, std::optional<DType> type) {
  Storage storage = stored(std::move(layout));
  storage.dtype = type;
  return storage;
}

} // namespace lanner
