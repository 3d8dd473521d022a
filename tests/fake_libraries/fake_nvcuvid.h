#pragma once
// libnvcuvid without a GPU, on the memory of the fake driver. Its parser takes each packet for one picture
// that says of itself what it is; its decoder fills pictures with values computed from the packet. Like the
// real one it finishes a picture when the next packet comes or when a packet is marked as a whole picture, it
// gives time stamps back in ascending order where pictures are reordered, and every call needs a context. It
// keeps a record of calls and fails the one that a test asks for.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fake {

/// A packet of the codec that the fake parser reads, whatever it is called.
struct Picture {
  bool key = true;
  bool hidden = false;  ///< Decoded and never shown.
  bool damaged = false; ///< The decoder finds errors.
  bool interlaced = false;
  bool pair = false;         ///< Another picture follows in the same packet, like this one, with seed + 1.
  bool second_field = false; ///< The other half of the picture before.
  std::uint8_t order = 0;    ///< Place in presentation order, from 0 on after each key; used with `held`.
  std::uint8_t held = 0;     ///< Pictures held back to put them in order, the same for a whole sequence.
  std::uint8_t seed = 1;
  int width = 64,
      height = 48;         ///< Of the display area; the coded size is the next multiple of 16 behind `crop`.
  std::uint8_t crop = 0;   ///< Samples left out at the left and at the top.
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

/// Calls so far that may fail, all threads together.
std::size_t fake_nvcuvid_calls();
/// The `number`-th call from now on (1 is the next) gives `status`; 0 gives none.
void fake_nvcuvid_fail(std::size_t number, int status);
/// Names of the calls since the last fake_nvcuvid_forget(), one a line.
const char* fake_nvcuvid_log();
void fake_nvcuvid_forget();
/// What is not yet given back.
long fake_nvcuvid_sessions();
long fake_nvcuvid_parsers();
long fake_nvcuvid_mapped();
/// Sessions made so far.
long fake_nvcuvid_sessions_made();
/// Packets so far that had something before their picture.
long fake_nvcuvid_headers();
}
