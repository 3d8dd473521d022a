// Draws maps that a second network made of boxes, inside these boxes.

#include <lanner/preprocess.h>

#include "tasks/draw/style.h"

namespace lanner {
namespace {

/// Stretched to the part that the network saw.
void paste(const Image& made, Image& part) {
  Preprocess spec;
  spec.width = part.width;
  spec.height = part.height;
  spec.dtype = DType::u8;
  spec.channels_last = true;
  const Tensor pixels = to_tensor(made, spec);
  const Tensor rows =
      Tensor::wrap(const_cast<void*>(pixels.data()), DType::u8, {part.height, part.width, 3}, pixels.owner());
  copy_image(Image::from_tensor(rows, PixelFormat::rgb24), part);
}

} // namespace

void draw_crop_maps(Image& drawn, const DrawStyle& style, const TaskResult& result) {
  // Class names of pixels do not fit into a box.
  DrawStyle inside = style;
  inside.labels = false;
  // The best are drawn last, on top.
  for (std::size_t i = result.crops.size(); i-- > 0;) {
    const TaskResult& crop = result.crops[i];
    if (crop.region.whole()) continue;
    Image part = part_of(drawn, crop.region);
    Canvas canvas(part);
    if (crop.kind == TaskKind::semantic) draw_semantic(canvas, inside, crop, *result.crop_task);
    if (crop.kind == TaskKind::depth) draw_depth(canvas, inside, crop, *result.crop_task);
    if (crop.kind == TaskKind::image && crop.image.defined()) paste(crop.image, part);
  }
}

} // namespace lanner
