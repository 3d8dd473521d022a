#include "video/bitstream/parameter_sets.h"

#include "video/bitstream/hevc_sps.h"
#include "video/bitstream/nal_units.h"

namespace lanner {

namespace {

// Units behind lengths of two bytes.
void take_units(Bytes& rest, std::size_t count, std::vector<Bytes>& units) {
  for (std::size_t i = 0; i < count && rest.size() >= 2; ++i) {
    const auto size = static_cast<std::size_t>(byte_at(rest, 0) << 8 | byte_at(rest, 1));
    rest = rest.subspan(2);
    units.push_back(rest.first(std::min(size, rest.size())));
    rest = rest.subspan(units.back().size());
  }
}

std::vector<Bytes> avcc_units(Bytes extradata) {
  std::vector<Bytes> units;
  Bytes rest = extradata.subspan(6);
  take_units(rest, byte_at(extradata, 5) & 31, units);
  const std::size_t pictures = byte_at(rest, 0);
  if (!rest.empty()) rest = rest.subspan(1);
  take_units(rest, pictures, units);
  return units;
}

std::vector<Bytes> hvcc_units(Bytes extradata) {
  std::vector<Bytes> units;
  Bytes rest = extradata.subspan(23);
  for (int arrays = byte_at(extradata, 22); arrays > 0 && rest.size() >= 3; --arrays) {
    const auto count = static_cast<std::size_t>(byte_at(rest, 1) << 8 | byte_at(rest, 2));
    rest = rest.subspan(3);
    take_units(rest, count, units);
  }
  return units;
}

// FNV-1a; zeros behind a unit are no part of it.
std::uint64_t content_of(Bytes unit) {
  while (!unit.empty() && unit.back() == std::byte{0}) unit = unit.first(unit.size() - 1);
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const std::byte byte : unit) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3ull;
  return hash;
}

} // namespace

std::vector<Bytes> given_units(Bytes extradata, bool hevc) {
  const std::size_t least = hevc ? 23 : 7;
  if (extradata.size() >= least && byte_at(extradata, 0) == 1)
    return hevc ? hvcc_units(extradata) : avcc_units(extradata);
  std::vector<Bytes> units;
  NalWalker walker(extradata, 0);
  while (const auto unit = walker.next()) units.push_back(*unit);
  return units;
}

ParameterSets::ParameterSets(const std::vector<Bytes>& given, bool hevc) : hevc_(hevc) {
  for (const Bytes unit : given)
    if (is_set(type_of(unit))) note(unit, -1);
}

// SPS, PPS, SPS extension and subset SPS; VPS, SPS and PPS.
bool ParameterSets::is_set(int type) const noexcept {
  return hevc_ ? type >= 32 && type <= 34 : type == 7 || type == 8 || type == 13 || type == 15;
}

int ParameterSets::type_of(Bytes unit) const noexcept {
  if (unit.empty()) return -1;
  return hevc_ ? byte_at(unit, 0) >> 1 & 63 : byte_at(unit, 0) & 31;
}

ParameterSets::Identity ParameterSets::identity(Bytes unit) const {
  const int type = type_of(unit);
  const std::vector<std::byte> head = unescaped(unit, 160);
  BitReader bits(head);
  std::uint32_t number = 0;
  if (hevc_) {
    bits.skip(16);
    number = type == 32 ? bits.bits(4) : type == 33 ? read_hevc_sps_head(bits).number : bits.exp_golomb();
  } else {
    bits.skip(type == 7 || type == 15 ? 32 : 8);
    number = bits.exp_golomb();
  }
  return static_cast<Identity>(type) << 16 | (number & 0xffff);
}

void ParameterSets::note(Bytes unit, std::int64_t ordinal) {
  const std::uint64_t content = content_of(unit);
  const auto [place, fresh] = known_.try_emplace(identity(unit));
  Known& known = place->second;
  known.varies = known.varies || (!fresh && known.content != content);
  known.content = content;
  if (ordinal < 0)
    known.given = true;
  else if (known.packets.size() < max_packets)
    known.packets.insert(known.packets.end(), ordinal);
}

void ParameterSets::see(Bytes unit, std::int64_t ordinal) {
  if (is_set(type_of(unit))) note(unit, ordinal);
}

std::vector<std::int64_t> ParameterSets::dependent_entries() const {
  std::vector<std::int64_t> dependent;
  for (const std::int64_t entry : entries_) {
    const bool complete = std::all_of(known_.begin(), known_.end(), [&](const auto& pair) {
      const Known& known = pair.second;
      return (known.given && !known.varies) || known.packets.contains(entry);
    });
    if (!complete) dependent.push_back(entry);
  }
  return dependent;
}

} // namespace lanner
