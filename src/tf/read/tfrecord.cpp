#include <lanner/tf_records.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/limits/counted_vector.h"
#include "base/limits/limit_error.h"

namespace lanner::tf {
namespace {

constexpr std::size_t length_bytes = 8, crc_bytes = 4, header_bytes = length_bytes + crc_bytes;

std::uint64_t number(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return value;
}

bool is_header(std::span<const std::byte> header) {
  return masked_crc32c(crc32c(header.first(length_bytes))) == number(header.subspan(length_bytes, crc_bytes));
}

/// How a file compressed as a whole begins: gzip, or zlib's usual levels.
bool looks_compressed(std::span<const std::byte> header) {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(header[i]); };
  if (at(0) == 0x1f && at(1) == 0x8b) return true;
  return at(0) == 0x78 && (at(0) * 256 + at(1)) % 31 == 0;
}

} // namespace

struct RecordReader::State {
  std::size_t read(std::uint64_t from, std::span<std::byte> into) const;
  std::optional<std::uint64_t> read_length();
  void read_content(std::uint64_t length);
  std::optional<std::span<const std::byte>> read_record();

  SourcePtr source;
  Limits limits;
  std::uint64_t offset = 0, count = 0;
  CountedVector<std::byte> record;
  bool ended = false;
};

/// Fewer than asked for only at the end.
std::size_t RecordReader::State::read(std::uint64_t from, std::span<std::byte> into) const {
  std::size_t got = 0;
  while (got < into.size()) {
    check_deadline();
    const std::size_t some = source->read_at(from + got, into.subspan(got));
    if (some == 0) break;
    got += some;
  }
  return got;
}

/// The length of the record at `offset`; nothing at the end of the file.
std::optional<std::uint64_t> RecordReader::State::read_length() {
  std::array<std::byte, header_bytes> header;
  const std::size_t got = read(offset, header);
  if (got == 0) return std::nullopt;
  check(got == header.size(), ErrorCode::bad_data, "the file ends after {} bytes of a header of {}", got,
        header.size());
  if (!is_header(header)) {
    check(count > 0 || !looks_compressed(header), ErrorCode::unsupported,
          "it is compressed as a whole; decompress it first (gunzip, or pigz -dz)");
    fail(ErrorCode::bad_data, "the checksum of its length is wrong: it is no TFRecord file, or damaged");
  }
  return number(std::span(header).first(length_bytes));
}

/// In pieces, so that a wrong length takes no memory that the file does not fill.
void RecordReader::State::read_content(std::uint64_t length) {
  constexpr std::uint64_t piece = 1u << 20;
  record.clear();
  for (std::uint64_t wanted = length + crc_bytes; wanted > 0;) {
    const auto some = static_cast<std::size_t>(std::min(wanted, piece));
    const std::size_t before = record.size();
    record.resize(before + some);
    const std::size_t got = read(offset + header_bytes + before, std::span(record).subspan(before));
    check(got == some, ErrorCode::bad_data, "the file ends after {} bytes of a record of {}", before + got,
          length);
    wanted -= some;
  }
  const auto content = std::span(record).first(static_cast<std::size_t>(length));
  check(masked_crc32c(crc32c(content)) == number(std::span(record).last(crc_bytes)), ErrorCode::bad_data,
        "the checksum of its {} bytes is wrong: the file is damaged", length);
}

std::optional<std::span<const std::byte>> RecordReader::State::read_record() {
  const std::optional<std::uint64_t> length = read_length();
  if (!length) return std::nullopt;
  check_limit("packet_bytes", *length, limits.packet_bytes, "a record of {} bytes", *length);
  read_content(*length);
  offset += header_bytes + *length + crc_bytes;
  ++count;
  ended = false;
  return std::span<const std::byte>(record).first(static_cast<std::size_t>(*length));
}

RecordReader::RecordReader(SourcePtr source, const Limits& limits, std::uint64_t offset)
    : state_(std::make_unique<State>()) {
  state_->source = std::move(source);
  state_->limits = limits;
  state_->offset = offset;
}
RecordReader::RecordReader(RecordReader&&) noexcept = default;
RecordReader& RecordReader::operator=(RecordReader&&) noexcept = default;
RecordReader::~RecordReader() = default;

std::optional<std::span<const std::byte>> RecordReader::next() {
  if (std::exchange(state_->ended, true)) return std::nullopt; // until this record is read
  const State& at = *state_;
  return with_context(
      [&] { return fmt::format("{}: record {} at byte {}", at.source->name(), at.count, at.offset); },
      [&] { return state_->read_record(); });
}

std::uint64_t RecordReader::count() const noexcept {
  return state_->count;
}
std::uint64_t RecordReader::offset() const noexcept {
  return state_->offset;
}

bool looks_like_records(std::span<const std::byte> bytes) {
  return bytes.size() >= header_bytes && is_header(bytes);
}

} // namespace lanner::tf
