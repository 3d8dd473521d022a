#pragma once
// Shared by the reader and the writer of the safetensors format.

#include <cstdint>
#include <optional>
#include <string_view>

#include <lanner/dtype.h>

namespace lanner {

inline constexpr std::string_view safetensors_metadata_key = "__metadata__";
inline constexpr std::string_view safetensors_pad_prefix = "__pad_";
inline constexpr std::uint64_t safetensors_alignment = 64;

/// The format's name of a type (`F32`); empty when it has none.
std::string_view safetensors_name(DType type) noexcept;
std::optional<DType> safetensors_type(std::string_view name) noexcept;
/// Whether the name is one that the writer gives to padding.
bool is_safetensors_pad(std::string_view name) noexcept;

} // namespace lanner
