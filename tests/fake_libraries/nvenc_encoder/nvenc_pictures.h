#pragma once
// Pictures for the NVENC encoder on the fake libnvidia-encode, and the streams that it makes of them.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <lanner/encoder.h>

#include "fake_driver/fake_gpu.h"
#include "fake_libraries/nvenc_by_hand.h"

namespace lanner::test {

/// Options of an encoder on the fake GPU, of a size that it takes, NV12, 25 pictures a second, preset P1.
EncoderOptions nvenc_options(const std::string& codec = "h264");

/// A picture whose samples depend on its time, on any device.
Image nvenc_pattern(PixelFormat format, std::int32_t width, std::int32_t height, int time,
                    Device device = {});
/// The same of the encoder's size and format.
Image nvenc_pattern_for(const EncoderOptions& options, int time, Device device = {});

/// Before picture `time` is sent: may change the encoder, and says what is asked for the picture.
using BeforeTime = std::function<PictureRequest(Encoder& encoder, int time)>;

/// Sends patterns of the times [begin, end) and collects what is ready.
std::vector<Packet> send_patterns(Encoder& encoder, const EncoderOptions& options, int begin, int end,
                                  const BeforeTime& before = {});
std::vector<Packet> end_encoder(Encoder& encoder);
/// All packets of that many patterns.
std::vector<Packet> encode_patterns(const EncoderOptions& options, int count, const BeforeTime& before = {});

/// One letter each in the order of the stream: D for a keyframe, I, P, B.
std::string types_of(const std::vector<Packet>& packets);
std::vector<std::int64_t> times_of(const std::vector<Packet>& packets);
std::vector<std::byte> bytes_of(const std::vector<Packet>& packets);

/// The configuration that the fake recorded.
const nvenc::NV_ENC_INITIALIZE_PARAMS& recorded();
const nvenc::NV_ENC_CONFIG& recorded_config();
const nvenc::NV_ENC_RC_PARAMS& recorded_rates();
const nvenc::NV_ENC_CONFIG_H264& recorded_h264();
const nvenc::NV_ENC_CONFIG_HEVC& recorded_hevc();
const nvenc::NV_ENC_CONFIG_AV1& recorded_av1();

/// Checks that encoders gave everything back: memory and objects of the driver too.
class FakeNvencEncoder : public FakeNvenc {
protected:
  void SetUp() override;
  void TearDown() override;

private:
  std::size_t memory_ = 0, objects_ = 0;
  long leaked_ = 0, unflushed_ = 0;
};

} // namespace lanner::test
