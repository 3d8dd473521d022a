#include "run/recording.h"

#include <algorithm>

#include "device/cuda/gpu.h"

namespace lanner {

Recording::Recording() = default;
Recording::Recording(Recording&&) noexcept = default;
Recording::~Recording() = default;

void Recording::forget() {
  if (runs_ == 0) return;
  runs_ = 0;
  graphs_.clear();
}

void Recording::queue(Device device, std::size_t index, Stream stream,
                      const std::function<void(Stream, bool)>& body) {
  if (runs_ < 2) return body(stream, false);
  if (graphs_.size() <= index) graphs_.resize(index + 1);
  std::unique_ptr<cuda::GraphExec>& graph = graphs_[index];
  if (!graph) {
    const cuda::Gpu& gpu = cuda::Gpu::get(device);
    std::unique_ptr<cuda::OwnedStream>& own = streams_[device];
    if (!own) own = std::make_unique<cuda::OwnedStream>(gpu);
    graph = cuda::GraphExec::capture(
        gpu, *own, [&](cuda::StreamHandle handle) { body({handle}, cuda::GraphExec::keeps_order()); });
  }
  graph->launch(static_cast<cuda::StreamHandle>(stream.handle));
}

std::size_t Recording::graphs() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(graphs_, [](const auto& graph) { return graph != nullptr; }));
}

} // namespace lanner
