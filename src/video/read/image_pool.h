#pragma once
// Memory of converted frames, used again.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <lanner/image.h>

namespace lanner {

/// Gives images whose memory comes back when their last copy dies: fresh pages cost more than a conversion.
/// Any thread may take and let go; images may outlive the pool.
class ImagePool {
public:
  /// As Image::allocate(); images that are held count together in Limits::total_bytes.
  Image take(PixelFormat format, std::int32_t width, std::int32_t height, const Limits& limits,
             Device device);

private:
  struct Idle {
    std::mutex mutex;
    std::vector<Image> images; ///< Of one form.
    std::uint64_t lent = 0;    ///< Bytes.
    void give_back(Image image, std::uint64_t bytes);
  };
  std::shared_ptr<Idle> idle_ = std::make_shared<Idle>();
};

} // namespace lanner
