#pragma once
// Limits on memory and time that untrusted input may use. One value, passed to every reader.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lanner {

/// Default limit on the bytes that one build, engine or reader may hold: three quarters of the memory of the
/// machine, or of the container around the process.
std::uint64_t default_total_bytes() noexcept;

/// Limits that are checked before memory or time is spent on a file. The defaults admit every model and clip
/// in common use; a server that reads untrusted files lowers them.
struct Limits {
  std::uint64_t file_bytes = 64ull << 30;   ///< Size of one input file.
  std::uint64_t tensor_bytes = 16ull << 30; ///< Size of one tensor.
  /// Memory that one build, one context with its engine, or one reader may hold: tensors, characters of
  /// strings, sequences, frames.
  std::uint64_t total_bytes = default_total_bytes();
  std::uint32_t nodes = 1u << 20;          ///< Nodes of one graph, regions included.
  std::uint32_t depth = 64;                ///< Nesting of messages, regions, types and expressions.
  std::uint32_t rank = 64;                 ///< Dimensions of one tensor.
  std::uint64_t pixels = 1ull << 28;       ///< Pixels of one image or frame (16384 x 16384).
  std::uint32_t streams = 256;             ///< Streams of one container.
  std::uint64_t packet_bytes = 1ull << 28; ///< Size of one packet.
  std::uint64_t frames = 1ull << 32;       ///< Frames of one stream.
  double seconds = 0; ///< Wall time of one build, load, run or reading; 0 means no bound.
};

/// Sets one limit by the name of its member: `total_bytes=4GiB`, `seconds=30`. Throws Error{invalid_argument}
/// that lists the names.
void set_limit(Limits& limits, std::string_view assignment);

/// `a * b`, or Error{limit_exceeded} naming `what` when the product overflows 64 bits or exceeds `bound`.
std::uint64_t checked_product(std::uint64_t a, std::uint64_t b, std::uint64_t bound, std::string_view what);

} // namespace lanner
