#include "video/ffmpeg/unpack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "image/color.h"
#include "image/planes.h"
#include "video/ffmpeg/pixel_format.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace lanner::ffmpeg {

namespace {

using Row = std::vector<std::uint16_t>;

bool has_flag(const AVPixFmtDescriptor& facts, std::uint64_t flag) {
  return (facts.flags & flag) != 0;
}

bool is_paletted(const AVPixFmtDescriptor& facts) {
  return has_flag(facts, AV_PIX_FMT_FLAG_PAL);
}

bool is_rgb(const AVPixFmtDescriptor& facts) {
  return is_paletted(facts) || has_flag(facts, AV_PIX_FMT_FLAG_RGB);
}

bool has_alpha(const AVPixFmtDescriptor& facts) {
  return is_paletted(facts) || has_flag(facts, AV_PIX_FMT_FLAG_ALPHA);
}

/// Components without alpha: 1 or 3.
int colors_of(const AVPixFmtDescriptor& facts) {
  return is_rgb(facts) || facts.nb_components > 2 ? 3 : 1;
}

bool is_xyz(AVPixelFormat format) {
  return format == AV_PIX_FMT_XYZ12LE || format == AV_PIX_FMT_XYZ12BE;
}

/// The format of Lanner's that holds such samples, of their depth or the least above it.
PixelFormat least_format(const AVPixFmtDescriptor& facts, int bits) {
  const bool rgb = is_rgb(facts), gray = colors_of(facts) == 1;
  int found = -1;
  for (int i = 0; i < pixel_format_count; ++i) {
    const PixelFormatInfo& one = format_info(static_cast<PixelFormat>(i));
    // Whole bytes are interleaved where they are RGB.
    const bool usual = !rgb || (one.planes == 1) == (one.bits == 8 || one.bits == 16);
    const bool fits =
        usual && one.bits >= bits && one.shift == 0 && one.gray() == gray && one.yuv == (!rgb && !gray) &&
        one.planes != 2 && one.has_alpha() == has_alpha(facts) &&
        (!one.yuv || (one.chroma_x == facts.log2_chroma_w && one.chroma_y == facts.log2_chroma_h));
    if (fits && (found < 0 || one.bits < format_info(static_cast<PixelFormat>(found)).bits)) found = i;
  }
  return found < 0 ? PixelFormat::rgb24 : static_cast<PixelFormat>(found);
}

/// Samples of one component of a frame.
class Component {
public:
  Component(const AVFrame& frame, const AVPixFmtDescriptor& facts, int component)
      : frame_(frame), facts_(facts), paletted_(is_paletted(facts)),
        component_(paletted_ && component < 3 ? 2 - component : component), // A palette has B, G, R, A.
        place_(facts.comp[paletted_ ? 0 : component]), inverted_(frame.format == AV_PIX_FMT_MONOWHITE) {
    const bool chroma = (component == 1 || component == 2) && !is_rgb(facts) && facts.nb_components > 2;
    const auto shrunk = [](int size, int log2) { return -(-size >> log2); };
    width = chroma ? shrunk(frame.width, facts.log2_chroma_w) : frame.width;
    height = chroma ? shrunk(frame.height, facts.log2_chroma_h) : frame.height;
    plain_ =
        !paletted_ && place_.depth == 8 && place_.shift == 0 && !has_flag(facts, AV_PIX_FMT_FLAG_BITSTREAM);
  }

  int bits() const { return paletted_ ? 8 : place_.depth; }

  /// Row `y`, of `width` samples.
  void read(int y, std::uint16_t* out) const {
    if (plain_) {
      const std::uint8_t* in =
          frame_.data[place_.plane] + std::ptrdiff_t{frame_.linesize[place_.plane]} * y + place_.offset;
      for (std::ptrdiff_t x = 0; x < width; ++x) out[x] = in[x * place_.step];
      return;
    }
    if (paletted_) {
      const std::uint8_t* in = frame_.data[0] + std::ptrdiff_t{frame_.linesize[0]} * y;
      for (int x = 0; x < width; ++x) out[x] = frame_.data[1][4 * in[x] + component_];
      return;
    }
    const std::uint8_t* data[4] = {frame_.data[0], frame_.data[1], frame_.data[2], frame_.data[3]};
    av_read_image_line2(out, data, frame_.linesize, &facts_, 0, y, component_, width, 0, 2);
    if (inverted_)
      for (int x = 0; x < width; ++x) out[x] ^= 1;
  }

