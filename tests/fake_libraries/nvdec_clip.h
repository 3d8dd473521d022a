#pragma once
// Clips of the fake libnvcuvid, and what decoding them must give.

#include <memory>
#include <vector>

#include <lanner/decoder.h>

#include "fake_libraries/fake_nvcuvid.h"

namespace lanner::test {

inline constexpr Device fake_gpu{DeviceKind::cuda, 0};

/// What a container would say of a stream that begins with `picture`.
StreamInfo stream_of(const fake::Picture& picture, const std::string& codec = "vp9");

/// A packet whose pts is `ordinal`.
Packet packet_of(const fake::Picture& picture, std::int64_t ordinal);

/// `count` pictures of one sequence; where `held` > 0 every second pair is decoded in the other order.
std::vector<fake::Picture> sequence(int count, const fake::Picture& like = {});

/// Sends the pictures, numbered from `first` on, and takes what comes; with `end` the rest, too.
std::vector<Frame> decode(Decoder& decoder, const std::vector<fake::Picture>& pictures, bool end = true,
                          std::int64_t first = 0);

/// Fails the test unless the frame is the picture, sample by sample, wherever it lies.
void expect_picture(const Frame& frame, const fake::Picture& picture);

/// A decoder of the fake GPU.
std::unique_ptr<Decoder> fake_decoder(const fake::Picture& picture, DecoderOptions options = {},
                                      const std::string& codec = "vp9");

} // namespace lanner::test
