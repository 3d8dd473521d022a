#include "video/write/quality.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace lanner {

namespace {

/// One component of a picture: samples in rows.
struct Component {
  const std::byte* data = nullptr;
  std::int64_t pitch = 0;
  std::int32_t width = 0, height = 0;
  int step = 1, bytes = 1, shift = 0;

  double at(std::int32_t x, std::int32_t y) const {
    const std::byte* place = data + y * pitch + std::int64_t{x} * step * bytes;
    if (bytes == 1) return static_cast<double>(std::to_integer<unsigned>(*place));
    std::uint16_t sample = 0;
    std::memcpy(&sample, place, sizeof sample);
    return static_cast<double>(sample >> shift);
  }
};

/// Without opacity.
std::vector<Component> components_of(const Image& image) {
  const PixelFormatInfo& facts = format_info(image.format);
  std::vector<Component> components;
  for (std::size_t p = 0; p < facts.planes; ++p) {
    const Plane& plane = image.planes[p];
    for (int i = 0; i < (facts.gray() ? 1 : std::min<int>(facts.samples[p], 3)); ++i)
      components.push_back({plane.data + i * facts.bytes_per_sample, plane.pitch, plane.width, plane.height,
                            facts.samples[p], facts.bytes_per_sample, facts.shift});
  }
  return components;
}

double squared_error(const Component& a, const Component& b) {
  double sum = 0;
  for (std::int32_t y = 0; y < a.height; ++y)
    for (std::int32_t x = 0; x < a.width; ++x) {
      const double difference = a.at(x, y) - b.at(x, y);
      sum += difference * difference;
    }
  return sum;
}

/// Sums of 4x4 samples, of which four make a window.
struct Sums {
  double a = 0, b = 0, squares = 0, products = 0;
  void add(const Sums& other) {
    a += other.a, b += other.b, squares += other.squares, products += other.products;
  }
};

Sums sums_of(const Component& a, const Component& b, std::int32_t left, std::int32_t top, std::int32_t width,
             std::int32_t height) {
  Sums sums;
  for (std::int32_t y = top; y < top + height; ++y)
    for (std::int32_t x = left; x < left + width; ++x) {
      const double p = a.at(x, y), q = b.at(x, y);
      sums.add({p, q, p * p + q * q, p * q});
    }
  return sums;
}

/// Wang, Bovik, Sheikh, Simoncelli 2004, equation 13, of `count` samples up to `peak`.
double similarity(const Sums& sums, double count, double peak) {
  const double c1 = 0.01 * peak * 0.01 * peak, c2 = 0.03 * peak * 0.03 * peak;
  const double mean_a = sums.a / count, mean_b = sums.b / count;
  const double others = std::max(count - 1, 1.0);
  const double variances = (sums.squares - count * (mean_a * mean_a + mean_b * mean_b)) / others;
  const double covariance = (sums.products - count * mean_a * mean_b) / others;
  return (2 * mean_a * mean_b + c1) * (2 * covariance + c2) /
         ((mean_a * mean_a + mean_b * mean_b + c1) * (variances + c2));
}

double mean_similarity(const Component& a, const Component& b, double peak) {
  constexpr std::int32_t side = 4;
  const std::int32_t across = a.width / side, down = a.height / side;
  if (across < 2 || down < 2)
    return similarity(sums_of(a, b, 0, 0, a.width, a.height), double(a.width) * a.height, peak);
  std::vector<Sums> above(static_cast<std::size_t>(across)), row(above.size());
  double total = 0;
  for (std::int32_t y = 0; y < down; ++y, std::swap(above, row)) {
    for (std::int32_t x = 0; x < across; ++x)
      row[static_cast<std::size_t>(x)] = sums_of(a, b, x * side, y * side, side, side);
    for (std::size_t x = 1; y > 0 && x < row.size(); ++x) {
      Sums window = row[x - 1];
      for (const Sums& part : {row[x], above[x - 1], above[x]}) window.add(part);
      total += similarity(window, 4.0 * side * side, peak);
    }
  }
  return total / (static_cast<double>(across - 1) * static_cast<double>(down - 1));
}

double decibels(double mean_square, double peak) {
  return mean_square > 0 ? 10 * std::log10(peak * peak / mean_square)
                         : std::numeric_limits<double>::infinity();
}

bool same_colors(const ColorInfo& a, const ColorInfo& b) {
  const bool full_a = a.range == ColorRange::full, full_b = b.range == ColorRange::full;
  const auto told = [](const ColorInfo& color) { return color.matrix != ColorMatrix::unspecified; };
  return full_a == full_b && (a.matrix == b.matrix || !told(a) || !told(b));
}

Image as_encoded(const Image& source, const Image& encoded) {
  if (source.format == encoded.format &&
      (!format_info(source.format).yuv || same_colors(source.color, encoded.color)))
    return source;
  Image converted = Image::allocate(encoded.format, source.width, source.height);
  converted.color = encoded.color;
  convert_image(source, converted);
  return converted;
}

} // namespace

