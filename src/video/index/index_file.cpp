#include "video/index/index_file.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits/limit_error.h"
#include "video/index/source_identity.h"

namespace lanner {

namespace {

constexpr std::string_view magic = "LNRINDEX";
constexpr std::uint8_t version = 4;
constexpr std::size_t digest_bytes = 32, key_bytes = 32;
constexpr std::uint64_t settled_flag = 1, gpu_flag = 2;

constexpr std::uint64_t start_mask = 7, key_flag = 8, shown_flag = 16, corrupt_flag = 32,
                        disposable_flag = 64, delayed_flag = 128, pts_flag = 256, dts_flag = 512,
                        pos_flag = 1024, all_flags = 2047;
constexpr std::uint64_t min_packet_bytes = 3, min_frame_bytes = 3;
constexpr std::uint64_t memory_each = 128; // Of a packet with its frame, about.

class Writer {
public:
  void text(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void number(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_.push_back(static_cast<std::byte>(value | 128));
    bytes_.push_back(static_cast<std::byte>(value));
  }
  // Differences wrap around, as reading them does.
  void difference(std::int64_t value, std::int64_t& before) {
    const std::uint64_t step = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(before);
    number(step << 1 ^ (step >> 63 ? UINT64_MAX : 0));
    before = value;
  }
  std::vector<std::byte> take() { return std::move(bytes_); }
  const std::vector<std::byte>& bytes() const noexcept { return bytes_; }

private:
  std::vector<std::byte> bytes_;
};

class Reader {
public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  std::string_view text(std::size_t size) {
    check(size <= rest_.size(), ErrorCode::bad_data, "index file: ends within its head");
    const std::string_view text(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return text;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      check(!rest_.empty(), ErrorCode::bad_data, "index file: ends within a number");
      const auto byte = std::to_integer<std::uint64_t>(rest_.front());
      rest_ = rest_.subspan(1);
      check(shift < 63 || byte <= 1, ErrorCode::bad_data, "index file: a number over 64 bits");
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    fail(ErrorCode::bad_data, "index file: a number over 64 bits");
  }
  std::uint64_t number_up_to(std::uint64_t most, std::string_view what) {
    const std::uint64_t value = number();
    check(value <= most, ErrorCode::bad_data, "index file: {} is {}, at most {} is possible", what, value,
          most);
    return value;
  }
  std::int64_t difference(std::int64_t& before) {
    const std::uint64_t code = number();
    const std::uint64_t step = code >> 1 ^ (code & 1 ? UINT64_MAX : 0);
    return before = static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + step);
  }
  /// A count of things of at least `each` bytes that follow.
  std::uint64_t count(std::uint64_t each, const Limits& limits, std::string_view what) {
    const std::uint64_t value = number_up_to(rest_.size() / each, what);
    check_limit("frames", value, limits.frames, "index file: {} {}", value, what);
    if (value > limits.total_bytes / memory_each)
      fail_limit("total_bytes", limits.total_bytes, "index file: {} {}", value, what);
    return value;
  }
  bool ended() const noexcept { return rest_.empty(); }

private:
  std::span<const std::byte> rest_;
};

std::uint64_t flags_of(const PacketEntry& packet) {
  return static_cast<std::uint64_t>(packet.start) | (packet.key ? key_flag : 0) |
         (packet.shown ? shown_flag : 0) | (packet.corrupt ? corrupt_flag : 0) |
         (packet.disposable ? disposable_flag : 0) | (packet.delayed ? delayed_flag : 0) |
         (packet.pts != no_pts ? pts_flag : 0) | (packet.dts != no_pts ? dts_flag : 0) |
         (packet.pos >= 0 ? pos_flag : 0);
}

void write_packets(Writer& writer, const std::vector<PacketEntry>& packets) {
  std::int64_t pts = 0, dts = 0, pos = 0, duration = 0;
  writer.number(packets.size());
  for (const PacketEntry& packet : packets) {
    writer.number(flags_of(packet));
    if (packet.pts != no_pts) writer.difference(packet.pts, pts);
    if (packet.dts != no_pts) writer.difference(packet.dts, dts);
    if (packet.pos >= 0) writer.difference(packet.pos, pos);
    writer.difference(packet.duration, duration);
    writer.number(packet.size);
  }
}

std::vector<PacketEntry> read_packets(Reader& reader, const Limits& limits) {
  std::int64_t pts = 0, dts = 0, pos = 0, duration = 0;
  std::vector<PacketEntry> packets(reader.count(min_packet_bytes, limits, "packets"));
  for (PacketEntry& packet : packets) {
    const std::uint64_t flags = reader.number_up_to(all_flags, "a packet's flags");
    check((flags & start_mask) <= static_cast<std::uint64_t>(EntryPoint::inexact), ErrorCode::bad_data,
          "index file: entry point {}", flags & start_mask);
    packet.start = static_cast<EntryPoint>(flags & start_mask);
    packet.key = flags & key_flag;
    packet.shown = flags & shown_flag;
    packet.corrupt = flags & corrupt_flag;
    packet.disposable = flags & disposable_flag;
    packet.delayed = flags & delayed_flag;
    if (flags & pts_flag) packet.pts = reader.difference(pts);
    if (flags & dts_flag) packet.dts = reader.difference(dts);
    if (flags & pos_flag) packet.pos = reader.difference(pos);
    check(!(flags & pos_flag) || packet.pos >= 0, ErrorCode::bad_data, "index file: position {}", packet.pos);
    packet.duration = reader.difference(duration);
    packet.size = static_cast<std::uint32_t>(reader.number_up_to(UINT32_MAX, "a packet's size"));
  }
  return packets;
}

void write_frames(Writer& writer, const std::vector<ShownFrame>& frames) {
  std::int64_t ordinal = 0, pts = 0, duration = 0;
  writer.number(frames.size());
  for (const ShownFrame& frame : frames) {
    writer.number(frame.pts != no_pts ? 1 : 0);
    writer.difference(frame.ordinal, ordinal);
    if (frame.pts != no_pts) writer.difference(frame.pts, pts);
    writer.difference(frame.duration, duration);
  }
}

std::vector<ShownFrame> read_frames(Reader& reader, std::int64_t packets, const Limits& limits) {
  std::int64_t ordinal = 0, pts = 0, duration = 0;
  std::vector<ShownFrame> frames(reader.count(min_frame_bytes, limits, "frames"));
  for (ShownFrame& frame : frames) {
    const bool timed = reader.number_up_to(1, "a frame's flags") != 0;
    frame.ordinal = reader.difference(ordinal);
    check(frame.ordinal >= -1 && frame.ordinal < packets, ErrorCode::bad_data,
          "index file: a frame of packet {}, there are {}", frame.ordinal, packets);
    if (timed) frame.pts = reader.difference(pts);
    frame.duration = reader.difference(duration);
    check(frame.duration >= 0, ErrorCode::bad_data, "index file: a frame of duration {}", frame.duration);
  }
  return frames;
}

} // namespace

std::string index_digest(std::span<const std::byte> body) {
  return hash_hex(body);
}

std::vector<std::byte> write_index(const StreamIndex& index, std::string_view key) {
  check(key.size() == key_bytes, ErrorCode::internal, "index file: a key of {} bytes", key.size());
  const ContentPtr content = content_of(index);
  check(content->identity.size() == identity_bytes, ErrorCode::internal, "index file: of no source");
  Writer writer;
  writer.text(magic);
  writer.number(version);
  writer.text(key);
  writer.text(content->identity);
  writer.number(static_cast<std::uint64_t>(index.stream));
  std::int64_t zero = 0;
  writer.difference(index.time_base.num, zero);
  zero = 0;
  writer.difference(index.time_base.den, zero);
  writer.number((content->settled ? settled_flag : 0) |
                (content->settled_on == DeviceKind::cuda ? gpu_flag : 0));
  write_packets(writer, content->table.packets());
  if (content->settled) write_frames(writer, content->frames);
  writer.text(index_digest(writer.bytes()));
  return writer.take();
}

std::shared_ptr<const StreamIndex> read_index(std::span<const std::byte> bytes, std::string_view key,
                                              const Limits& limits) {
  check(bytes.size() >= digest_bytes, ErrorCode::bad_data, "index file: {} bytes", bytes.size());
  const auto body = bytes.first(bytes.size() - digest_bytes);
  Reader tail(bytes.subspan(body.size()));
  Reader reader(body);
  check(reader.text(magic.size()) == magic, ErrorCode::bad_data, "index file: begins with other bytes");
  check(reader.number() == version, ErrorCode::bad_data, "index file: of another version");
  check(reader.text(key_bytes) == key, ErrorCode::bad_data, "index file: of another source");
  std::string identity(reader.text(identity_bytes));
  check(tail.text(digest_bytes) == index_digest(body), ErrorCode::bad_data,
        "index file: its digest does not fit");
  const int stream = static_cast<int>(reader.number_up_to(limits.streams, "the stream"));
  std::int64_t zero = 0;
  Rational time_base;
  time_base.num = reader.difference(zero);
  zero = 0;
  time_base.den = reader.difference(zero);
  check(time_base.num >= 0 && time_base.den >= 0, ErrorCode::bad_data, "index file: time base {}/{}",
        time_base.num, time_base.den);
  const std::uint64_t flags = reader.number_up_to(settled_flag | gpu_flag, "flags");
  std::vector<PacketEntry> packets = read_packets(reader, limits);
  std::shared_ptr<const StreamIndex> index;
  if (flags & settled_flag) {
    std::vector<ShownFrame> frames = read_frames(reader, static_cast<std::int64_t>(packets.size()), limits);
    index = settled_index(stream, time_base, std::move(packets), std::move(frames),
                          flags & gpu_flag ? DeviceKind::cuda : DeviceKind::cpu, std::move(identity));
  } else {
    index = predicted_index(stream, time_base, std::move(packets), std::move(identity));
  }
  check(reader.ended(), ErrorCode::bad_data, "index file: more bytes than it tells of");
  return index;
}

} // namespace lanner
