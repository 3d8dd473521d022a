#pragma once
// Whether decoding may begin at a packet without the parameter sets of the packets before it.

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "video/bitstream/bits.h"

namespace lanner {

// Note [Parameter sets]
// A decoder keeps every parameter set that it has seen, by identity; a later one of the same identity takes
// its place. A decoder that starts in the middle, or that decoded another part before, has other ones than
// one that came from the stream's beginning. So a packet is a place to start only if it brings along every
// set that the container does not give unchangingly.

/// Units of the extradata: those in an AVCDecoderConfigurationRecord or, with `hevc`, an
/// HEVCDecoderConfigurationRecord (ISO/IEC 14496-15), else those behind start codes. Views of `extradata`.
std::vector<Bytes> given_units(Bytes extradata, bool hevc);

/// Follows the parameter sets of one stream of H.264 or HEVC.
class ParameterSets {
public:
  /// `given` are those of the container.
  ParameterSets(const std::vector<Bytes>& given, bool hevc);
  /// Takes note of a unit of the packet with this ordinal, in file order.
  void see(Bytes unit, std::int64_t ordinal);
  /// Remembers that decoding may begin at the packet, as far as its pictures are concerned.
  void see_entry(std::int64_t ordinal) { entries_.push_back(ordinal); }
  /// Ordinals given to see_entry() that lack a set. To be asked when the whole stream was seen.
  std::vector<std::int64_t> dependent_entries() const;

private:
  using Identity = std::uint32_t; ///< Unit type and number.
  struct Known {
    std::uint64_t content = 0;
    bool given = false, varies = false;
    std::set<std::int64_t> packets; ///< That bring it.
  };

  static constexpr std::size_t max_packets = 1 << 20;
  bool is_set(int type) const noexcept;
  int type_of(Bytes unit) const noexcept;
  Identity identity(Bytes unit) const;
  void note(Bytes unit, std::int64_t ordinal);

  bool hevc_;
  std::map<Identity, Known> known_;
  std::vector<std::int64_t> entries_;
};

} // namespace lanner
