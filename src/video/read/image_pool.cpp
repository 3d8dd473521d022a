#include "video/read/image_pool.h"

#include <utility>

#include <lanner/error.h>

#include "base/check.h"
#include "image/planes.h"

namespace lanner {

namespace {

constexpr std::size_t max_idle = 8;
constexpr std::uint64_t max_idle_bytes = 256ull << 20;

/// Of one that is as large, without its padding.
std::uint64_t bytes_of(Image image) {
  shape_planes(image, 1);
  std::uint64_t bytes = 0;
  for (int p = 0; p < plane_count(image.format); ++p)
    bytes += static_cast<std::uint64_t>(plane_at(image, p).pitch) *
             static_cast<std::uint64_t>(plane_at(image, p).height);
  return bytes;
}

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
  const std::uint64_t bytes = bytes_of(image);
  {
    const std::lock_guard lock(idle_->mutex);
    check(bytes <= limits.total_bytes && idle_->lent <= limits.total_bytes - bytes, ErrorCode::limit_exceeded,
          "frames in use would take more than the limit total_bytes of {}; let go of some, or raise it with "
          "--limit total_bytes=N",
          limits.total_bytes);
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
  const std::weak_ptr<Idle> home = idle_;
  lent.owner = std::shared_ptr<void>(memory, [back = std::move(image), bytes, home](void*) mutable {
    if (const std::shared_ptr<Idle> idle = home.lock()) idle->give_back(std::move(back), bytes);
  });
  const std::lock_guard lock(idle_->mutex);
  idle_->lent += bytes;
  return lent;
}

void ImagePool::Idle::give_back(Image image, std::uint64_t bytes) {
  const std::lock_guard lock(mutex);
  lent -= bytes;
  if (images.size() < max_idle && (images.size() + 1) * bytes <= max_idle_bytes)
    images.push_back(std::move(image));
}

} // namespace lanner
