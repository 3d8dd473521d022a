#include <lanner/upright.h>

#include <optional>
#include <utility>

#include "video/read/frame_conversion.h"

namespace lanner {
namespace {

/// Position of a chroma sample in its two by two pixels: 0 the first, 1 between, 2 the last.
struct ChromaPosition {
  int x, y;
  friend bool operator==(const ChromaPosition&, const ChromaPosition&) = default;
};

constexpr std::pair<ChromaSiting, ChromaPosition> positions[] = {
    {ChromaSiting::left, {0, 1}}, {ChromaSiting::center, {1, 1}},      {ChromaSiting::top_left, {0, 0}},
    {ChromaSiting::top, {1, 0}},  {ChromaSiting::bottom_left, {0, 2}}, {ChromaSiting::bottom, {1, 2}}};

/// How a stored image is shown: mirrored left to right, then rotated.
struct Rotation {
  bool mirror;
  int quarters; ///< Clockwise.
  bool none() const { return !mirror && quarters == 0; }
};

/// Siting after the rotation; none where no stream can express it.
std::optional<ChromaSiting> rotated_siting(ChromaSiting siting, const Rotation& rotation) {
  ChromaPosition position{0, 1}; // Unspecified siting is at the left.
  for (const auto& [name, where] : positions)
    if (name == siting) position = where;
  if (rotation.mirror) position.x = 2 - position.x;
  for (int i = 0; i < rotation.quarters; ++i) position = {2 - position.y, position.x};
  for (const auto& [name, where] : positions)
    if (where == position) return name;
  return std::nullopt;
}

/// Whether the samples of each plane can be rotated on their own.
bool by_samples(PixelFormat format, std::int32_t width, std::int32_t height, const ColorInfo& color,
                const Rotation& rotation) {
  const PixelFormatInfo& facts = format_info(format);
  return facts.yuv && facts.planes == 3 && facts.chroma_x == 1 && facts.chroma_y == 1 && width % 2 == 0 &&
         height % 2 == 0 && rotated_siting(color.siting, rotation).has_value();
}

/// The siting that convert_image() uses; a rotated image's height may imply another one.
ColorInfo with_matrix(ColorInfo color, std::int32_t height) {
  if (color.matrix == ColorMatrix::unspecified)
    color.matrix = height >= 720 ? ColorMatrix::bt709 : ColorMatrix::bt601;
  return color;
}

Image rotated_samples(const Image& image, const Rotation& rotation) {
  const bool across = rotation.quarters % 2 != 0;
  Image result =
      Image::allocate(image.format, across ? image.height : image.width, across ? image.width : image.height);
  for (int p = 0; p < plane_count(image.format); ++p) {
    const Plane &from = plane_at(image, p), &to = plane_at(result, p);
    Image plane;
    plane.format = format_info(image.format).bytes_per_sample > 1 ? PixelFormat::gray16 : PixelFormat::gray8;
    plane.width = from.width;
    plane.height = from.height;
    plane.planes[0] = from;
    plane.owner = image.owner;
    Image target = plane;
    target.width = to.width;
    target.height = to.height;
    target.planes[0] = to;
    target.owner = result.owner;
    copy_image(rotated_image(plane, rotation.quarters, {}, rotation.mirror), target);
  }
  result.color = with_matrix(image.color, image.height);
  result.color.siting = *rotated_siting(image.color.siting, rotation);
  return result;
}

} // namespace

StreamInfo upright_stream(const StreamInfo& stream) {
  const Rotation rotation{stream.mirror, quarter_turns(stream.rotation)};
  if (rotation.none()) return stream;
  StreamInfo result = stream;
  result.parameters = nullptr;
  result.mirror = false;
  result.rotation = 0;
  if (format_info(stream.format).yuv) result.color = with_matrix(stream.color, stream.height);
  if (rotation.quarters % 2 != 0) {
    std::swap(result.width, result.height);
    std::swap(result.sample_aspect.num, result.sample_aspect.den);
  }
  if (by_samples(stream.format, stream.width, stream.height, stream.color, rotation)) {
    result.color.siting = *rotated_siting(stream.color.siting, rotation);
    return result;
  }
  // Chroma halved along one axis would be halved along the other.
  const PixelFormatInfo& facts = format_info(stream.format);
  if (facts.yuv && facts.chroma_x != facts.chroma_y && rotation.quarters % 2 != 0)
    result.format = with_whole_chroma(stream.format);
  return result;
}

Image upright_image(const Frame& frame) {
  const Rotation rotation{frame.mirror, quarter_turns(frame.rotation)};
  const Image& image = frame.image;
  if (rotation.none() || !by_samples(image.format, image.width, image.height, image.color, rotation))
    return rotated_image(image, rotation.quarters, {}, rotation.mirror);
  return rotated_samples(image, rotation);
}

} // namespace lanner
