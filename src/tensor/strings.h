#pragma once
// Memory of string tensors. Elements are std::string, whose characters lie elsewhere; so whoever writes many
// counts them, first while writing, then with the tensor that owns them.

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include <lanner/tensor.h>

#include "base/limits/account.h"

namespace lanner {

/// Memory of `count` empty strings, charged to the thread's account until the last copy goes.
std::shared_ptr<void> allocate_strings(std::uint64_t count);

/// What a string of so many characters takes beside its own 32 bytes.
constexpr std::uint64_t character_bytes(std::size_t characters) noexcept {
  constexpr std::size_t within = 15, block = 32;
  return characters > within ? characters + block : 0;
}

/// `to = from`. The characters of a string are counted first, by the thread's meter (base/limits/account.h).
template<typename T>
void assign_element(T& to, const T& from) {
  if constexpr (std::is_same_v<T, std::string>) count_bytes(character_bytes(from.size()));
  to = from;
}

/// What the characters of a tensor's elements take; 0 for other types.
std::uint64_t characters_of(const Tensor& tensor);

/// Charges the characters that the tensor has now to the account that its memory is charged to, in place of
/// those it had at the last call, until the memory goes. Nothing to do for other types and without an
/// account. Throws Error{limit_exceeded}.
void own_characters(const Tensor& tensor);

} // namespace lanner
