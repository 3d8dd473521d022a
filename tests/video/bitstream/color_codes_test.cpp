// Code points of colours in parameter sets, beside what encoders were asked for.

#include "video/bitstream/color_codes.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/encoder.h>

#include "video/encoded.h"

namespace lanner {
namespace {

EncoderOptions colourful(const std::string& codec) {
  EncoderOptions options = test::small_options(codec);
  options.color = {ColorMatrix::bt2020, ColorRange::limited, ChromaSiting::left, 9, 16};
  return options;
}

void expect_codes(const EncoderOptions& options, int primaries, int transfer, int matrix) {
  const test::EncodedStream made = test::encoded(options, 3);
  ColorScanner scanner(made.stream);
  if (!options.global_header) {
    EXPECT_EQ(scanner.codes().matrix, 2);
    scanner.see(made.packets[0]);
  }
  EXPECT_EQ(scanner.codes().primaries, primaries);
  EXPECT_EQ(scanner.codes().transfer, transfer);
  EXPECT_EQ(scanner.codes().matrix, matrix);
  if (options.global_header) return;
  Packet other = made.packets[0];
  other.key = false;
  ColorScanner unseen(made.stream);
  unseen.see(other);
  EXPECT_EQ(unseen.codes().matrix, 2) << "of keyframes alone";
}

TEST(ColorCodes, OfH264) {
  LANNER_NEEDS_ENCODER("libx264");
  for (const bool apart : {false, true})
    for (const std::string params :
         {"", "cqm=jvt", "interlaced=1:tff=1", "nal-hrd=vbr:vbv-maxrate=100:vbv-bufsize=100"}) {
      SCOPED_TRACE(params);
      EncoderOptions options = colourful("libx264");
      options.global_header = apart;
      options.sample_aspect = {7, 5};
      if (!params.empty()) options.codec_options["x264-params"] = params;
      expect_codes(options, 9, 16, 9);
      options.width = 90; // Cropped.
      options.height = 52;
      expect_codes(options, 9, 16, 9);
    }
}

TEST(ColorCodes, OfHevc) {
  LANNER_NEEDS_ENCODER("libx265");
  for (const bool apart : {false, true})
    for (const std::string params :
         {"", "scaling-list=default", "bframes=4:b-pyramid=1:ref=5", "keyint=1", "amp=1:rect=1:sao=0"}) {
      SCOPED_TRACE(params);
      EncoderOptions options = colourful("libx265");
      options.global_header = apart;
      options.sample_aspect = {7, 5};
      if (!params.empty()) options.codec_options["x265-params"] = params;
      expect_codes(options, 9, 16, 9);
      options.width = 90;
      options.height = 52;
      expect_codes(options, 9, 16, 9);
    }
}

class Bits {
public:
  Bits& put(std::uint64_t value, int count) {
    for (int i = count; i-- > 0;) bits_.push_back(value >> i & 1);
    return *this;
  }
  Bits& ue(std::uint64_t value) {
    int count = 0;
    while ((value + 1) >> (count + 1)) ++count;
    return put(0, count).put(value + 1, count + 1);
  }
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> result((bits_.size() + 7) / 8);
    for (std::size_t i = 0; i < bits_.size(); ++i)
      if (bits_[i]) result[i / 8] |= static_cast<std::byte>(0x80 >> i % 8);
    return result;
  }

private:
  std::vector<bool> bits_;
};

TEST(ColorCodes, OfHevcBehindPredictedReferences) {
  Bits set;
  set.put(0x4201, 16).put(0, 4).put(0, 3).put(1, 1);   // NAL header; the set of video parameters; layers.
  set.put(0xffffffffffff, 48).put(0xffffffffffff, 48); // Profile and level.
  set.ue(0).ue(1).ue(64).ue(48).put(0, 1).ue(0).ue(0).ue(4).put(1, 1).ue(4).ue(2).ue(0);
  for (int i = 0; i < 6; ++i) set.ue(0);
  set.put(0, 1).put(0, 2).put(0, 1);                               // Without lists, tools and PCM.
  set.ue(3);                                                       // Sets of references.
  set.ue(2).ue(1).ue(0).put(1, 1).ue(1).put(1, 1).ue(0).put(1, 1); // -1, -3, 1.
  set.put(1, 1).put(0, 1).ue(0).put(15, 4);                        // By 1: 0 is left out; -2, 2, 1.
  set.put(1, 1).put(1, 1).ue(1).put(1, 1).put(0, 1).put(0, 1).put(1, 1).put(1, 1); // By -2, of three.
  set.put(1, 1).ue(1).put(7, 8).put(1, 1);                                         // One long-term picture.
  set.put(0, 2).put(1, 1);                                                         // VUI.
  set.put(0, 1).put(0, 1).put(1, 1).put(5, 3).put(1, 1).put(1, 1).put(12, 8).put(13, 8).put(16, 8).put(0, 16);
  StreamInfo stream;
  stream.codec = "hevc";
  stream.extradata = {std::byte{0}, std::byte{0}, std::byte{1}};
  for (const std::byte byte : set.bytes()) stream.extradata.push_back(byte);
  const ColorScanner scanner(stream);
  EXPECT_EQ(scanner.codes().primaries, 12);
  EXPECT_EQ(scanner.codes().transfer, 13);
  EXPECT_EQ(scanner.codes().matrix, 16);
}

TEST(ColorCodes, UnknownWhereNothingIsSaid) {
  LANNER_NEEDS_FFMPEG();
  for (const std::string codec : {"h264", "hevc", "mpeg4"}) {
    StreamInfo stream;
    stream.codec = codec;
    for (std::size_t size = 0; size < 40; ++size) {
      stream.extradata.assign(size, std::byte{0x67});
      EXPECT_EQ(ColorScanner(stream).codes().matrix, 2);
    }
  }
}

} // namespace
} // namespace lanner