  int width = 0, height = 0;

private:
  const AVFrame& frame_;
  const AVPixFmtDescriptor& facts_;
  bool paletted_;
  int component_;
  const AVComponentDescriptor& place_;
  bool plain_ = false, inverted_;
};

/// Brings samples to another depth: in the limited range by whole steps, else so that the largest stays the
/// largest; chroma about its middle.
class Depth {
public:
  Depth(int from, int to, bool limited, bool chroma) {
    const double top_from = (1 << from) - 1, top_to = (1 << to) - 1;
    factor_ = from == to ? 1 : limited ? std::ldexp(1.0, to - from) : top_to / top_from;
    if (chroma && !limited) offset_ = std::ldexp(1.0, to - 1) - factor_ * std::ldexp(1.0, from - 1);
    if (from == to) offset_ = 0;
    top_ = top_to;
  }
  std::uint16_t operator()(double sample) const {
    return static_cast<std::uint16_t>(std::clamp(sample * factor_ + offset_, 0.0, top_) + 0.5);
  }

private:
  double factor_ = 1, offset_ = 0, top_ = 255;
};

/// Writes rows of components to where the image has them.
class Unpacker {
public:
  Unpacker(const AVFrame& frame, Image& image, const AVPixFmtDescriptor& facts)
      : frame_(frame), image_(image), facts_(facts), to_(format_info(image.format)),
        row_(static_cast<std::size_t>(frame.width)) {}

  void run() {
    const int colors = colors_of(facts_);
    const bool full = is_rgb(facts_) || image_.color.range == ColorRange::full ||
                      (colors == 1 && image_.color.range == ColorRange::unspecified);
    for (int c = 0; c < colors; ++c) {
      const Component from(frame_, facts_, c);
      const Depth depth(from.bits(), to_.bits, !full, c > 0 && to_.yuv);
      for (int y = 0; y < from.height; ++y) {
        from.read(y, row_.data());
        for (int x = 0; x < from.width; ++x) put(c, x, y, depth(row_[static_cast<std::size_t>(x)]));
      }
    }
    if (has_alpha(facts_)) write_alpha();
  }

private:
  void write_alpha() {
    const Component from(frame_, facts_, is_paletted(facts_) ? 3 : facts_.nb_components - 1);
    const Depth depth(from.bits(), to_.bits, false, false);
    const int step = to_.alpha_inside() ? to_.samples[0] : 1;
    const Plane& plane = to_.alpha_inside() ? image_.planes[0] : image_.alpha;
    for (int y = 0; y < from.height; ++y) {
      from.read(y, row_.data());
      for (int x = 0; x < from.width; ++x)
        store(plane, x * step + step - 1, y, depth(row_[static_cast<std::size_t>(x)]));
    }
  }

  void put(int c, int x, int y, std::uint16_t sample) {
    const ComponentLayout layout = component_layout(image_.format, c);
    store(image_.planes[static_cast<std::size_t>(layout.plane)], x * layout.step + layout.first, y, sample);
  }

  void store(const Plane& plane, int at, int y, std::uint16_t sample) const {
    std::byte* row = plane.data + y * plane.pitch;
    if (to_.bytes_per_sample == 1)
      row[at] = static_cast<std::byte>(sample);
    else
      reinterpret_cast<std::uint16_t*>(row)[at] = static_cast<std::uint16_t>(sample << to_.shift);
  }

  const AVFrame& frame_;
  Image& image_;
  const AVPixFmtDescriptor& facts_;
  const PixelFormatInfo& to_;
  Row row_;
};

} // namespace

bool can_unpack(AVPixelFormat format) noexcept {
  const AVPixFmtDescriptor* facts = av_pix_fmt_desc_get(format);
  if (!facts || is_xyz(format)) return false;
  if (format == AV_PIX_FMT_UYYVYY411) return false; // Its luma has no even step.
  constexpr std::uint64_t others = AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT;
  return !has_flag(*facts, others) && facts->nb_components > 0 && facts->comp[0].depth <= 16;
}

PixelFormat unpacked_format(AVPixelFormat format) noexcept {
  const AVPixFmtDescriptor* facts = av_pix_fmt_desc_get(format);
  if (!facts) return PixelFormat::rgb24;
  if (is_xyz(format)) return PixelFormat::rgb48;
  if (has_flag(*facts, AV_PIX_FMT_FLAG_BE))
    if (const auto direct = direct_format(av_pix_fmt_swap_endianness(format))) return direct->format;
  if (has_flag(*facts, AV_PIX_FMT_FLAG_BAYER))
    return facts->comp[0].step > 1 ? PixelFormat::rgb48 : PixelFormat::rgb24;
  int bits = 8;
  for (int c = 0; c < facts->nb_components; ++c) bits = std::max(bits, facts->comp[c].depth);
  return least_format(*facts, std::min(bits, 16));
}

void unpack(const AVFrame& frame, Image& image) {
  Unpacker(frame, image, *av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format))).run();
}

} // namespace lanner::ffmpeg
