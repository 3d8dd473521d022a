// SEI messages and metadata OBUs, written here by hand after their standards.

#include "video/bitstream/sei.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace lanner {
namespace {

using namespace std::string_literals;

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

StreamInfo stream_of(const std::string& codec, const std::string& extradata = "") {
  StreamInfo stream;
  stream.kind = "video";
  stream.codec = codec;
  stream.extradata = bytes_of(extradata);
  return stream;
}

/// `type:payload` of each message, in order.
std::vector<std::string> messages(const StreamInfo& stream, const std::string& packet) {
  std::vector<std::string> texts;
  for (const SeiMessage& message : SeiScanner(stream).scan(bytes_of(packet)))
    texts.push_back(std::to_string(message.type) + ":" +
                    std::string(reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size()));
  return texts;
}

using Texts = std::vector<std::string>;
const std::string code = "\0\0\0\1"s, slice = "\0\0\1\x65\x88\x84"s;

TEST(Sei, H264MessagesInOrder) {
  const std::string packet =
      code + "\x06\x05\x03xyz\x01\x00\x04\x02Z\0\x80"s + slice + code + "\x06\x2d\x01Q\x80"s;
  EXPECT_EQ(messages(stream_of("h264"), packet), (Texts{"5:xyz", "1:", "4:Z\0"s, "45:Q"}));
}

TEST(Sei, TypesAndSizesAbove255) {
  const std::string payload(300, 'p');
  const std::string packet = code + "\x06\xff\x01\xff\x2d"s + payload + "\x80"s;
  EXPECT_EQ(messages(stream_of("h264"), packet), (Texts{"256:" + payload}));
}

TEST(Sei, EmulationPreventionIsRemoved) {
  const std::string packet = code + "\x06\x05\x08\0\0\x03\1\0\0\x03\0\0\x03\x03\0\x80"s;
  EXPECT_EQ(messages(stream_of("h264"), packet), (Texts{"5:\0\0\1\0\0\0\0\x03"s}));
  const std::string last = code + "\x06\x05\x02\0\0\x03\x80"s;
  EXPECT_EQ(messages(stream_of("h264"), last), (Texts{"5:\0\0"s}));
}

TEST(Sei, PayloadThatLooksLikeTrailingBits) {
  EXPECT_EQ(messages(stream_of("h264"), code + "\x06\x05\x02\x80\x80\x80"s), (Texts{"5:\x80\x80"}));
  // Without trailing bits of its own, which is malformed but plain.
  EXPECT_EQ(messages(stream_of("h264"), code + "\x06\x05\x02\x01\x80"s), (Texts{"5:\x01\x80"}));
}

TEST(Sei, LengthPrefixes) {
  const std::string avcc = "\1\x42\0\x1e\xfd\xe1\0\4\x67\x42\0\x1e\1\0\2\x68\xce"s; // Two bytes of length.
  EXPECT_EQ(messages(stream_of("h264", avcc), "\0\6\x06\x05\2ab\x80\0\2\x65\x88"s), (Texts{"5:ab"}));
}

TEST(Sei, HevcPrefixAndSuffixOfTheBaseLayer) {
  const std::string packet = code + "\x4e\1\x89\1m\x80"s + code + "\x26\1\xaf"s + code +
                             "\x50\1\x84\2dg\x80"s + code + "\x4e\x09\x05\1x\x80"s;
  EXPECT_EQ(messages(stream_of("hevc"), packet), (Texts{"137:m", "132:dg"}));
}

TEST(Sei, Av1Metadata) {
  const std::string packet = "\x12\0"s + "\x2a\x07\x04\xb5zzz\x80\0"s + // ITU-T T.35, padded by a zero.
                             "\x2e\x08\x05\x01S4\x80\x80"s +            // With an extension header.
                             "\x0a\x01\0"s + "\x28\x03qq\x80"s;         // Without a size: to the end.
  EXPECT_EQ(messages(stream_of("av1"), packet), (Texts{"4:\xb5zzz", "1:S4\x80", "3:qq"}));
}

TEST(Sei, OtherCodecsHaveNone) {
  EXPECT_EQ(messages(stream_of("vp9"), code + "\x06\x05\x01x\x80"s), Texts());
}

TEST(Sei, WhatIsCutOffIsLeftOut) {
  const std::string packet = code + "\x06\x05\x03xyz\x04\x20\x61\x80"s;
  EXPECT_EQ(messages(stream_of("h264"), packet), (Texts{"5:xyz"}));
  EXPECT_EQ(messages(stream_of("h264"), code + "\x06\xff\xff\xff"s), Texts());
  EXPECT_EQ(messages(stream_of("h264"), code + "\x06"s), Texts());
  EXPECT_EQ(messages(stream_of("av1"), "\x2a\xff\xff\xff\xff\xff\xff\xff\xff\xff"s), Texts());
  EXPECT_EQ(messages(stream_of("av1"), "\xaa\x02\x04z"s), Texts()); // The forbidden bit.
  EXPECT_EQ(messages(stream_of("av1"), "\x2e"s), Texts());
}

TEST(Sei, AFloodIsBounded) {
  std::string packet = code + "\x06"s;
  for (int i = 0; i < 10000; ++i) packet += "\x05\0"s + (i % 2 ? ""s : "\x03"s);
  EXPECT_LE(messages(stream_of("h264"), packet).size(), 4096u);
  std::string metadata;
  for (int i = 0; i < 10000; ++i) metadata += "\x2a\x01\x04"s;
  EXPECT_EQ(messages(stream_of("av1"), metadata).size(), 4096u);
}

TEST(Sei, HostileBytesAreBounded) {
  std::mt19937 random(11);
  for (const char* codec : {"h264", "hevc", "av1"})
    for (int trial = 0; trial < 500; ++trial) {
      std::string packet = trial % 2 ? code + (*codec == 'h' ? "\x06"s : "\x2a"s) : ""s;
      for (std::size_t n = random() % 200; n > 0; --n)
        packet += static_cast<char>(random() % 3 ? random() % 8 : random());
      std::size_t sum = 0;
      for (const SeiMessage& message : SeiScanner(stream_of(codec)).scan(bytes_of(packet)))
        sum += message.bytes.size();
      EXPECT_LE(sum, packet.size());
    }
}

TEST(SeiQueue, GivesEachPacketItsOwn) {
  SeiQueue queue;
  queue.add(3, {{5, bytes_of("a")}});
  queue.add(4, {});
  queue.add(5, {{5, bytes_of("b")}, {6, {}}});
  EXPECT_EQ(queue.take(5).size(), 2u);
  EXPECT_TRUE(queue.take(5).empty());
  EXPECT_TRUE(queue.take(4).empty());
  EXPECT_EQ(queue.take(3).size(), 1u);
  queue.add(6, {{5, {}}});
  queue.clear();
  EXPECT_TRUE(queue.take(6).empty());
}

TEST(SeiQueue, DoesNotPileUp) {
  SeiQueue queue;
  for (int i = 0; i < 1000; ++i) queue.add(i, {{5, {}}});
  EXPECT_TRUE(queue.take(487).empty());
  EXPECT_EQ(queue.take(488).size(), 1u);
  queue.clear();
  for (int i = 0; i < 3; ++i) queue.add(i, {{5, std::vector<std::byte>(40u << 20)}});
  EXPECT_TRUE(queue.take(1).empty());
  EXPECT_EQ(queue.take(2).size(), 1u);
}

} // namespace
} // namespace lanner
