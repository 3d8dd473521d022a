#include "video/ffmpeg/packet.h"

#include <cstring>
#include <utility>

#include "base/check.h"

namespace lanner::ffmpeg {

Packet to_packet(PacketPtr from) {
  Packet packet;
  packet.stream = from->stream_index;
  packet.pts = to_pts(from->pts);
  packet.dts = to_pts(from->dts);
  packet.duration = from->duration;
  packet.pos = from->pos;
  packet.key = from->flags & AV_PKT_FLAG_KEY;
  packet.discard = from->flags & AV_PKT_FLAG_DISCARD;
  packet.corrupt = from->flags & AV_PKT_FLAG_CORRUPT;
  packet.palette = av_packet_get_side_data(from.get(), AV_PKT_DATA_PALETTE, nullptr) != nullptr;
  packet.bytes = {reinterpret_cast<const std::byte*>(from->data), static_cast<std::size_t>(from->size)};
  packet.owner = std::shared_ptr<const AVPacket>(from.release(), PacketFree());
  return packet;
}

namespace {

// Bytes that the caller changed, or made, need FFmpeg's padding behind them.
void set_bytes(AVPacket& packet, std::span<const std::byte> bytes) {
  check(bytes.size() < (1u << 30), ErrorCode::limit_exceeded, "packet: {} bytes, at most {} are taken",
        bytes.size(), 1 << 30);
  AVBufferRef* buffer = av_buffer_allocz(bytes.size() + AV_INPUT_BUFFER_PADDING_SIZE);
  check(buffer != nullptr, ErrorCode::out_of_memory, "packet: memory was refused by the system");
  if (!bytes.empty()) std::memcpy(buffer->data, bytes.data(), bytes.size());
  av_buffer_unref(&packet.buf);
  packet.buf = buffer;
  packet.data = buffer->data;
  packet.size = static_cast<int>(bytes.size());
}

void set_flag(AVPacket& packet, int flag, bool on) {
  packet.flags = on ? packet.flags | flag : packet.flags & ~flag;
}

} // namespace

PacketPtr to_av(const Packet& from) {
  PacketPtr packet = make_packet();
  const AVPacket* own = nullptr;
  if (std::get_deleter<PacketFree>(from.owner)) own = static_cast<const AVPacket*>(from.owner.get());
  if (own)
    check(av_packet_ref(packet.get(), own) >= 0, ErrorCode::out_of_memory,
          "packet: memory was refused by the system");
  const auto* data = reinterpret_cast<const std::uint8_t*>(from.bytes.data());
  if (!own || data != own->data || from.bytes.size() != static_cast<std::size_t>(own->size))
    set_bytes(*packet, from.bytes);
  packet->stream_index = from.stream;
  packet->pts = from_pts(from.pts);
  packet->dts = from_pts(from.dts);
  packet->duration = from.duration;
  packet->pos = from.pos;
  set_flag(*packet, AV_PKT_FLAG_KEY, from.key);
  set_flag(*packet, AV_PKT_FLAG_DISCARD, from.discard);
  set_flag(*packet, AV_PKT_FLAG_CORRUPT, from.corrupt);
  return packet;
}

} // namespace lanner::ffmpeg
