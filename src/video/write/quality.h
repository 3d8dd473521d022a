#pragma once
// How close encoded pictures are to their sources.

#include <deque>
#include <memory>
#include <vector>

#include <lanner/decoder.h>
#include <lanner/transcode.h>

namespace lanner {

/// Between two host pictures of one size. `encoded` may have another format or other colours: the source is
/// converted to them.
FrameQuality compare_pictures(const Image& source, const Image& encoded);

/// Decodes what an encoder made and compares it with what it was given, in order. Keeps the pictures that
/// wait, which are as many as encoder and decoder hold back.
class QualityMeter {
public:
  /// A picture as it is given to the encoder, at its time in the new clip.
  void picture(const Image& image, double seconds);
  /// What the encoder made of them; null at the end of a stream.
  void packet(const Packet* packet, const StreamInfo& stream);
  /// Of all pictures so far.
  std::vector<FrameQuality> take() { return std::move(results_); }

private:
  void receive();

  struct Waiting {
    Image image;
    double seconds;
  };
  std::deque<Waiting> waiting_;
  std::unique_ptr<Decoder> decoder_;
  std::vector<FrameQuality> results_;
  std::int64_t next_ = 0;
};

} // namespace lanner
