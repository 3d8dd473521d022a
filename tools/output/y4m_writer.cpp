#include "output/y4m_writer.h"

#include <fmt/format.h>

namespace lanner::tool {

Y4mWriter::Y4mWriter(ByteOutput& output, Rational rate, Rational sample_aspect)
    : output_(output), rate_(rate), sample_aspect_(sample_aspect) {}

void Y4mWriter::write(const Image& image) {
  if (!begun_)
    output_.write(fmt::format("YUV4MPEG2 W{} H{} F{}:{} Ip A{}:{} C420mpeg2 XCOLORRANGE=LIMITED\n",
                              image.width, image.height, rate_.num, rate_.den, sample_aspect_.num,
                              sample_aspect_.den));
  begun_ = true;
  Image frame = Image::allocate(PixelFormat::yuv420p, image.width, image.height);
  frame.color = {ColorMatrix::unspecified, ColorRange::limited, ChromaSiting::left};
  convert_image(image, frame);
  output_.write("FRAME\n");
  for (const Plane& plane : frame.planes)
    for (std::int32_t y = 0; y < plane.height; ++y)
      output_.write({reinterpret_cast<const char*>(plane.data + y * plane.pitch),
                     static_cast<std::size_t>(plane.width)});
}

} // namespace lanner::tool
