#pragma once
// How a byte stands for a real number.

namespace lanner {

/// real = (stored - zero) * scale.
struct ByteScale {
  float scale = 1;
  int zero = 0;
};

} // namespace lanner
