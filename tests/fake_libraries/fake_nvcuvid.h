#pragma once
// libnvcuvid without a GPU, on the fake driver's memory. Its parser takes each packet for one picture whose
// properties the packet states; its decoder fills pictures with values computed from the packet. Like the
// real one it finishes a picture when the next packet arrives or when a packet is marked as a complete
// picture, it returns time stamps in ascending order where pictures are reordered, and every call needs a
// context. It records calls and fails the one that a test selects.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fake {

/// A packet in the fake parser's own format, whatever the codec is called.
struct Picture {
  bool key = true;
  bool hidden = false;  ///< Decoded but never displayed.
  bool damaged = false; ///< The decoder reports errors.
  bool interlaced = false;
  bool pair = false;         ///< Another picture follows in the same packet, equal except for seed + 1.
  bool second_field = false; ///< The other field of the previous picture.
  std::uint8_t order = 0; ///< Position in presentation order, from 0 after each key frame; used with `held`.
  std::uint8_t held = 0;  ///< Pictures held back for reordering, the same for a whole sequence.
  std::uint8_t seed = 1;
  int width = 64,
      height = 48; ///< Of the display area; the coded size is the next multiple of 16 after adding `crop`.
  std::uint8_t crop = 0;   ///< Samples cropped at the left and at the top.
  std::uint8_t chroma = 1; ///< A cudaVideoChromaFormat.
  std::uint8_t depth = 8;
  std::uint8_t matrix = 2;
  bool full_range = false;

  std::vector<std::byte> bytes() const;
};

/// Sample `x`, `y` of a surface's plane (`x` counts interleaved samples), in the bits of its depth.
inline unsigned sample(unsigned seed, unsigned plane, unsigned x, unsigned y, unsigned depth) {
  return (seed * 37 + plane * 11 + x * 3 + y * 5 + (x * y >> 3)) & ((1u << depth) - 1);
}

} // namespace fake

extern "C" {

/// Number of calls so far that may fail, over all threads.
std::size_t fake_nvcuvid_calls();
/// The `number`-th call from now on (1 is the next) returns `status`; 0 disables this.
void fake_nvcuvid_fail(std::size_t number, int status);
/// Names of the calls since the last fake_nvcuvid_forget(), one per line.
const char* fake_nvcuvid_log();
void fake_nvcuvid_forget();
/// Objects not yet freed.
long fake_nvcuvid_sessions();
long fake_nvcuvid_parsers();
long fake_nvcuvid_mapped();
/// Sessions created so far.
long fake_nvcuvid_sessions_made();
/// Packets so far with data before their picture.
long fake_nvcuvid_headers();
}
