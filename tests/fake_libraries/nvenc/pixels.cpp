#include "fake_libraries/nvenc/pixels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lanner::fake_nvenc {

using namespace nvenc;

namespace {

struct PlaneView {
  std::size_t offset = 0, pitch = 0;
  unsigned step = 1, first = 0; ///< In samples: between two of a row, and the first one's place.
};

/// Where a planar format's plane lies.
PlaneView plane_of(const PictureView& p, unsigned plane) {
  const std::size_t luma = std::size_t{p.pitch} * p.rows;
  if (plane == 0) return {0, p.pitch};
  switch (p.format) {
  case NV_ENC_BUFFER_FORMAT_NV12:
  case NV_ENC_BUFFER_FORMAT_YUV420_10BIT:
    return {luma, p.pitch, 2, plane - 1};
  case NV_ENC_BUFFER_FORMAT_YV12:
    plane = 3 - plane;
    [[fallthrough]];
  case NV_ENC_BUFFER_FORMAT_IYUV:
    return {luma + (plane - 1) * (std::size_t{p.pitch} / 2) * ((p.rows + 1) / 2), p.pitch / 2};
  default:
    return {luma * plane, p.pitch};
  }
}

std::uint16_t planar_sample(const PictureView& p, const PlaneView& view, unsigned x, unsigned y) {
  const std::size_t place = static_cast<std::size_t>(x) * view.step + view.first;
  const std::uint8_t* row = p.data + view.offset + y * view.pitch;
  if (facts_of(p.format).depth == 8) return row[place];
  std::uint16_t value = 0;
  std::memcpy(&value, row + 2 * place, 2);
  return value >> 6;
}

/// Y, U and V of a word at 8 or 10 bits.
std::array<double, 3> word_samples(const PictureView& p, const SampleForm& form, unsigned x, unsigned y) {
  std::uint32_t word = 0;
  std::memcpy(&word, p.data + std::size_t{y} * p.pitch + std::size_t{x} * 4, 4);
  const unsigned depth = facts_of(p.format).depth;
  const auto part = [&](unsigned n) { return double(word >> (n * depth) & ((1u << depth) - 1)); };
  if (p.format == NV_ENC_BUFFER_FORMAT_AYUV) return {part(2), part(1), part(0)};
  const bool red_first = p.format == NV_ENC_BUFFER_FORMAT_ABGR || p.format == NV_ENC_BUFFER_FORMAT_ABGR10;
  const double top = (1u << depth) - 1, r = part(red_first ? 0 : 2) / top, g = part(1) / top,
               b = part(red_first ? 2 : 0) / top;
  const bool hd = form.matrix == NV_ENC_VUI_MATRIX_COEFFS_BT709;
  const double kr = hd ? 0.2126 : 0.299, kb = hd ? 0.0722 : 0.114;
  const double luma = kr * r + (1 - kr - kb) * g + kb * b;
  const double u = (b - luma) / (2 * (1 - kb)), v = (r - luma) / (2 * (1 - kr));
  const double unit = 1u << (depth - 8);
  if (form.full) return {luma * top, u * top + 128 * unit, v * top + 128 * unit};
  return {(16 + 219 * luma) * unit, (128 + 224 * u) * unit, (128 + 224 * v) * unit};
}

double packed_sample(const PictureView& p, const SampleForm& form, unsigned plane, unsigned x, unsigned y) {
  if (plane == 0 || form.chroma == 3) return word_samples(p, form, x, y)[plane];
  double sum = 0;
  for (const unsigned dy : {0u, 1u})
    for (const unsigned dx : {0u, 1u})
      sum +=
          word_samples(p, form, std::min(2 * x + dx, p.width - 1), std::min(2 * y + dy, p.height - 1))[plane];
  return sum / 4;
}

std::uint16_t sample(const PictureView& p, const SampleForm& form, unsigned plane, unsigned x, unsigned y) {
  const FormatFacts facts = facts_of(p.format);
  if (!facts.packed) return planar_sample(p, plane_of(p, plane), x, y);
  const double value = packed_sample(p, form, plane, x, y) * (1u << (form.depth - facts.depth));
  return static_cast<std::uint16_t>(std::clamp(std::lround(value), 0l, (1l << form.depth) - 1));
}

} // namespace

FormatFacts facts_of(NV_ENC_BUFFER_FORMAT format) {
  switch (format) {
  case NV_ENC_BUFFER_FORMAT_NV12:
  case NV_ENC_BUFFER_FORMAT_YV12:
  case NV_ENC_BUFFER_FORMAT_IYUV:
    return {8, 1};
  case NV_ENC_BUFFER_FORMAT_YUV444:
    return {8, 3};
  case NV_ENC_BUFFER_FORMAT_YUV420_10BIT:
    return {10, 1};
  case NV_ENC_BUFFER_FORMAT_YUV444_10BIT:
    return {10, 3};
  case NV_ENC_BUFFER_FORMAT_ARGB:
  case NV_ENC_BUFFER_FORMAT_ABGR:
  case NV_ENC_BUFFER_FORMAT_AYUV:
    return {8, 3, true};
  case NV_ENC_BUFFER_FORMAT_ARGB10:
  case NV_ENC_BUFFER_FORMAT_ABGR10:
    return {10, 3, true};
  default:
    return {};
  }
}

std::size_t bytes_of(NV_ENC_BUFFER_FORMAT format, std::uint32_t pitch, std::uint32_t height) {
  const FormatFacts facts = facts_of(format);
  const std::size_t plane = std::size_t{pitch} * height;
  if (facts.packed || facts.depth == 0) return plane;
  if (facts.chroma == 3) return plane * 3;
  if (format == NV_ENC_BUFFER_FORMAT_YV12 || format == NV_ENC_BUFFER_FORMAT_IYUV)
    return plane + 2 * std::size_t{pitch / 2} * ((height + 1) / 2);
  return plane + std::size_t{pitch} * ((height + 1) / 2);
}

Samples read_samples(const PictureView& p, const SampleForm& form) {
  Samples made;
  made.width = (p.width + form.block - 1) / form.block * form.block;
  made.height = (p.height + form.block - 1) / form.block * form.block;
  made.depth = form.depth;
  made.chroma = form.chroma;
  for (unsigned plane = 0; plane < 3; ++plane) {
    const unsigned shift = made.shift(plane), width = (p.width + shift) >> shift,
                   height = (p.height + shift) >> shift;
    for (unsigned y = 0; y < made.height >> shift; ++y)
      for (unsigned x = 0; x < made.width >> shift; ++x)
        made.planes[plane].push_back(sample(p, form, plane, std::min(x, width - 1), std::min(y, height - 1)));
  }
  return made;
}

std::uint64_t hash_of(const PictureView& p) {
  const FormatFacts facts = facts_of(p.format);
  std::uint64_t hash = 14695981039346656037u; // FNV-1a
  const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  for (unsigned plane = 0; plane < (facts.packed ? 1 : 3); ++plane) {
    const unsigned shift = plane > 0 && facts.chroma == 1;
    for (unsigned y = 0; y < (p.height + shift) >> shift; ++y)
      for (unsigned x = 0; x < (p.width + shift) >> shift; ++x) {
        std::uint32_t word = 0;
        if (facts.packed)
          std::memcpy(&word, p.data + std::size_t{y} * p.pitch + std::size_t{x} * 4, 4);
        else
          word = planar_sample(p, plane_of(p, plane), x, y);
        add(word);
      }
  }
  return hash;
}

} // namespace lanner::fake_nvenc
