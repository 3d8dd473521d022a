#pragma once
// The boundary of every function of <lanner/c.h>: exceptions become statuses, structures of other versions
// are read and written, pointers are checked.

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include <lanner/c.h>
#include <lanner/error.h>
#include <lanner/tensor.h>

#include "check.h"

namespace lanner::c {

/// The status of the exception in flight, which becomes `*error` where that is wanted. Called in a catch
/// block.
lanner_status report_exception(lanner_error** error) noexcept;

/// Calls `body` and converts exceptions to a status.
template<typename Body>
lanner_status guarded(lanner_error** error, Body&& body) noexcept {
  if (error) *error = nullptr;
  try {
    body();
    return LANNER_OK;
  } catch (...) {
    return report_exception(error);
  }
}

template<typename T>
T& required(T* pointer, std::string_view name) {
  check(pointer != nullptr, ErrorCode::invalid_argument, "argument {} is null", name);
  return *pointer;
}

/// A text that must be there.
inline std::string text(const char* given, std::string_view name) {
  return &required(given, name);
}

/// Copies the members that both sides know; those of a newer caller must be zero, those of an older one stay
/// as they are in `known`. Throws Error{invalid_argument, unsupported}.
void read_struct(const void* given, void* known, std::size_t known_size, std::size_t alignment);

/// The caller's options, or defaults for null. `Options` begins with `struct_size`.
template<typename Options>
Options read_options(const Options* given) {
  Options known{};
  if (given) read_struct(given, &known, sizeof known, alignof(Options));
  return known;
}

/// Throws unless the size of a structure to be filled is plausible.
void check_struct_size(std::size_t size, std::size_t alignment);

/// Fills the caller's structure as far as both sides know it and zeroes what only the caller knows. Null is
/// left alone.
template<typename Info>
void write_struct(Info* into, Info info) {
  if (!into) return;
  const std::size_t size = into->struct_size;
  check_struct_size(size, alignof(Info));
  info.struct_size = size;
  std::memset(static_cast<void*>(into), 0, size);
  std::memcpy(static_cast<void*>(into), &info, std::min(size, sizeof info));
}

} // namespace lanner::c
