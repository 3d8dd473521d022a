#pragma once
// What a packet's headers say of its picture.

#include <cstdint>

#include <lanner/packet.h>

namespace lanner {

struct PacketTraits {
  EntryPoint start = EntryPoint::none;
  bool shown = true; ///< The decoder gives a frame for it when decoding began at the stream's first packet.
  bool disposable = false;    ///< No picture of the same or a lower temporal layer can depend on it.
  bool delayed = false;       ///< The picture that `start` speaks of is shown by a later packet.
  bool reordered = false;     ///< The picture is shown before one of a packet before.
  bool other_picture = false; ///< The frame that a decoder gives for it began in a packet before.
  bool doubtful = false;      ///< Only decoding tells which frame it gives, if any.
  std::uint8_t layer = 0;     ///< Temporal layer, 0 where the codec has none.
};

} // namespace lanner
