#include "video/ffmpeg/webp/webp_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/limits/limit_error.h"

namespace lanner::ffmpeg {

namespace {

constexpr std::uint64_t first_chunk = 12;
// Memory grows with what is read, not with what a chunk says of itself.
constexpr std::uint64_t step = 4u << 20;

} // namespace

WebpReader::WebpReader(SourcePtr source, const Limits& limits, const StopWatch& stop,
                       const WebpCanvas& canvas)
    : source_(std::move(source)), limits_(limits), stop_(stop), canvas_(canvas), keys_(canvas),
      at_(first_chunk), end_(first_chunk) {
  std::array<std::byte, first_chunk> head{};
  read_at(0, head);
  end_ = std::uint64_t{little_endian(head, 4, 4)} + webp_chunk_head;
}

std::size_t WebpReader::read_at(std::uint64_t pos, std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    stop_.check();
    const std::size_t count = source_->read_at(pos + done, into.subspan(done));
    if (count == 0) break;
    done += count;
  }
  return done;
}

bool WebpReader::complete(std::uint64_t pos, std::uint64_t size, std::vector<std::byte>& into) {
  while (into.size() < size) {
    const std::size_t done = into.size(), more = static_cast<std::size_t>(std::min(step, size - done));
    into.resize(done + more);
    if (read_at(pos + done, std::span(into).subspan(done)) < more) return false;
  }
  return true;
}

/// As far as the source tells its size.
bool WebpReader::is_there(std::uint64_t end) const {
  return source_->size() < 0 || end <= static_cast<std::uint64_t>(source_->size());
}

void WebpReader::ends_early(std::uint64_t at) {
  damage_ =
      fmt::format("{}: ends early: the chunk at byte {} is not whole, and the file's header says {} bytes",
                  source_->name(), at, end_);
}

WebpPlace WebpReader::place_of(Bytes chunk, std::uint64_t size) {
  const WebpFrame frame = errors::with_context(
      [&] { return fmt::format("{}: frame {} at byte {}", source_->name(), frames_, at_); },
      [&] { return webp_frame(chunk, canvas_); });
  const WebpPlace place{at_, static_cast<std::uint32_t>(size), time_, frame.duration, keys_.next(frame)};
  time_ += frame.duration;
  ++frames_;
  check_limit("frames", frames_, limits_.frames, "{}: {} frames or more", source_->name(), frames_);
  return place;
}

std::optional<WebpPlace> WebpReader::next(std::vector<std::byte>* content) {
  std::array<std::byte, webp_frame_head> head{};
  while (at_ + webp_chunk_head <= end_ && damage_.empty()) {
    const std::span<std::byte> begin = std::span(head).first(content ? webp_chunk_head : head.size());
    const std::size_t count = read_at(at_, begin);
    const std::uint64_t size = webp_chunk_head + little_endian(head, 4, 4), behind = at_ + size;
    check(count < webp_chunk_head || behind <= end_, ErrorCode::bad_data,
          "{}: the chunk of {} bytes at byte {} ends behind the file, whose header says {} bytes",
          source_->name(), size, at_, end_);
    if (count < webp_chunk_head || !is_there(behind)) {
      ends_early(at_);
      break;
    }
    if (!has_name(head, 0, "ANMF")) {
      at_ = behind + size % 2;
      continue;
    }
    check_limit("packet_bytes", size, limits_.packet_bytes, "{}: frame {} of {} bytes", source_->name(),
                frames_, size);
    if (content) content->assign(head.begin(), head.begin() + webp_chunk_head);
    if (content && !complete(at_, size, *content)) {
      ends_early(at_);
      break;
    }
    const Bytes chunk = content ? Bytes(*content) : Bytes(head).first(std::min<std::size_t>(count, size));
    const WebpPlace place = place_of(chunk, size);
    at_ = behind + size % 2;
    return place;
  }
  return std::nullopt;
}

std::optional<std::vector<std::byte>> WebpReader::read(const WebpPlace& place) {
  std::vector<std::byte> content;
  if (!complete(place.pos, place.size, content)) return std::nullopt;
  return content;
}

} // namespace lanner::ffmpeg
