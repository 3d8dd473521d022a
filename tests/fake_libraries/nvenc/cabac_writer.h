#pragma once
// The arithmetic coder of H.264 (9.3.4.2 and on) and HEVC (9.3.4.3, 9.3.2.5), as far as PCM needs it.

#include <algorithm>
#include <cstdint>

#include "fake_libraries/nvenc/bit_writer.h"

namespace lanner::fake_nvenc {

/// A context's variable: pStateIdx and valMps.
struct ContextState {
  std::uint8_t state = 0, likely = 0;

  static ContextState of(int slope, int offset, int qp) {
    const int value = std::clamp(((slope * std::clamp(qp, 0, 51)) >> 4) + offset, 1, 126);
    if (value <= 63) return {static_cast<std::uint8_t>(63 - value), 0};
    return {static_cast<std::uint8_t>(value - 64), 1};
  }
};

class CabacWriter {
public:
  explicit CabacWriter(BitWriter& out) : out_(out) {}
  void encode(ContextState& context, bool bin);
  /// A bin before the end: one ends the coding, and the next bin begins anew. `last_bit` is what follows the
  /// flush in HEVC's pcm_flag and H.264's mb_type; an end of slice writes its own trailing bits.
  void terminate(bool bin);

private:
  void renormalise();
  void put(bool bit);
  BitWriter& out_;
  std::uint32_t low_ = 0, range_ = 510, outstanding_ = 0;
  bool first_ = true;
};

} // namespace lanner::fake_nvenc
