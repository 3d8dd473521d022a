#pragma once
// Memory of string tensors. Elements are std::string, whose characters are allocated elsewhere; so code that
// writes many strings counts the characters, first while writing, then with the tensor that owns them.

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include <lanner/tensor.h>

#include "base/limits/account.h"

namespace lanner {

/// Memory of `count` empty strings, charged to the thread's account until the last copy is released.
std::shared_ptr<void> allocate_strings(std::uint64_t count);

/// Bytes that a string of this length takes in addition to its own 32 bytes.
constexpr std::uint64_t character_bytes(std::size_t characters) noexcept {
  constexpr std::size_t within = 15, block = 32;
  return characters > within ? characters + block : 0;
}

/// `to = from`. Counts the string's characters first, with the thread's meter (base/limits/account.h).
template<typename T>
void assign_element(T& to, const T& from) {
  if constexpr (std::is_same_v<T, std::string>) count_bytes(character_bytes(from.size()));
  to = from;
}

/// Bytes of the characters of a tensor's elements; 0 for other types.
std::uint64_t characters_of(const Tensor& tensor);

/// Charges the tensor's current characters to the account of its memory, in place of those of the last call,
/// until the memory is released. Does nothing for other types and without an account. Throws
/// Error{limit_exceeded}.
void own_characters(const Tensor& tensor);

} // namespace lanner
