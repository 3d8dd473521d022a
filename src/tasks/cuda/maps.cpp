#include "tasks/cuda/maps.h"

#include <string>

#include "device/memory.h"
#include "tasks/cuda/map_kernel.h"
#include "tasks/cuda/work_queue.h"

namespace lanner::tasks::cuda {
namespace {

constexpr const char* stem = "task_maps";
/// Precedes results: whether an element is not finite.
constexpr std::uint64_t header = 256;

/// A kernel's names, by type_number().
struct Names {
  const char* of_type[3];
};
constexpr Names best_names{{"task_find_best_f32", "task_find_best_f16", "task_find_best_bf16"}},
    class_names{{"task_find_class_f32", "task_find_class_f16", "task_find_class_bf16"}},
    number_names{{"task_find_number_f32", "task_find_number_f16", "task_find_number_bf16"}},
    byte_names{{"task_find_byte_f32", "task_find_byte_f16", "task_find_byte_bf16"}},
    check_names{{"task_check_f32", "task_check_f16", "task_check_bf16"}};

/// One map, processed on a queue.
class MapRun {
public:
  MapRun(const MapValues& map, WorkQueue& queue) : map_(map), queue_(queue) {}

  /// Memory for results after the header, which is cleared.
  std::byte* results(std::uint64_t bytes) {
    base_ = queue_.memory(WorkQueue::results, header + bytes);
    clear_memory({base_, queue_.gpu().device()}, header, queue_.stream());
    return base_ + header;
  }
  std::int32_t* not_finite() const { return placed<std::int32_t>(base_, 0); }

  template<typename... Arguments>
  void launch(const Names& names, std::int64_t elements, const Arguments&... arguments) {
    const char* const name = names.of_type[type_number(map_.values.tensor().dtype())];
    queue_.launch(queue_.function(stem, name), lanner::cuda::grid_for(queue_.gpu(), elements), arguments...);
  }
  void check_all() {
    const void* const values = map_.values.tensor().data();
    launch(check_names, map_.values.size(), values, map_.values.size(), not_finite());
  }

  /// Waits for queued work. Throws where an element is not finite.
  void finish() {
    std::byte* const here = queue_.pinned(WorkQueue::results, header);
    queue_.download(here, base_, header);
    queue_.wait();
    if (*placed<const std::int32_t>(here, 0) != 0) fail_not_finite(map_.part);
  }

private:
  const MapValues& map_;
  WorkQueue& queue_;
  std::byte* base_ = nullptr;
};

/// Address of a kernel's elements.
template<typename Parameters>
void set_values(Parameters& p, const MapValues& map) {
  p.values = map.values.tensor().data();
  p.size = map.values.size();
  p.channel = map.channel, p.row = map.row, p.column = map.column;
  p.channels = static_cast<std::int32_t>(map.channels);
}

MapParameters parameters_of(const MapValues& map, const PixelGrid& grid, const PictureRun& run,
                            WorkQueue& queue) {
  MapParameters p;
  set_values(p, map);
  p.map_width = static_cast<std::int32_t>(map.width), p.map_height = static_cast<std::int32_t>(map.height);
  p.width = run.width, p.height = run.height;
  Upload upload;
  const std::uint64_t columns = upload.add(grid.columns()), rows = upload.add(grid.rows());
  const std::byte* const there = queue.upload(upload.bytes());
  p.taps = {placed<const Tap>(there, columns), placed<const Tap>(there, rows), grid.turned()};
  return p;
}

} // namespace

Tensor classes_there(const MapValues& map, const PixelGrid& grid, const PictureRun& run, float even) {
  Tensor result = Tensor::allocate(DType::i32, {run.height, run.width}, {}, {}, run.limits);
  const QueueUse queue(map.values.tensor().device());
  MapRun there(map, *queue);
  MapParameters p = parameters_of(map, grid, run, *queue);
  p.even = even;
  p.to = there.results(result.bytes());
  p.not_finite = there.not_finite();
  if (map.channels > 1) {
    const std::int64_t places = map.width * map.height;
    p.best = placed<std::int32_t>(
        queue->memory(WorkQueue::work, static_cast<std::uint64_t>(places) * sizeof(std::int32_t)), 0);
    there.launch(best_names, places, p);
  } else {
    there.check_all();
  }
  there.launch(class_names, result.elements(), p);
  queue->download(result.data(), p.to, result.bytes());
  there.finish();
  return result;
}

Tensor numbers_there(const MapValues& map, const PixelGrid& grid, const PictureRun& run, float unseen) {
  Tensor result = Tensor::allocate(DType::f32, {run.height, run.width}, {}, {}, run.limits);
  const QueueUse queue(map.values.tensor().device());
  MapRun there(map, *queue);
  MapParameters p = parameters_of(map, grid, run, *queue);
  p.unseen = unseen;
  p.to = there.results(result.bytes());
  there.check_all();
  there.launch(number_names, result.elements(), p);
  queue->download(result.data(), p.to, result.bytes());
  there.finish();
  return result;
}

void picture_there(const MapValues& map, const PicturePart& wanted, Image& image) {
  const QueueUse queue(map.values.tensor().device());
  MapRun there(map, *queue);
  PictureParameters p;
  set_values(p, map);
  p.x = wanted.part.x, p.y = wanted.part.y, p.width = wanted.part.width, p.height = wanted.part.height;
  p.bgr = wanted.bgr;
  p.black = wanted.black, p.scale = wanted.scale;
  const std::int64_t row = std::int64_t{p.width} * 3;
  p.to = placed<std::uint8_t>(there.results(static_cast<std::uint64_t>(row * p.height)), 0);
  there.check_all();
  there.launch(byte_names, row * p.height, p);
  copy_rows({{image.planes[0].data, {}}, image.planes[0].pitch}, {{p.to, map.values.tensor().device()}, row},
            static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(p.height), queue->stream());
  there.finish();
}

} // namespace lanner::tasks::cuda
