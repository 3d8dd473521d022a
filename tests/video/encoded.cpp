#include "video/encoded.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>

#include <fmt/format.h>

#include "temporary_folder.h"

namespace lanner::test {

bool has_encoder(std::string_view name) {
  static const VideoSupport support = video_support();
  return std::ranges::find(support.encoders, name) != support.encoders.end();
}

bool can_trace() {
  static const bool can =
      output_of("ffmpeg -hide_banner -bsfs").value_or("").find("trace_headers") != std::string::npos;
  return can;
}

std::size_t EncodedStream::bytes() const {
  std::size_t sum = 0;
  for (const Packet& packet : packets) sum += packet.bytes.size();
  return sum;
}

std::string EncodedStream::content() const {
  std::string all;
  for (const Packet& packet : packets)
    all.append(reinterpret_cast<const char*>(packet.bytes.data()), packet.bytes.size());
  return all;
}

EncoderOptions small_options(const std::string& codec) {
  EncoderOptions options;
  options.codec = codec;
  options.width = 96;
  options.height = 64;
  options.threads = 1;
  return options;
}

namespace {

using Draw = Image (*)(PixelFormat format, std::int32_t width, std::int32_t height, int time);

EncodedStream encoded_by(Draw draw, const EncoderOptions& options, int frames, const BeforePicture& before) {
  const auto encoder = create_encoder(options);
  EncodedStream made;
  const auto drain = [&] {
    while (auto packet = encoder->receive()) made.packets.push_back(*packet);
  };
  for (int i = 0; i < frames; ++i) {
    const PictureRequest request = before ? before(*encoder, i) : PictureRequest();
    const EncoderReconfigure size = encoder->reconfigurable();
    const Image picture = draw(options.format, size.width, size.height, i);
    while (!encoder->send(&picture, i, request)) drain();
    drain();
  }
  made.stream = encoder->stream();
  while (!encoder->send(nullptr)) drain();
  while (!encoder->finished()) drain();
  made.restarts = encoder->restarts();
  return made;
}

} // namespace

Image noise(PixelFormat format, std::int32_t width, std::int32_t height, int time) {
  Image rgb = pattern(PixelFormat::rgb24, width, height, time);
  std::minstd_rand random(static_cast<unsigned>(time) + 1);
  for (std::int32_t y = 0; y < height; ++y)
    for (std::int32_t x = 0; x < 3 * width; ++x) {
      std::byte& sample = rgb.planes[0].data[y * rgb.planes[0].pitch + x];
      sample = static_cast<std::byte>((std::to_integer<unsigned>(sample) + random() % 64) & 255);
    }
  if (format == PixelFormat::rgb24) return rgb;
  Image image = Image::allocate(format, width, height);
  convert_image(rgb, image);
  return image;
}

EncodedStream encoded(const EncoderOptions& options, int frames, const BeforePicture& before) {
  return encoded_by(pattern, options, frames, before);
}

EncodedStream encoded_noise(const EncoderOptions& options, int frames, const BeforePicture& before) {
  return encoded_by(noise, options, frames, before);
}

std::vector<Image> decoded(const EncodedStream& from) {
  DecoderOptions options;
  options.threads = 1;
  const auto decoder = create_decoder(from.stream, options);
  std::vector<Image> images;
  const auto drain = [&] {
    while (auto frame = decoder->receive()) images.push_back(frame->image);
  };
  for (const Packet& packet : from.packets) {
    while (!decoder->send(&packet)) drain();
    drain();
  }
  while (!decoder->send(nullptr)) drain();
  drain();
  return images;
}

HeaderTrace::HeaderTrace(const EncodedStream& from) {
  const TemporaryFolder folder;
  const std::string codec = from.stream.codec == "av1"          ? "obu"
                            : from.stream.codec == "mpeg2video" ? "m2v"
                                                                : from.stream.codec;
  const auto path = folder / ("clip." + codec);
  {
    std::ofstream file(path, std::ios::binary);
    for (const Packet& packet : from.packets) {
      const bool delimited = !packet.bytes.empty() && packet.bytes[0] == std::byte{0x12};
      if (codec == "obu" && !delimited) file.write("\x12\0", 2); // A temporal delimiter.
      file.write(reinterpret_cast<const char*>(packet.bytes.data()),
                 static_cast<std::streamsize>(packet.bytes.size()));
    }
  }
  const auto text = output_of(
      fmt::format("(ffmpeg -hide_banner -i {} -c copy -bsf:v trace_headers -f null - 2>&1)", quoted(path)));
  EXPECT_TRUE(text.has_value()) << path;
  for (const std::string& line : lines_of(text.value_or(""))) {
    if (line.find("[trace_headers") == std::string::npos) continue;
    std::istringstream words(line.substr(line.find(']') + 1));
    std::string place, name, word, last;
    words >> place >> name;
    bool value = false;
    while (words >> word) {
      value = last == "=";
      last = word;
    }
    if (value) fields_.emplace_back(name, std::stoll(last));
  }
}

std::vector<std::int64_t> HeaderTrace::all(std::string_view field) const {
  std::vector<std::int64_t> values;
  for (const auto& [name, value] : fields_)
    if (name == field) values.push_back(value);
  return values;
}

std::int64_t HeaderTrace::first(std::string_view field) const {
  const auto values = all(field);
  EXPECT_FALSE(values.empty()) << field;
  return values.empty() ? -1 : values.front();
}

std::map<char, std::vector<int>> HeaderTrace::slice_qps(bool hevc) const {
  constexpr std::string_view avc_types = "PBIxx", hevc_types = "BPI";
  std::map<char, std::vector<int>> qps;
  int initial = 26;
  char type = 'x';
  for (const auto& [name, value] : fields_) {
    if (name == (hevc ? "init_qp_minus26" : "pic_init_qp_minus26")) initial = 26 + static_cast<int>(value);
    if (name == "slice_type")
      type = hevc ? hevc_types[static_cast<std::size_t>(value)] : avc_types[value % 5];
    if (name == "slice_qp_delta") qps[type].push_back(initial + static_cast<int>(value));
  }
  return qps;
}

} // namespace lanner::test
