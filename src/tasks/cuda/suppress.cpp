#include "tasks/cuda/suppress.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "device/memory.h"
#include "tasks/cuda/suppress_kernel.h"
#include "tasks/cuda/work_queue.h"

namespace lanner::tasks::cuda {
namespace {

constexpr const char* stem = "task_boxes";

/// Memory for the kernels' results; at its start what is read at the end: the state, then the remaining
/// boxes.
void place(WorkQueue& queue, SuppressParameters& p) {
  const auto count = static_cast<std::uint64_t>(p.count);
  Pieces work;
  const std::uint64_t keys = work.add(count * sizeof(std::uint64_t)),
                      order = work.add(count * sizeof(std::int32_t)),
                      boxes = work.add(count * (p.numbers == 4 ? sizeof(UprightBox) : sizeof(RotatedBox))),
                      classes = work.add(p.labels ? count * sizeof(std::int64_t) : 0), gone = work.add(count);
  std::byte* const base = queue.memory(WorkQueue::work, work.size());
  p.keys = placed<std::uint64_t>(base, keys);
  p.order = placed<std::int32_t>(base, order);
  if (p.numbers == 4)
    p.upright = placed<UprightBox>(base, boxes);
  else
    p.turned = placed<RotatedBox>(base, boxes);
  if (p.labels) p.classes = placed<std::int64_t>(base, classes);
  p.gone = placed<std::uint8_t>(base, gone);
  Pieces results;
  const std::uint64_t state = results.add(suppress_states * sizeof(std::int64_t)),
                      kept = results.add(static_cast<std::uint64_t>(p.most) * sizeof(std::int32_t));
  std::byte* const found = queue.memory(WorkQueue::results, results.size());
  p.state = placed<std::int64_t>(found, state);
  p.kept = placed<std::int32_t>(found, kept);
}

void enqueue(WorkQueue& queue, const SuppressParameters& p) {
  const Grid all = lanner::cuda::grid_for(queue.gpu(), p.count);
  constexpr unsigned tile = 256;
  const auto tiles = static_cast<unsigned>((p.count + tile - 1) / tile);
  clear_memory({p.state, queue.gpu().device()}, suppress_states * sizeof(std::int64_t), queue.stream());
  queue.launch(queue.function(stem, "task_key_boxes"), all, p);
  queue.launch(queue.function(stem, "task_sort_boxes"), {.blocks = tiles, .threads = tile}, p);
  const auto resolve = queue.function(stem, "task_resolve_boxes"),
             tell = queue.function(stem, "task_tell_boxes");
  for (std::int64_t first = 0; first < p.count; first += suppressed_together) {
    queue.launch(resolve, {.blocks = 1, .threads = suppressed_together}, p, first);
    const std::int64_t behind = first + suppressed_together;
    if (behind < p.count)
      queue.launch(tell, lanner::cuda::grid_for(queue.gpu(), p.count - behind), p, behind);
  }
  queue.launch(queue.function(stem, "task_number_boxes"), lanner::cuda::grid_for(queue.gpu(), p.most), p);
}

/// Indices of the remaining boxes; `p` has the inputs set.
std::vector<std::int64_t> run(WorkQueue& queue, SuppressParameters p, bool checked) {
  place(queue, p);
  enqueue(queue, p);
  const auto kept_at = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(p.kept) -
                                                  reinterpret_cast<std::byte*>(p.state));
  const std::uint64_t bytes = kept_at + static_cast<std::uint64_t>(p.most) * sizeof(std::int32_t);
  std::byte* const found = queue.pinned(WorkQueue::results, bytes);
  queue.download(found, p.state, bytes);
  queue.wait();
  const auto* const state = placed<const std::int64_t>(found, 0);
  check(!checked || state[not_finite] == 0, ErrorCode::bad_data,
        "suppress_boxes: a box or a score is not finite");
  const auto* const kept = placed<const std::int32_t>(found, kept_at);
  return {kept, kept + state[stayed]};
}

std::int64_t most_of(std::int64_t wanted, std::int64_t count) {
  return wanted > 0 ? std::min(wanted, count) : count;
}

} // namespace

std::vector<std::int64_t> suppressed_there(const Tensor& boxes, const Tensor& scores, const Tensor& labels,
                                           float iou_threshold, std::int64_t most) {
  SuppressParameters p;
  p.count = boxes.shape()[0];
  p.most = most_of(most, p.count);
  p.threshold = iou_threshold;
  p.numbers = static_cast<std::int32_t>(boxes.shape()[1]);
  p.boxes = static_cast<const float*>(boxes.data());
  p.scores = static_cast<const float*>(scores.data());
  if (labels.defined()) p.labels = static_cast<const std::int64_t*>(labels.data());
  const QueueUse queue(boxes.device());
  return run(*queue, p, true);
}

std::vector<std::int64_t> suppressed_there(Device device, const Suppression& given) {
  const bool turned = given.upright.empty();
  SuppressParameters p;
  p.count = static_cast<std::int64_t>(given.scores.size());
  p.most = most_of(given.most, p.count);
  p.threshold = given.iou_threshold;
  p.numbers = turned ? 5 : 4;
  std::vector<double> directions;
  for (const Turned& box : given.turned) {
    directions.push_back(std::cos(static_cast<double>(box[4])));
    directions.push_back(std::sin(static_cast<double>(box[4])));
  }
  Upload upload;
  const std::uint64_t boxes = turned ? upload.add(given.turned) : upload.add(given.upright),
                      scores = upload.add(given.scores), labels = upload.add(given.labels),
                      along = upload.add(std::span<const double>(directions));
  const QueueUse queue(device);
  const std::byte* const there = queue->upload(upload.bytes());
  p.boxes = placed<const float>(there, boxes);
  p.scores = placed<const float>(there, scores);
  if (!given.labels.empty()) p.labels = placed<const std::int64_t>(there, labels);
  if (turned) p.directions = placed<const double>(there, along);
  return run(*queue, p, false);
}

} // namespace lanner::tasks::cuda