FrameQuality compare_pictures(const Image& source, const Image& encoded) {
  check(source.width == encoded.width && source.height == encoded.height, ErrorCode::internal,
        "quality: a picture of {}x{} was encoded as {}x{}", source.width, source.height, encoded.width,
        encoded.height);
  const Image reference = as_encoded(source, encoded);
  const double peak = (1u << format_info(encoded.format).bits) - 1.0;
  const std::vector<Component> a = components_of(reference), b = components_of(encoded);
  FrameQuality quality;
  double samples = 0, errors = 0, similarities = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double count = static_cast<double>(a[i].width) * a[i].height;
    const double error = squared_error(a[i], b[i]), similar = mean_similarity(a[i], b[i], peak);
    quality.psnr.push_back(decibels(error / count, peak));
    quality.ssim.push_back(similar);
    samples += count, errors += error, similarities += similar * count;
  }
  quality.psnr_all = decibels(errors / samples, peak);
  quality.ssim_all = similarities / samples;
  return quality;
}

void QualityMeter::picture(const Image& image, double seconds) {
  waiting_.push_back({image, seconds});
}

void QualityMeter::packet(const Packet* packet, const StreamInfo& stream) {
  if (!decoder_) {
    if (!packet) return;
    DecoderOptions options;
    options.threads = 1; // Frames come as soon as they can.
    decoder_ = create_decoder(stream, options);
  }
  Packet given;
  if (packet) {
    given = *packet;
    given.stream = stream.index;
  }
  while (!decoder_->send(packet ? &given : nullptr)) receive();
  receive();
  if (!packet) decoder_.reset();
}

void QualityMeter::receive() {
  while (std::optional<Frame> frame = decoder_->receive()) {
    check(!waiting_.empty(), ErrorCode::internal, "quality: more pictures came out than went in");
    const Waiting source = std::move(waiting_.front());
    waiting_.pop_front();
    FrameQuality quality = compare_pictures(source.image, frame->image);
    quality.frame = next_++;
    quality.seconds = source.seconds;
    results_.push_back(std::move(quality));
  }
}

std::string quality_table(const std::vector<FrameQuality>& quality) {
  std::string text = "frame,seconds,psnr,ssim";
  const std::size_t planes = quality.empty() ? 0 : quality[0].psnr.size();
  for (std::size_t i = 0; i < planes; ++i) text += fmt::format(",psnr_{0},ssim_{0}", i);
  text += '\n';
  for (const FrameQuality& one : quality) {
    text += fmt::format("{},{:.6f},{:.4f},{:.6f}", one.frame, one.seconds, one.psnr_all, one.ssim_all);
    for (std::size_t i = 0; i < one.psnr.size(); ++i)
      text += fmt::format(",{:.4f},{:.6f}", one.psnr[i], one.ssim[i]);
    text += '\n';
  }
  return text;
}

std::string quality_summary(const std::vector<FrameQuality>& quality) {
  if (quality.empty()) return "quality: no frames";
  double psnr = 0, ssim = 0;
  for (const FrameQuality& one : quality) psnr += one.psnr_all, ssim += one.ssim_all;
  const auto count = static_cast<double>(quality.size());
  const auto worst = std::ranges::min_element(quality, {}, &FrameQuality::psnr_all);
  const auto unlike = std::ranges::min_element(quality, {}, &FrameQuality::ssim_all);
  return fmt::format(
      "quality: PSNR {:.2f} dB on average, {:.2f} dB at frame {}; SSIM {:.4f} on average, {:.4f} at frame {}",
      psnr / count, worst->psnr_all, worst->frame, ssim / count, unlike->ssim_all, unlike->frame);
}

} // namespace lanner
