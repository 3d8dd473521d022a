#include "tasks/cuda/masks.h"

#include <algorithm>

#include "base/limits/account.h"
#include "device/memory.h"
#include "tasks/cuda/map_kernel.h"
#include "tasks/cuda/work_queue.h"

namespace lanner::tasks::cuda {
namespace {

constexpr const char* stem = "task_maps";
/// Bytes of masks, or of their maps, computed together.
constexpr std::int64_t together = 32 << 20;

std::int64_t pixels_of(const MaskRegion& object) {
  return std::int64_t{object.place.width} * object.place.height;
}

/// Objects whose masks are computed and copied together.
class MaskGroup {
public:
  MaskGroup(const MaskPlanes& planes, WorkQueue& queue) : planes_(planes), queue_(queue) {
    if (!planes.whole) return;
    append(planes.whole->columns());
    rows_at_ = static_cast<std::int64_t>(taps_.size());
    append(planes.whole->rows());
  }

  bool full() const { return pixels_ >= together || numbers_ * std::int64_t{sizeof(float)} >= together; }
  void add(const MaskRegion& from) {
    MaskObject o;
    o.plane = from.plane;
    o.coefficients = static_cast<std::int64_t>(coefficients_.size());
    coefficients_.insert(coefficients_.end(), from.coefficients.begin(), from.coefficients.end());
    o.x = from.place.x, o.y = from.place.y, o.width = from.place.width, o.height = from.place.height;
    o.pixels = pixels_;
    if (!from.bounds.empty()) {
      o.left = from.bounds.left, o.top = from.bounds.top;
      o.map_width = from.bounds.right - from.bounds.left + 1;
      o.map_height = from.bounds.bottom - from.bounds.top + 1;
    }
    o.map = numbers_;
    if (from.own) {
      o.columns = static_cast<std::int64_t>(taps_.size());
      append(from.own->columns());
      o.rows = static_cast<std::int64_t>(taps_.size());
      append(from.own->rows());
    } else {
      o.columns = o.x;
      o.rows = rows_at_ + o.y;
    }
    std::ranges::copy(from.edges, o.edges);
    pixels_ += pixels_of(from);
    numbers_ += std::int64_t{o.map_width} * o.map_height;
    most_ = std::max({most_, pixels_of(from), std::int64_t{o.map_width} * o.map_height});
    objects_.push_back(o);
  }

  /// Bytes of the objects' masks, concatenated.
  Tensor made(const Limits& limits) {
    Tensor result = Tensor::allocate(DType::u8, {pixels_}, {}, {}, limits);
    const MaskParameters p = parameters();
    constexpr std::int64_t threads = 256;
    const std::int64_t blocks = std::clamp<std::int64_t>((most_ + threads * 4 - 1) / (threads * 4), 1, 1024);
    const Grid grid{.blocks = static_cast<unsigned>(blocks * p.count), .threads = threads};
    static constexpr const char* names[] = {"task_find_map_f32", "task_find_map_f16", "task_find_map_bf16"};
    queue_.launch(queue_.function(stem, names[type_number(planes_.values.tensor().dtype())]), grid, p);
    queue_.launch(queue_.function(stem, "task_find_mask"), grid, p);
    queue_.download(result.data(), p.pixels, static_cast<std::uint64_t>(pixels_));
    queue_.wait();
    return result;
  }

private:
  void append(std::span<const Tap> taps) { taps_.insert(taps_.end(), taps.begin(), taps.end()); }

  MaskParameters parameters() {
    Upload upload;
    const std::uint64_t objects = upload.add(std::span<const MaskObject>(objects_)),
                        coefficients = upload.add(std::span<const float>(coefficients_)),
                        taps = upload.add(std::span<const Tap>(taps_));
    const std::byte* const there = queue_.upload(upload.bytes());
    MaskParameters p;
    p.values = planes_.values.tensor().data();
    p.plane_width = planes_.columns, p.plane_height = planes_.rows, p.each = planes_.each;
    p.count = static_cast<std::int32_t>(objects_.size());
    p.objects = placed<const MaskObject>(there, objects);
    p.coefficients = placed<const float>(there, coefficients);
    p.taps = placed<const Tap>(there, taps);
    p.turned = planes_.turned;
    p.even = planes_.even;
    p.maps = placed<float>(
        queue_.memory(WorkQueue::work, static_cast<std::uint64_t>(numbers_) * sizeof(float)), 0);
    p.pixels =
        placed<std::uint8_t>(queue_.memory(WorkQueue::results, static_cast<std::uint64_t>(pixels_)), 0);
    return p;
  }

  const MaskPlanes& planes_;
  WorkQueue& queue_;
  std::vector<MaskObject> objects_;
  std::vector<float> coefficients_;
  std::vector<Tap> taps_;
  std::int64_t rows_at_ = 0, pixels_ = 0, numbers_ = 0, most_ = 0;
};

/// A view of one object's bytes.
Mask mask_of(const MaskRegion& object, const Tensor& all, std::int64_t& at) {
  Mask mask;
  mask.place = object.place;
  auto* const first = const_cast<std::uint8_t*>(all.as<std::uint8_t>().data()) + at;
  mask.inside = Tensor::wrap(first, DType::u8, {object.place.height, object.place.width}, all.owner());
  at += pixels_of(object);
  return mask;
}

} // namespace

std::vector<Mask> masks_there(const MaskPlanes& planes, std::span<const MaskRegion> objects,
                              const Limits& limits) {
  std::vector<Mask> masks;
  const QueueUse queue(planes.values.tensor().device());
  for (std::size_t i = 0; i < objects.size();) {
    check_deadline();
    MaskGroup group(planes, *queue);
    std::size_t end = i;
    while (end < objects.size() && !group.full()) group.add(objects[end++]);
    const Tensor all = group.made(limits);
    for (std::int64_t at = 0; i < end; ++i) masks.push_back(mask_of(objects[i], all, at));
  }
  return masks;
}

} // namespace lanner::tasks::cuda
