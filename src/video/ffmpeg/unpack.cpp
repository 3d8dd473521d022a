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

PixelFormat yuv_format(int bits, int chroma_x, int chroma_y) {
  constexpr PixelFormat formats[3][4] = {
      {PixelFormat::yuv420p, PixelFormat::yuv420p10, PixelFormat::yuv420p12, PixelFormat::yuv420p16},
      {PixelFormat::yuv422p, PixelFormat::yuv422p10, PixelFormat::yuv422p12, PixelFormat::yuv422p16},
      {PixelFormat::yuv444p, PixelFormat::yuv444p10, PixelFormat::yuv444p12, PixelFormat::yuv444p16}};
  const int chroma = chroma_x == 1 && chroma_y == 1 ? 0 : chroma_x == 1 && chroma_y == 0 ? 1 : 2;
  const int depth = bits <= 8 ? 0 : bits <= 10 ? 1 : bits <= 12 ? 2 : 3;
  return formats[chroma][depth];
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

/// Where sample `i` of the target lies among those of one axis.
struct Between {
  int first, second;
  double weight; ///< Of the second.
};
Between between(int i, int log2, double offset, int size) {
  const double position = (i - offset) / (1 << log2);
  const int first = static_cast<int>(std::floor(position));
  return {std::clamp(first, 0, size - 1), std::clamp(first + 1, 0, size - 1), position - first};
}

/// Writes rows of components to where the image has them.
class Unpacker {
public:
  Unpacker(const AVFrame& frame, Image& image, const AVPixFmtDescriptor& facts)
      : frame_(frame), image_(image), facts_(facts), to_(format_info(image.format)),
        row_(static_cast<std::size_t>(frame.width)), above_(row_), below_(row_) {}

  void run() {
    const int colors = colors_of(facts_);
    const bool full = is_rgb(facts_) || image_.color.range == ColorRange::full ||
                      (colors == 1 && image_.color.range == ColorRange::unspecified);
    for (int c = 0; c < colors; ++c) {
      const Component from(frame_, facts_, c);
      const bool chroma = c > 0 && to_.yuv;
      const Depth depth(from.bits(), to_.bits, !full, chroma);
      const int log2_x = chroma ? facts_.log2_chroma_w - to_.chroma_x : 0,
                log2_y = chroma ? facts_.log2_chroma_h - to_.chroma_y : 0;
      if (log2_x > 0 || log2_y > 0)
        widen(from, depth, c, log2_x, log2_y);
      else
        keep(from, depth, c);
    }
    if (has_alpha(facts_)) write_alpha();
  }

private:
  void keep(const Component& from, const Depth& depth, int c) {
    for (int y = 0; y < from.height; ++y) {
      from.read(y, row_.data());
      for (int x = 0; x < from.width; ++x) put(c, x, y, depth(row_[static_cast<std::size_t>(x)]));
    }
  }

  void widen(const Component& from, const Depth& depth, int c, int log2_x, int log2_y) {
    const auto centred = [](int log2) { return ((1 << log2) - 1) / 2.0; };
    const ChromaSiting siting = image_.color.siting;
    const bool between_columns =
        siting == ChromaSiting::center || siting == ChromaSiting::top || siting == ChromaSiting::bottom;
    const bool on_row = siting == ChromaSiting::top_left || siting == ChromaSiting::top;
    const double left = between_columns ? centred(log2_x) : 0, top = on_row ? 0 : centred(log2_y);
    for (int y = 0; y < frame_.height; ++y) {
      const Between rows = between(y, log2_y, top, from.height);
      from.read(rows.first, above_.data());
      from.read(rows.second, below_.data());
      for (int x = 0; x < frame_.width; ++x) {
        const Between columns = between(x, log2_x, left, from.width);
        const auto at = [&](const Row& row) {
          return row[static_cast<std::size_t>(columns.first)] * (1 - columns.weight) +
                 row[static_cast<std::size_t>(columns.second)] * columns.weight;
        };
        put(c, x, y, depth(at(above_) * (1 - rows.weight) + at(below_) * rows.weight));
      }
    }
  }

  void write_alpha() {
    const Component from(frame_, facts_, is_paletted(facts_) ? 3 : facts_.nb_components - 1);
    const Depth depth(from.bits(), to_.bits, false, false);
    const bool interleaved = to_.samples[0] == 4;
    if (!interleaved) allocate_alpha(image_);
    for (int y = 0; y < from.height; ++y) {
      from.read(y, row_.data());
      for (int x = 0; x < from.width; ++x) {
        const std::uint16_t sample = depth(row_[static_cast<std::size_t>(x)]);
        if (interleaved)
          put(3, x, y, sample);
        else
          store(image_.alpha, x, y, sample);
      }
    }
  }

  void put(int c, int x, int y, std::uint16_t sample) {
    const ComponentLayout layout = c < 3 ? component_layout(image_.format, c) : ComponentLayout{0, 3, 4};
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
  Row row_, above_, below_;
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
  int bits = 8;
  for (int c = 0; c < facts->nb_components; ++c) bits = std::max(bits, facts->comp[c].depth);
  if (is_paletted(*facts)) return PixelFormat::rgba32;
  if (is_rgb(*facts))
    return bits > 8 ? PixelFormat::rgb48 : has_alpha(*facts) ? PixelFormat::rgba32 : PixelFormat::rgb24;
  if (colors_of(*facts) == 1) return bits > 8 ? PixelFormat::gray16 : PixelFormat::gray8;
  return yuv_format(bits, facts->log2_chroma_w, facts->log2_chroma_h);
}

void unpack(const AVFrame& frame, Image& image) {
  Unpacker(frame, image, *av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format))).run();
}

} // namespace lanner::ffmpeg
