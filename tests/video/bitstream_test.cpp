// Entry points and disposable pictures by the headers' own bits.

#include "video/bitstream/bitstream.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "video/index/packet_table.h"

namespace lanner {
namespace {

using Units = std::vector<std::vector<int>>;

std::vector<std::byte> behind_start_codes(const Units& units) {
  std::vector<std::byte> bytes;
  for (const auto& unit : units) {
    for (const int byte : {0, 0, 1}) bytes.push_back(static_cast<std::byte>(byte));
    for (const int byte : unit) bytes.push_back(static_cast<std::byte>(byte));
  }
  return bytes;
}

StreamInfo stream_of(const char* codec, const Units& given = {}) {
  StreamInfo stream;
  stream.codec = codec;
  stream.extradata = behind_start_codes(given);
  return stream;
}

PacketTraits scan(PacketScanner& scanner, const std::vector<std::byte>& bytes, bool key = false) {
  Packet packet;
  packet.bytes = bytes;
  packet.key = key;
  return scanner.scan(packet);
}

PacketTraits scan(PacketScanner& scanner, const Units& units, bool key = false) {
  return scan(scanner, behind_start_codes(units), key);
}

// Baseline, 64x48, frames only; picture parameter sets 0.
const std::vector<int> sps{0x67, 66, 0, 30, 0xf4, 0x23, 0xc8};
const std::vector<int> pps{0x68, 0xce, 0x3c, 0x80}, other_pps{0x68, 0xce, 0x0c, 0x80};
const std::vector<int> idr{0x65, 0x88, 0x84}, referenced{0x41, 0x9a, 0x02}, unreferenced{0x01, 0x9a, 0x02};
std::vector<int> recovery(int payload) {
  return {0x06, 6, 1, payload, 0x80};
}

TEST(Bitstream, H264) {
  PacketScanner scanner(stream_of("h264", {sps, pps}));
  EXPECT_EQ(scan(scanner, {idr}).start, EntryPoint::clean);
  EXPECT_EQ(scan(scanner, {referenced}).start, EntryPoint::none);
  EXPECT_EQ(scan(scanner, {referenced}, true).start, EntryPoint::inexact);
  EXPECT_EQ(scan(scanner, {recovery(0xc4), referenced}, true).start, EntryPoint::recovery);
  EXPECT_EQ(scan(scanner, {recovery(0xc4), referenced}).start, EntryPoint::recovery);
  EXPECT_EQ(scan(scanner, {recovery(0x84), referenced}, true).start, EntryPoint::inexact) << "not exact";
  EXPECT_EQ(scan(scanner, {recovery(0x58), referenced}).start, EntryPoint::inexact) << "reached later";
  EXPECT_FALSE(scan(scanner, {{0x09, 0xf0}}).shown) << "no slice";
  EXPECT_TRUE(scanner.inexact_entries().empty());
}

TEST(Bitstream, H264PicturesThatNobodyNeeds) {
  PacketScanner scanner(stream_of("h264", {sps, pps}));
  EXPECT_TRUE(scan(scanner, {unreferenced}).disposable);
  EXPECT_TRUE(scan(scanner, {unreferenced, unreferenced}).disposable);
  EXPECT_FALSE(scan(scanner, {referenced}).disposable);
  EXPECT_FALSE(scan(scanner, {unreferenced, referenced}).disposable);
  EXPECT_FALSE(scan(scanner, {idr}).disposable);
  // frame_mbs_only_flag 0: the other field may be a packet that others need.
  const std::vector<int> interlaced{0x67, 77, 0, 30, 0xf4, 0x23, 0x24};
  EXPECT_FALSE(scan(scanner, {interlaced, unreferenced}).disposable);
  EXPECT_FALSE(scan(scanner, {unreferenced}).disposable);
}

// A field that is a packet of its own is half of a frame: which one, only decoding tells.
TEST(Bitstream, H264FieldsAsPackets) {
  const std::vector<int> interlaced{0x67, 77, 0, 30, 0xf4, 0x23, 0x24};
  // first_mb 0, slice_type 5 (P), set 0, frame_num in 4 bits, then field_pic_flag and bottom_field_flag.
  const auto slice = [](int field_bits, int count) {
    return std::vector<int>{0x41, 0x9a, field_bits << (5 - count), 0x80};
  };
  PacketScanner scanner(stream_of("h264", {interlaced, pps}));
  const auto top = slice(0b10, 2), bottom = slice(0b11, 2), frame = slice(0b0, 1);
  EXPECT_FALSE(scan(scanner, {frame}).doubtful);
  EXPECT_TRUE(scan(scanner, {top}).doubtful);
  EXPECT_TRUE(scan(scanner, {bottom}).doubtful);
  EXPECT_FALSE(scan(scanner, {top, bottom}).doubtful) << "both fields make a frame";
  EXPECT_TRUE(scan(scanner, {top, top}).doubtful) << "slices of one field";
  PacketScanner progressive(stream_of("h264", {sps, pps}));
  EXPECT_FALSE(scan(progressive, {top}).doubtful);
  PacketScanner unknown(stream_of("h264", {interlaced}));
  EXPECT_TRUE(scan(unknown, {frame}).doubtful) << "the picture's set is missing";
}

TEST(Bitstream, EntriesThatLackParameterSets) {
  PacketScanner changing(stream_of("h264", {sps, pps}));
  scan(changing, {idr}); // 0: decodes by the container's set, but a later one took its place.
  scan(changing, {other_pps, referenced}); // 1
  scan(changing, {idr});                   // 2: lacks the set of packet 1.
  scan(changing, {other_pps, idr});        // 3
  EXPECT_EQ(changing.inexact_entries(), (std::vector<std::int64_t>{0, 2}));

  PacketScanner bare(stream_of("h264"));
  scan(bare, {sps, pps, idr});
  scan(bare, {idr});
  scan(bare, {sps, pps, idr});
  EXPECT_EQ(bare.inexact_entries(), std::vector<std::int64_t>{1});
}

std::vector<int> hevc(int type, int layer = 0) {
  return {type << 1, layer + 1, 0xaf, 0x08};
}

TEST(Bitstream, Hevc) {
  PacketScanner scanner(stream_of("hevc"));
  EXPECT_EQ(scan(scanner, {hevc(21)}).start, EntryPoint::open);
  EXPECT_FALSE(scan(scanner, {hevc(8)}).shown) << "the first CRA's RASL";
  EXPECT_TRUE(scan(scanner, {hevc(6)}).shown) << "RADL";
  EXPECT_EQ(scan(scanner, {hevc(19)}).start, EntryPoint::clean);
  EXPECT_EQ(scan(scanner, {hevc(20)}).start, EntryPoint::clean);
  EXPECT_EQ(scan(scanner, {hevc(21)}).start, EntryPoint::open);
  EXPECT_TRUE(scan(scanner, {hevc(9)}).shown);
  EXPECT_EQ(scan(scanner, {hevc(16)}).start, EntryPoint::broken_link);
  EXPECT_FALSE(scan(scanner, {hevc(9)}).shown) << "RASL of BLA";
  EXPECT_EQ(scan(scanner, {hevc(1)}).start, EntryPoint::none);
  EXPECT_EQ(scan(scanner, {{39 << 1, 1, 6, 1, 0xd0, 0x80}, hevc(1)}).start, EntryPoint::recovery);
  EXPECT_EQ(scan(scanner, {{39 << 1, 1, 6, 1, 0x50, 0x80}, hevc(1)}).start, EntryPoint::inexact);
  EXPECT_TRUE(scan(scanner, {hevc(0)}).disposable);
  EXPECT_FALSE(scan(scanner, {hevc(1)}).disposable);
  EXPECT_TRUE(scan(scanner, {hevc(2, 2)}).disposable);
  EXPECT_EQ(scan(scanner, {hevc(2, 2)}).layer, 2);
}

std::vector<std::byte> bytes_of(std::initializer_list<int> list) {
  std::vector<std::byte> bytes;
  for (const int byte : list) bytes.push_back(static_cast<std::byte>(byte));
  return bytes;
}

TEST(Bitstream, Av1) {
  PacketScanner scanner(stream_of("av1"));
  const int delimiter = 0x12, sequence = 0x0a, frame = 0x32;
  // A sequence header that is not of a reduced still picture; then show_existing 0, type 0 (key), shown 1.
  EXPECT_EQ(scan(scanner, bytes_of({delimiter, 0, sequence, 1, 0x00, frame, 1, 0x10})).start,
            EntryPoint::clean);
  const PacketTraits forward = scan(scanner, bytes_of({delimiter, 0, sequence, 1, 0x00, frame, 1, 0x00}));
  EXPECT_EQ(forward.start, EntryPoint::open) << "shown later";
  EXPECT_TRUE(forward.delayed);
  EXPECT_EQ(scan(scanner, bytes_of({delimiter, 0, frame, 1, 0x10})).start, EntryPoint::inexact)
      << "no sequence header";
  EXPECT_EQ(scan(scanner, bytes_of({delimiter, 0, frame, 1, 0x30})).start, EntryPoint::none) << "inter";
  const PacketTraits again = scan(scanner, bytes_of({delimiter, 0, 0x1a, 1, 0x80}));
  EXPECT_EQ(again.start, EntryPoint::none) << "shows an existing frame";
  EXPECT_TRUE(again.shown);
  EXPECT_FALSE(scan(scanner, bytes_of({delimiter, 0})).shown);
}

TEST(Bitstream, Vp8AndVp9) {
  PacketScanner vp8(stream_of("vp8"));
  EXPECT_EQ(scan(vp8, bytes_of({0x10, 2, 0})).start, EntryPoint::clean);
  EXPECT_EQ(scan(vp8, bytes_of({0x11, 2, 0}), true).start, EntryPoint::none);
  EXPECT_FALSE(scan(vp8, bytes_of({0x01, 2, 0})).shown);
  PacketScanner vp9(stream_of("vp9"));
  EXPECT_EQ(scan(vp9, bytes_of({0x82, 0x49})).start, EntryPoint::clean);
  EXPECT_EQ(scan(vp9, bytes_of({0x86, 0})).start, EntryPoint::none);
  EXPECT_FALSE(scan(vp9, bytes_of({0x84, 0})).shown);
  EXPECT_TRUE(scan(vp9, bytes_of({0x88, 0})).shown) << "shows an existing frame";
  EXPECT_FALSE(scan(vp9, bytes_of({0x86, 0})).disposable);
}

std::vector<int> mpeg_picture(int type) {
  return {0x00, 0x00, type << 3, 0x00};
}

TEST(Bitstream, Mpeg) {
  PacketScanner scanner(stream_of("mpeg2video"));
  const std::vector<int> sequence{0xb3, 0x14}, closed{0xb8, 0, 0, 0, 0x40}, open{0xb8, 0, 0, 0, 0x00};
  EXPECT_EQ(scan(scanner, {sequence, closed, mpeg_picture(1)}).start, EntryPoint::clean);
  EXPECT_EQ(scan(scanner, {sequence, open, mpeg_picture(1)}).start, EntryPoint::open);
  EXPECT_EQ(scan(scanner, {closed, mpeg_picture(1)}).start, EntryPoint::clean);
  EXPECT_EQ(scan(scanner, {mpeg_picture(1)}).start, EntryPoint::inexact);
  EXPECT_EQ(scan(scanner, {mpeg_picture(2)}).start, EntryPoint::none);
  EXPECT_FALSE(scan(scanner, {mpeg_picture(2)}).disposable);
  EXPECT_TRUE(scan(scanner, {mpeg_picture(3)}).disposable);
  const std::vector<int> top_field{0xb5, 0x8f, 0xff, 0xf0, 0x40};
  EXPECT_FALSE(scan(scanner, {mpeg_picture(3), top_field}).disposable) << "half of a picture";
  scan(scanner, {mpeg_picture(2), {0xb5, 0x30}}); // A matrix for all that follows.
  EXPECT_EQ(scan(scanner, {closed, mpeg_picture(1)}).start, EntryPoint::inexact);
  EXPECT_EQ(scan(scanner, {sequence, closed, mpeg_picture(1)}).start, EntryPoint::clean);
}

TEST(Bitstream, Mpeg4) {
  PacketScanner scanner(stream_of("mpeg4"));
  const std::vector<int> intra{0xb6, 0x10}, predicted{0xb6, 0x50}, between{0xb6, 0x90};
  EXPECT_EQ(scan(scanner, {intra}).start, EntryPoint::open);
  EXPECT_EQ(scan(scanner, {{0xb3, 0, 0, 0x20}, intra}).start, EntryPoint::clean);
  EXPECT_EQ(scan(scanner, {predicted}).start, EntryPoint::none);
  EXPECT_TRUE(scan(scanner, {between}).disposable);
  EXPECT_FALSE(scan(scanner, {predicted, between}).disposable) << "two pictures in one packet";
}

// Times of 5 bits: modulo 0, marker, time, marker, coded or not, stuffing.
std::vector<int> plane_at(int type, int time, bool coded = true) {
  const int bits = type << 14 | 1 << 12 | time << 7 | 1 << 6 | (coded ? 1 << 5 | 1 : 0) | 0x0f;
  std::vector<int> unit{0xb6, bits >> 8, bits & 255};
  if (coded) unit.resize(30, 0x55);
  return unit;
}

TEST(Bitstream, Mpeg4PackedPictures) {
  PacketScanner scanner(stream_of("mpeg4"));
  const auto intra = plane_at(0, 7), predicted = plane_at(1, 9), between = plane_at(2, 8);
  EXPECT_FALSE(scan(scanner, {intra}, true).doubtful);
  const PacketTraits pair = scan(scanner, {predicted, between});
  EXPECT_TRUE(pair.doubtful);
  EXPECT_FALSE(pair.other_picture);
  const PacketTraits late = scan(scanner, {between});
  EXPECT_TRUE(late.doubtful && late.other_picture);
  EXPECT_FALSE(late.disposable) << "it shows the picture before and brings the next";
  const PacketTraits filler = scan(scanner, {plane_at(0, 9, false)}, true);
  EXPECT_TRUE(filler.other_picture) << "no keyframe";
  EXPECT_EQ(filler.start, EntryPoint::none);
  const PacketTraits clear = scan(scanner, {intra}, true);
  EXPECT_FALSE(clear.doubtful || clear.other_picture);
  EXPECT_EQ(clear.start, EntryPoint::open);
  EXPECT_TRUE(scan(scanner, {between}).disposable);
  EXPECT_TRUE(scan(scanner, {plane_at(1, 9, false)}).doubtful) << "perhaps no frame";
}

TEST(Bitstream, Mpeg4EntriesBeforePackedPictures) {
  const auto inexact = [](int filler_time, bool filled, bool reference_waits = false) {
    PacketScanner scanner(stream_of("mpeg4"));
    EXPECT_EQ(scan(scanner, {plane_at(0, 7), plane_at(2, 5)}).start, EntryPoint::open);
    scan(scanner, {plane_at(2, 6)});
    if (filled) scan(scanner, {plane_at(0, filler_time, false)});
    if (reference_waits) scan(scanner, {plane_at(2, 8), plane_at(2, 8)});
    scan(scanner, {plane_at(1, 9)});
    return scanner.inexact_entries();
  };
  EXPECT_TRUE(inexact(7, true).empty());
  EXPECT_EQ(inexact(6, true), std::vector<std::int64_t>{0}) << "the filler moves the clock";
  EXPECT_EQ(inexact(7, false), std::vector<std::int64_t>{0}) << "the reference is lost in order";
  EXPECT_EQ(inexact(7, true, true), std::vector<std::int64_t>{0}) << "the second is kept in order";
}

TEST(Bitstream, Mpeg4EntriesThatLackHeaders) {
  const std::vector<int> layer{0x20, 0x08, 0x84}, user_data{0xb2, 'D', 'i', 'v', 'X'}, intra{0xb6, 0x10};
  PacketScanner bare(stream_of("mpeg4"));
  EXPECT_EQ(scan(bare, {layer, user_data, intra}).start, EntryPoint::open);
  EXPECT_EQ(scan(bare, {layer, intra}).start, EntryPoint::inexact)
      << "the encoder is known by the first only";
  EXPECT_EQ(scan(bare, {intra}).start, EntryPoint::inexact);
  EXPECT_EQ(scan(bare, {layer, user_data, intra}).start, EntryPoint::open);
  PacketScanner given(stream_of("mpeg4", {layer, user_data, {0xb6}}));
  EXPECT_EQ(scan(given, {layer, user_data, intra}).start, EntryPoint::open);
  EXPECT_EQ(scan(given, {intra}).start, EntryPoint::open);
  scan(given, {layer, {0xb2, 'X', 'v', 'i', 'D'}, intra});
  EXPECT_EQ(scan(given, {layer, intra}).start, EntryPoint::inexact);
}

TEST(Bitstream, PicturesShownBeforeEarlierOnes) {
  PacketScanner h264(stream_of("h264", {sps, pps}));
  EXPECT_FALSE(scan(h264, {referenced}).reordered);
  EXPECT_TRUE(scan(h264, {{0x01, 0x9c + 2, 0x02}}).reordered) << "slice_type 6, all slices B";
  PacketScanner mpeg2(stream_of("mpeg2video"));
  EXPECT_FALSE(scan(mpeg2, {mpeg_picture(2)}).reordered);
  EXPECT_TRUE(scan(mpeg2, {mpeg_picture(3)}).reordered);
  PacketScanner mpeg4(stream_of("mpeg4"));
  EXPECT_TRUE(scan(mpeg4, {plane_at(2, 8)}).reordered);
  EXPECT_FALSE(scan(mpeg4, {plane_at(1, 8)}).reordered);
}

/// A sequence parameter set of H.265 of one layer, 64x64 pixels, with this sps_max_num_reorder_pics.
std::vector<int> hevc_set(int reordered) {
  std::vector<int> set{33 << 1, 1, 0x01};
  set.resize(3 + 12, 0x11);
  // ue: id 0, chroma 1, width 64, height 64, no window, depths 0, poc 0, one layer, buffering 2 ...
  const char* bits = "1"
                     "010"
                     "0000001000001"
                     "0000001000001"
                     "0"
                     "1"
                     "1"
                     "1"
                     "1"
                     "011";
  std::string all = bits + std::string(reordered == 0 ? "1" : "010") + "1" + "1";
  while (all.size() % 8) all += '0';
  for (std::size_t i = 0; i < all.size(); i += 8) set.push_back(std::stoi(all.substr(i, 8), nullptr, 2));
  return set;
}

TEST(Bitstream, HevcSaysWhetherItReorders) {
  EXPECT_TRUE(PacketScanner(stream_of("hevc", {hevc_set(1)})).reorders());
  EXPECT_FALSE(PacketScanner(stream_of("hevc", {hevc_set(0)})).reorders());
  PacketScanner scanner(stream_of("hevc"));
  EXPECT_FALSE(scanner.reorders());
  scan(scanner, {hevc_set(1), hevc(19)});
  EXPECT_TRUE(scanner.reorders());
}

TEST(Bitstream, UnknownCodecsAreNoPlaceToStart) {
  PacketScanner scanner(stream_of("svq1"));
  EXPECT_EQ(scan(scanner, bytes_of({1, 2}), true).start, EntryPoint::inexact);
  EXPECT_EQ(scan(scanner, bytes_of({1, 2})).start, EntryPoint::none);
  EXPECT_EQ(scan(scanner, bytes_of({}), true).start, EntryPoint::none);
}

} // namespace
} // namespace lanner
