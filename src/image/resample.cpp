#include "image/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "image/color.h"

namespace lanner {

namespace {

struct Span {
  std::int64_t first, last;
};

double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((x - 5) * x + 8) * x * a - 4 * a;
  return 0;
}

double lanczos(double x) {
  constexpr double lobes = 3;
  const auto sinc = [](double t) {
    const double turns = t * std::numbers::pi;
    return turns == 0 ? 1 : std::sin(turns) / turns;
  };
  return std::abs(x) < lobes ? sinc(x) * sinc(x / lobes) : 0;
}

/// Whether a kernel widens with the target pixel and is renormalised at the border.
bool widens(Resize kind) {
  return kind == Resize::antialias || kind == Resize::antialias_cubic || kind == Resize::antialias_lanczos;
}

/// The radius of a widening kernel at step 1 and below.
double radius_of(Resize kind) {
  return kind == Resize::antialias_lanczos ? 3 : kind == Resize::antialias_cubic ? 2 : 1;
}

double weight_at(Resize kind, double step, double distance) {
  switch (kind) {
  case Resize::nearest:
    return 1;
  case Resize::bilinear:
    return std::max(0.0, 1 - std::abs(distance));
  case Resize::bicubic:
    return cubic(distance, -0.75);
  case Resize::area:
    return std::max(0.0, std::min(distance + 0.5, step / 2) - std::max(distance - 0.5, -step / 2));
  case Resize::antialias:
    return std::max(0.0, 1 - std::abs(distance) / std::max(1.0, step));
  case Resize::antialias_cubic:
    return cubic(distance / std::max(1.0, step), -0.5);
  case Resize::antialias_lanczos:
    return lanczos(distance / std::max(1.0, step));
  }
  return 0;
}

// The edge of a cell, relative to its centre. A centre on an edge belongs to the next cell, also where
// rounding has put it slightly before the edge: other centres are further from an edge than that, up to
// outputs of millions of pixels.
constexpr double edge = 0.5 + 1e-7;

// Input samples that may have nonzero weight, before clamping to the border.
Span reach(Resize kind, double step, double centre) {
  const auto floor = [](double x) { return static_cast<std::int64_t>(std::floor(x)); };
  switch (kind) {
  case Resize::nearest:
    return {floor(centre + edge), floor(centre + edge)};
  case Resize::bilinear:
    return {floor(centre), floor(centre) + 1};
  case Resize::bicubic:
    return {floor(centre) - 1, floor(centre) + 2};
  case Resize::area:
    return {floor(centre - step / 2 + 0.5), floor(centre + step / 2 + 0.5)};
  case Resize::antialias:
  case Resize::antialias_cubic:
  case Resize::antialias_lanczos:
    break;
  }
  const double radius = radius_of(kind) * std::max(1.0, step);
  return {floor(centre - radius) + 1, floor(centre + radius)};
}

// The same clamped to the border: first and last.
Span reach_inside(Resize kind, double step, double centre, std::int64_t inputs) {
  const Span span = reach(kind, step, centre);
  return {std::clamp<std::int64_t>(span.first, 0, inputs - 1),
          std::clamp<std::int64_t>(span.last, 0, inputs - 1)};
}

// Weights of the samples from reach_inside() on.
void weights_of(Resize kind, double step, double centre, std::int64_t inputs, std::vector<double>& weights) {
  const Span span = reach(kind, step, centre);
  const auto inside = [&](std::int64_t k) { return std::clamp<std::int64_t>(k, 0, inputs - 1); };
  const std::int64_t first = inside(span.first);
  weights.assign(static_cast<std::size_t>(inside(span.last) - first + 1), 0.0);
  double sum = 0;
  for (std::int64_t k = span.first; k <= span.last; ++k) {
    if (widens(kind) && k != inside(k)) continue;
    const double weight = weight_at(kind, step, static_cast<double>(k) - centre);
    weights[static_cast<std::size_t>(inside(k) - first)] += weight;
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
}

} // namespace

Taps make_taps(Resize kind, std::int64_t size, double step, double origin, std::int64_t inputs) {
  const auto centre = [&](std::int64_t i) { return step * static_cast<double>(i) + origin; };
  std::int64_t count = 1;
  for (std::int64_t i = 0; i < size; ++i) {
    const Span span = reach_inside(kind, step, centre(i), inputs);
    count = std::max(count, span.last - span.first + 1);
  }
  Taps taps;
  taps.size = size;
  taps.count = static_cast<int>(count);
  taps.index.resize(static_cast<std::size_t>(size));
  taps.weights.assign(static_cast<std::size_t>(count * size), 0.f);
  std::vector<double> weights;
  for (std::int64_t i = 0; i < size; ++i) {
    weights_of(kind, step, centre(i), inputs, weights);
    // All outputs read `count` samples: near the end they begin earlier, with zero weights.
    const std::int64_t begin = reach_inside(kind, step, centre(i), inputs).first,
                       first = std::min(begin, inputs - count);
    taps.index[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first);
    for (std::size_t t = 0; t < weights.size(); ++t)
      taps.weights[(t + static_cast<std::size_t>(begin - first)) * static_cast<std::size_t>(size) +
                   static_cast<std::size_t>(i)] = static_cast<float>(weights[t]);
  }
  return taps;
}

Taps nearest_chroma(const Taps& luma, int log2, int phase) {
  Taps taps = luma;
  for (std::int32_t& index : taps.index) index = (index + phase) >> log2;
  return taps;
}

Taps mirrored(Taps taps, std::int64_t inputs) {
  for (std::int32_t& index : taps.index) index = static_cast<std::int32_t>(inputs - taps.count - index);
  const auto row = [&](int t) { return taps.weights.begin() + t * taps.size; };
  for (int t = 0; t < taps.count / 2; ++t) std::swap_ranges(row(t), row(t + 1), row(taps.count - 1 - t));
  return taps;
}

namespace {

// Whether output i is always input i.
bool in_place(const Taps& taps, std::int64_t inputs) {
  if (taps.count != 1 || taps.size != inputs) return false;
  for (std::int64_t i = 0; i < taps.size; ++i)
    if (taps.index[static_cast<std::size_t>(i)] != i) return false;
  return true;
}

} // namespace

RowSampler::RowSampler(const Image& image, const Sampling& sampling, const RowKernels& kernels)
    : image_(image), sampling_(sampling), kernels_(kernels) {
  const PixelFormatInfo& facts = format_info(image.format);
  std::int64_t widest = 0;
  for (int p = 0; p < facts.planes; ++p) {
    const Taps& taps = p > 0 && facts.yuv ? sampling.chroma_x : sampling.luma_x;
    plane_index_[p] = taps.index;
    for (std::int32_t& index : plane_index_[p]) index *= facts.samples[p];
    widest = std::max(widest, std::int64_t{image.planes[p].width} * facts.samples[p]);
  }
  luma_in_place_ = in_place(sampling.luma_x, image.planes[0].width);
  chroma_in_place_ = facts.yuv && in_place(sampling.chroma_x, image.planes[1].width);
  blended_.resize(static_cast<std::size_t>(widest));
  const auto most = static_cast<std::size_t>(std::max(sampling.luma_y.count, sampling.chroma_y.count));
  rows_.resize(most);
  weights_.resize(most);
}

// Where rows are skipped, the hardware prefetcher does not predict the next ones.
void RowSampler::fetch_ahead(const Plane& from, std::int64_t begin, std::int64_t end, std::int64_t bytes) {
  for (std::int64_t row = begin; row < end; ++row)
    for (std::int64_t at = 0; at < bytes; at += 64)
      __builtin_prefetch(from.data + row * from.pitch + at, 0, 2);
}

void RowSampler::blend(int plane, const Taps& taps, std::int64_t y, float* out) {
  const PixelFormatInfo& facts = format_info(image_.format);
  const Plane& from = image_.planes[plane];
  const std::int64_t first = taps.index[static_cast<std::size_t>(y)];
  std::size_t count = 0;
  for (int t = 0; t < taps.count; ++t) {
    const float weight = taps.weights[static_cast<std::size_t>(t * taps.size + y)];
    if (weight == 0) continue;
    rows_[count] = reinterpret_cast<const std::uint8_t*>(from.data + (first + t) * from.pitch);
    weights_[count++] = weight;
  }
  const std::int64_t samples = std::int64_t{from.width} * facts.samples[plane];
  const std::int64_t next = taps.index[static_cast<std::size_t>(std::min(y + 1, taps.size - 1))];
  if (next > first + taps.count) fetch_ahead(from, next, next + taps.count, samples * facts.bytes_per_sample);
  const int used = static_cast<int>(count);
  if (facts.bytes_per_sample == 1)
    kernels_.blend_u8(rows_.data(), weights_.data(), used, samples, out);
  else
    kernels_.blend_u16(reinterpret_cast<const std::uint16_t* const*>(rows_.data()), weights_.data(), used,
                       samples, out);
}

void RowSampler::read(std::int64_t y, float* const rows[3]) {
  const PixelFormatInfo& facts = format_info(image_.format);
  int blended_plane = -1;
  const bool gray = facts.gray();
  for (int c = 0; c < (gray ? 1 : 3); ++c) {
    const ComponentLayout layout = component_layout(image_.format, c);
    const bool chroma = facts.yuv && layout.plane > 0;
    const Taps& x = chroma ? sampling_.chroma_x : sampling_.luma_x;
    const Taps& down = chroma ? sampling_.chroma_y : sampling_.luma_y;
    if (layout.step == 1 && (chroma ? chroma_in_place_ : luma_in_place_)) {
      blend(layout.plane, down, y, rows[c]);
      continue;
    }
    if (layout.plane != blended_plane) blend(layout.plane, down, y, blended_.data());
    blended_plane = layout.plane;
    kernels_.gather(blended_.data() + layout.first, plane_index_[layout.plane].data(), x.weights.data(),
                    x.count, layout.step, x.size, rows[c]);
  }
  if (!gray) return;
  for (int c = 1; c < 3; ++c)
    std::memcpy(rows[c], rows[0], static_cast<std::size_t>(sampling_.luma_x.size) * sizeof(float));
}

} // namespace lanner
