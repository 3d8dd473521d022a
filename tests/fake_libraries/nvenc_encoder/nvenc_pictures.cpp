#include "fake_libraries/nvenc_encoder/nvenc_pictures.h"

#include <cstring>

#include "device/cuda/gpu.h"

namespace lanner::test {

using namespace nvenc;

EncoderOptions nvenc_options(const std::string& codec) {
  EncoderOptions options;
  options.codec = codec;
  options.width = codec == "av1" ? 192 : 160;
  options.height = codec == "av1" ? 128 : 64;
  options.format = PixelFormat::nv12;
  options.rate = {25, 1};
  options.preset = "P1";
  options.device = gpu_device;
  return options;
}

Image nvenc_pattern(PixelFormat format, std::int32_t width, std::int32_t height, int time, Device device) {
  Image image = Image::allocate(format, width, height);
  const PixelFormatInfo& facts = format_info(format);
  const unsigned mask = (1u << facts.bits) - 1;
  for (int p = 0; p < facts.planes; ++p) {
    const Plane& plane = image.planes[static_cast<std::size_t>(p)];
    for (std::int32_t y = 0; y < plane.height; ++y)
      for (std::int32_t x = 0; x < plane.width * facts.samples[static_cast<std::size_t>(p)]; ++x) {
        const unsigned value =
            static_cast<unsigned>(x * 3 + y * 5 + (x * y >> 3) + p * 40 + time * 13) & mask;
        const auto sample = static_cast<std::uint16_t>(value << facts.shift);
        std::memcpy(plane.data + y * plane.pitch + x * facts.bytes_per_sample, &sample,
                    facts.bytes_per_sample);
      }
  }
  if (device.is_host()) return image;
  Image there = Image::allocate(format, width, height, {}, device);
  copy_image(image, there);
  return there;
}

Image nvenc_pattern_for(const EncoderOptions& options, int time, Device device) {
  return nvenc_pattern(options.format, options.width, options.height, time, device);
}

namespace {

void take_ready(Encoder& encoder, std::vector<Packet>& packets) {
  while (auto packet = encoder.receive()) packets.push_back(std::move(*packet));
}

} // namespace

std::vector<Packet> send_patterns(Encoder& encoder, const EncoderOptions& options, int begin, int end,
                                  const BeforeTime& before) {
  std::vector<Packet> packets;
  for (int time = begin; time < end; ++time) {
    const PictureRequest request = before ? before(encoder, time) : PictureRequest();
    const EncoderReconfigure now = encoder.reconfigurable();
    const Image image = nvenc_pattern(options.format, now.width, now.height, time);
    while (!encoder.send(&image, time, request)) take_ready(encoder, packets);
    take_ready(encoder, packets);
  }
  return packets;
}

std::vector<Packet> end_encoder(Encoder& encoder) {
  std::vector<Packet> packets;
  while (!encoder.send(nullptr)) take_ready(encoder, packets);
  take_ready(encoder, packets);
  EXPECT_TRUE(encoder.finished());
  return packets;
}

std::vector<Packet> encode_patterns(const EncoderOptions& options, int count, const BeforeTime& before) {
  const auto encoder = create_encoder(options);
  std::vector<Packet> packets = send_patterns(*encoder, options, 0, count, before);
  for (Packet& packet : end_encoder(*encoder)) packets.push_back(std::move(packet));
  return packets;
}

std::string types_of(const std::vector<Packet>& packets) {
  std::string letters;
  for (const Packet& packet : packets)
    letters += packet.key ? "D" : std::string(to_string(packet.picture_type));
  return letters;
}

std::vector<std::int64_t> times_of(const std::vector<Packet>& packets) {
  std::vector<std::int64_t> times;
  for (const Packet& packet : packets) times.push_back(packet.pts);
  return times;
}

std::vector<std::byte> bytes_of(const std::vector<Packet>& packets) {
  std::vector<std::byte> bytes;
  for (const Packet& packet : packets) bytes.insert(bytes.end(), packet.bytes.begin(), packet.bytes.end());
  return bytes;
}

const NV_ENC_INITIALIZE_PARAMS& recorded() {
  const NV_ENC_INITIALIZE_PARAMS* found = fake_nvenc_configuration();
  if (!found) throw std::runtime_error("no session was configured");
  return *found;
}
const NV_ENC_CONFIG& recorded_config() {
  return *recorded().encodeConfig;
}
const NV_ENC_RC_PARAMS& recorded_rates() {
  return recorded_config().rcParams;
}
const NV_ENC_CONFIG_H264& recorded_h264() {
  return recorded_config().encodeCodecConfig.h264Config;
}
const NV_ENC_CONFIG_HEVC& recorded_hevc() {
  return recorded_config().encodeCodecConfig.hevcConfig;
}
const NV_ENC_CONFIG_AV1& recorded_av1() {
  return recorded_config().encodeCodecConfig.av1Config;
}

void FakeNvencEncoder::SetUp() {
  FakeNvenc::SetUp();
  static_cast<void>(cuda::Gpu::get(gpu_device)); // Its context stays for the process.
  memory_ = fake_cuda_memory(), objects_ = fake_cuda_objects();
  leaked_ = fake_nvenc_leaked(), unflushed_ = fake_nvenc_unflushed();
}

void FakeNvencEncoder::TearDown() {
  fake_cuda_fail(0, 0);
  fake_cuda_defer(0);
  EXPECT_EQ(fake_cuda_memory(), memory_);
  EXPECT_EQ(fake_cuda_objects(), objects_);
  EXPECT_EQ(fake_cuda_contexts(), 0);
  EXPECT_EQ(fake_nvenc_leaked(), leaked_);
  EXPECT_EQ(fake_nvenc_unflushed(), unflushed_);
  FakeNvenc::TearDown();
}

} // namespace lanner::test
