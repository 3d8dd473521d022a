#include "tf/read/tfrecord.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/limits/limit_error.h"

namespace lanner::tf {
namespace {

constexpr std::size_t length_bytes = 8, crc_bytes = 4, header_bytes = length_bytes + crc_bytes;

std::uint64_t number(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return value;
}

/// How a file compressed as a whole begins: gzip, or zlib's usual levels.
bool looks_compressed(std::span<const std::byte> header) {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(header[i]); };
  if (at(0) == 0x1f && at(1) == 0x8b) return true;
  return at(0) == 0x78 && (at(0) * 256 + at(1)) % 31 == 0;
}

} // namespace

RecordReader::RecordReader(SourcePtr source, const Limits& limits)
    : source_(std::move(source)), limits_(limits) {}

/// Fewer than asked for only at the end.
std::size_t RecordReader::read(std::uint64_t offset, std::span<std::byte> into) {
  std::size_t got = 0;
  while (got < into.size()) {
    check_deadline();
    const std::size_t count = source_->read_at(offset + got, into.subspan(got));
    if (count == 0) break;
    got += count;
  }
  return got;
}

/// The length of the record at offset_; nothing at the end of the file.
std::optional<std::uint64_t> RecordReader::read_length() {
  std::array<std::byte, header_bytes> header;
  const std::size_t got = read(offset_, header);
  if (got == 0) return std::nullopt;
  check(got == header.size(), ErrorCode::bad_data, "the file ends after {} bytes of a header of {}", got,
        header.size());
  const auto length = std::span(header).first(length_bytes);
  if (masked_crc32c(crc32c(length)) != number(std::span(header).subspan(length_bytes))) {
    check(count_ > 0 || !looks_compressed(header), ErrorCode::unsupported,
          "it is compressed as a whole; decompress it first (gunzip, or pigz -dz)");
    fail(ErrorCode::bad_data, "the checksum of its length is wrong: it is no TFRecord file, or damaged");
  }
  return number(length);
}

/// In pieces, so that a wrong length takes no memory that the file does not fill.
void RecordReader::read_content(std::uint64_t length) {
  constexpr std::uint64_t piece = 1u << 20;
  record_.clear();
  for (std::uint64_t wanted = length + crc_bytes; wanted > 0;) {
    const auto count = static_cast<std::size_t>(std::min(wanted, piece));
    const std::size_t before = record_.size();
    record_.resize(before + count);
    const std::size_t got = read(offset_ + header_bytes + before, std::span(record_).subspan(before));
    check(got == count, ErrorCode::bad_data, "the file ends after {} bytes of a record of {}", before + got,
          length);
    wanted -= count;
  }
  const auto content = std::span(record_).first(static_cast<std::size_t>(length));
  check(masked_crc32c(crc32c(content)) == number(std::span(record_).last(crc_bytes)), ErrorCode::bad_data,
        "the checksum of its {} bytes is wrong: the file is damaged", length);
}

std::optional<std::span<const std::byte>> RecordReader::next() {
  if (std::exchange(ended_, true)) return std::nullopt; // until this record is read
  return with_context(
      [&] { return fmt::format("{}: record {} at byte {}", source_->name(), count_, offset_); },
      [&]() -> std::optional<std::span<const std::byte>> {
        const std::optional<std::uint64_t> length = read_length();
        if (!length) return std::nullopt;
        check_limit("packet_bytes", *length, limits_.packet_bytes, "a record of {} bytes", *length);
        read_content(*length);
        offset_ += header_bytes + *length + crc_bytes;
        ++count_;
        ended_ = false;
        return std::span<const std::byte>(record_).first(static_cast<std::size_t>(*length));
      });
}

} // namespace lanner::tf
