#include "video/h264_headers.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include <lanner/error.h>

#include "video/elementary_stream.h"

namespace lanner {
namespace {

using Bytes = std::span<const std::byte>;

constexpr unsigned extended_profile = 88;

/// The first bits of a unit's payload without emulation prevention; behind the end all are zero.
class UnitBits {
public:
  explicit UnitBits(Bytes unit) {
    int zeros = 0;
    for (std::size_t i = 1; i < unit.size() && bytes_.size() < most_bytes; ++i) {
      const bool prevents = zeros >= 2 && unit[i] == std::byte{3};
      if (!prevents) bytes_.push_back(unit[i]);
      zeros = unit[i] == std::byte{0} ? zeros + 1 : 0;
    }
  }
  unsigned bits(int count) {
    unsigned value = 0;
    for (; count > 0; --count, ++place_) {
      const bool inside = place_ / 8 < bytes_.size();
      const unsigned byte = inside ? std::to_integer<unsigned>(bytes_[place_ / 8]) : 0;
      value = value << 1 | (byte >> (7 - place_ % 8) & 1);
    }
    return value;
  }
  unsigned exp_golomb() {
    int zeros = 0;
    while (zeros < 24 && bits(1) == 0) ++zeros;
    return zeros < 24 ? (1u << zeros) - 1 + bits(zeros) : 0;
  }

private:
  static constexpr std::size_t most_bytes = 32;
  std::vector<std::byte> bytes_;
  std::size_t place_ = 0;
};

bool has_slice_groups(Bytes picture_set) {
  UnitBits bits(picture_set);
  bits.exp_golomb(); // pic_parameter_set_id
  bits.exp_golomb(); // seq_parameter_set_id
  bits.bits(2);      // entropy_coding_mode_flag, bottom_field_pic_order_in_frame_present_flag
  return bits.exp_golomb() > 0;
}

constexpr unsigned profiles_with_chroma[] = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135};

constexpr const char* extended = "the Extended profile (data partitioning, SP and SI slices)";

const char* uncommon_in_sequence_set(Bytes sequence_set) {
  UnitBits bits(sequence_set);
  const unsigned profile = bits.bits(8);
  if (profile == extended_profile) return extended;
  if (std::ranges::find(profiles_with_chroma, profile) == std::end(profiles_with_chroma)) return "";
  bits.bits(16);     // constraint flags, level_idc
  bits.exp_golomb(); // seq_parameter_set_id
  const bool full_chroma = bits.exp_golomb() == 3;
  if (full_chroma && bits.bits(1)) return "separate colour planes";
  bits.exp_golomb(); // bit_depth_luma_minus8
  bits.exp_golomb(); // bit_depth_chroma_minus8
  return bits.bits(1) ? "lossless macroblocks" : "";
}

} // namespace

std::string uncommon_h264_feature(const StreamInfo& stream) {
  const std::vector<std::byte> headers = stream_headers(stream);
  const Bytes bytes = headers;
  bool has_sequence = false;
  for (std::size_t at = start_code_at(bytes, 0); at + 4 < bytes.size();) {
    const std::size_t next = start_code_at(bytes, at + 3);
    const Bytes unit = bytes.subspan(at + 3, next - at - 3);
    const unsigned type = std::to_integer<unsigned>(unit[0]) & 31;
    if (type == 7) {
      has_sequence = true;
      const std::string_view found = uncommon_in_sequence_set(unit);
      if (!found.empty()) return std::string(found);
    }
    if (type == 8 && has_slice_groups(unit)) return "flexible macroblock order";
    at = next;
  }
  return !has_sequence && stream.profile == "Extended" ? extended : "";
}

} // namespace lanner
