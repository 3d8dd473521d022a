#include "input/animated.h"

#include <array>
#include <span>
#include <string_view>

namespace lanner::tool {
namespace {

using namespace std::string_view_literals;

/// Reads the bytes of a source in order, some thousand at a time.
class ByteWalk {
public:
  explicit ByteWalk(ByteSource& source) : source_(source) {}

  /// 0 at the end.
  unsigned next() {
    if (at_ < begin_ || at_ >= begin_ + held_) fill();
    const bool ended = at_ < begin_ || at_ >= begin_ + held_;
    ended_ = ended_ || ended;
    return ended ? 0 : std::to_integer<unsigned>(bytes_[at_++ - begin_]);
  }
  unsigned big_endian(int count) {
    unsigned value = 0;
    for (int i = 0; i < count; ++i) value = value << 8 | next();
    return value;
  }
  unsigned little_endian(int count) {
    unsigned value = 0;
    for (int i = 0; i < count; ++i) value |= next() << 8 * i;
    return value;
  }
  void skip(std::uint64_t count) { at_ += count; }
  bool ended() const { return ended_; }

private:
  void fill() {
    begin_ = at_;
    held_ = source_.read_at(at_, bytes_);
  }

  ByteSource& source_;
  std::array<std::byte, 16384> bytes_{};
  std::uint64_t at_ = 0, begin_ = 0, held_ = 0;
  bool ended_ = false;
};

/// Bytes of a colour table, from its flags.
unsigned table_bytes(unsigned flags) {
  return flags & 0x80 ? 3u << ((flags & 7) + 1) : 0;
}

void skip_blocks(ByteWalk& walk) {
  for (unsigned length = walk.next(); length > 0 && !walk.ended(); length = walk.next()) walk.skip(length);
}

bool has_two_pictures(ByteWalk walk) {
  walk.skip(10); // Skips signature and size.
  const unsigned flags = walk.next();
  walk.skip(2 + table_bytes(flags));
  for (int pictures = 0; !walk.ended();) {
    const unsigned kind = walk.next();
    if (kind == 0x21) { // An extension.
      walk.skip(1);
      skip_blocks(walk);
    } else if (kind == 0x2c) { // A picture.
      if (++pictures == 2) return true;
      walk.skip(8);
      const unsigned local = walk.next();
      walk.skip(table_bytes(local) + 1);
      skip_blocks(walk);
    } else {
      break;
    }
  }
  return false;
}

bool has_animation(ByteWalk walk) {
  walk.skip(8); // Signature.
  while (!walk.ended()) {
    const unsigned length = walk.big_endian(4), kind = walk.big_endian(4);
    constexpr unsigned control = 0x6163544c, data = 0x49444154; // acTL, IDAT
    if (kind == control) return walk.big_endian(4) > 1;
    if (kind == data) return false;
    walk.skip(std::uint64_t{length} + 4);
  }
  return false;
}

/// RFC 9649, 2.7: chunks ANMF of a file whose first one says that it is animated.
bool has_two_frames(ByteWalk walk) {
  walk.skip(12);                                                              // The file's own header.
  constexpr unsigned extended = 0x58385056, animated = 2, frame = 0x464d4e41; // "VP8X", "ANMF"
  if (walk.little_endian(4) != extended) return false;
  const unsigned first = walk.little_endian(4), flags = walk.next();
  if (first == 0 || !(flags & animated)) return false;
  walk.skip(std::uint64_t{first} - 1 + first % 2);
  for (int frames = 0; !walk.ended();) {
    const unsigned kind = walk.little_endian(4), size = walk.little_endian(4);
    if (!walk.ended() && kind == frame && ++frames == 2) return true;
    walk.skip(std::uint64_t{size} + size % 2);
  }
  return false;
}

} // namespace

bool is_animated(ByteSource& source) {
  if (!source.seekable()) return false;
  std::array<std::byte, 12> first{};
  const std::size_t count = source.read_at(0, first);
  const std::string_view head(reinterpret_cast<const char*>(first.data()), count);
  if (head.starts_with("GIF8")) return has_two_pictures(ByteWalk(source));
  if (head.starts_with("RIFF") && head.ends_with("WEBP")) return has_two_frames(ByteWalk(source));
  return head.starts_with("\x89PNG\r\n\x1a\n"sv) && has_animation(ByteWalk(source));
}

} // namespace lanner::tool
