#pragma once
// By what the bytes of a clip are known again, whatever they are called and wherever they lie.

#include <string>

#include <lanner/source.h>

namespace lanner {

inline constexpr std::size_t identity_bytes = 32;

/// A hash of the size and of pieces from the beginning, the end and between: `identity_bytes` characters. The
/// source can go back.
std::string source_identity(ByteSource& source);

} // namespace lanner
