#include <lanner/upright.h>

#include <optional>
#include <utility>

#include "video/read/frame_conversion.h"

namespace lanner {
namespace {

/// Position of a chroma sample in its two by two pixels: 0 the first, 1 between, 2 the last.
struct Place {
  int x, y;
  friend bool operator==(const Place&, const Place&) = default;
};

constexpr std::pair<ChromaSiting, Place> places[] = {
    {ChromaSiting::left, {0, 1}}, {ChromaSiting::center, {1, 1}},      {ChromaSiting::top_left, {0, 0}},
    {ChromaSiting::top, {1, 0}},  {ChromaSiting::bottom_left, {0, 2}}, {ChromaSiting::bottom, {1, 2}}};

/// Turns the stored image into the shown one: mirrored left to right, then rotated.
struct Turn {
  bool mirror;
  int quarters; ///< Clockwise.
  bool none() const { return !mirror && quarters == 0; }
};

/// None where no stream can express it.
std::optional<ChromaSiting> turned(ChromaSiting siting, const Turn& turn) {
  Place place{0, 1}; // Unspecified siting is at the left.
  for (const auto& [name, where] : places)
    if (name == siting) place = where;
  if (turn.mirror) place.x = 2 - place.x;
  for (int i = 0; i < turn.quarters; ++i) place = {2 - place.y, place.x};
  for (const auto& [name, where] : places)
    if (where == place) return name;
  return std::nullopt;
}

/// Whether the samples of each plane can be rotated on their own.
bool by_samples(PixelFormat format, std::int32_t width, std::int32_t height, const ColorInfo& color,
                const Turn& turn) {
  const PixelFormatInfo& facts = format_info(format);
  return facts.yuv && facts.planes == 3 && facts.chroma_x == 1 && facts.chroma_y == 1 && width % 2 == 0 &&
         height % 2 == 0 && turned(color.siting, turn).has_value();
}

/// The siting that convert_image() uses; a rotated image's height may imply another one.
ColorInfo with_matrix(ColorInfo color, std::int32_t height) {
  if (color.matrix == ColorMatrix::unspecified)
    color.matrix = height >= 720 ? ColorMatrix::bt709 : ColorMatrix::bt601;
  return color;
}

Image turned_samples(const Image& image, const Turn& turn) {
  const bool across = turn.quarters % 2 != 0;
  Image result =
      Image::allocate(image.format, across ? image.height : image.width, across ? image.width : image.height);
  for (std::size_t p = 0; p < 3; ++p) {
    Image plane;
    plane.format = format_info(image.format).bytes_per_sample > 1 ? PixelFormat::gray16 : PixelFormat::gray8;
    plane.width = image.planes[p].width;
    plane.height = image.planes[p].height;
    plane.planes[0] = image.planes[p];
    plane.owner = image.owner;
    Image place = plane;
    place.width = result.planes[p].width;
    place.height = result.planes[p].height;
    place.planes[0] = result.planes[p];
    place.owner = result.owner;
    copy_image(rotated_image(plane, turn.quarters, {}, turn.mirror), place);
  }
  result.color = with_matrix(image.color, image.height);
  result.color.siting = *turned(image.color.siting, turn);
  return result;
}

} // namespace

StreamInfo upright_stream(const StreamInfo& stream) {
  const Turn turn{stream.mirror, quarter_turns(stream.rotation)};
  if (turn.none()) return stream;
  StreamInfo result = stream;
  result.parameters = nullptr;
  result.mirror = false;
  result.rotation = 0;
  if (format_info(stream.format).yuv) result.color = with_matrix(stream.color, stream.height);
  if (turn.quarters % 2 != 0) {
    std::swap(result.width, result.height);
    std::swap(result.sample_aspect.num, result.sample_aspect.den);
  }
  if (by_samples(stream.format, stream.width, stream.height, stream.color, turn)) {
    result.color.siting = *turned(stream.color.siting, turn);
    return result;
  }
  // Chroma halved along one axis would be halved along the other.
  const PixelFormatInfo& facts = format_info(stream.format);
  if (facts.yuv && facts.chroma_x != facts.chroma_y && turn.quarters % 2 != 0)
    result.format = facts.bits <= 8    ? PixelFormat::yuv444p
                    : facts.bits <= 10 ? PixelFormat::yuv444p10
                    : facts.bits <= 12 ? PixelFormat::yuv444p12
                                       : PixelFormat::yuv444p16;
  return result;
}

Image upright_image(const Frame& frame) {
  const Turn turn{frame.mirror, quarter_turns(frame.rotation)};
  const Image& image = frame.image;
  if (turn.none() || !by_samples(image.format, image.width, image.height, image.color, turn))
    return rotated_image(image, turn.quarters, {}, turn.mirror);
  return turned_samples(image, turn);
}

} // namespace lanner
