#include "video/image_pool.h"

#include <utility>

namespace lanner {

namespace {

constexpr std::size_t most_idle = 8;

bool same_form(const Image& a, const Image& b) {
  return a.format == b.format && a.width == b.width && a.height == b.height && a.device == b.device;
}

} // namespace

Image ImagePool::take(PixelFormat format, std::int32_t width, std::int32_t height, const Limits& limits,
                      Device device) {
  Image image;
  image.format = format;
  image.width = width, image.height = height;
  image.device = device;
  {
    const std::lock_guard lock(idle_->mutex);
    auto& images = idle_->images;
    if (!images.empty() && !same_form(images.back(), image)) images.clear();
    if (!images.empty()) {
      image = std::move(images.back());
      images.pop_back();
    }
  }
  if (!image.defined()) image = Image::allocate(format, width, height, limits, device);
  image.color = {};
  Image lent = image;
  void* memory = const_cast<void*>(image.owner.get());
  lent.owner =
      std::shared_ptr<void>(memory, [back = std::move(image), pool = std::weak_ptr(idle_)](void*) mutable {
        const std::shared_ptr<Idle> idle = pool.lock();
        if (!idle) return;
        const std::lock_guard lock(idle->mutex);
        if (idle->images.size() < most_idle) idle->images.push_back(std::move(back));
      });
  return lent;
}

} // namespace lanner
