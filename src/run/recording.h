#pragma once
// Records segments of a run as CUDA graphs.

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <lanner/device.h>

namespace lanner::cuda {
class GraphExec;
class OwnedStream;
} // namespace lanner::cuda

namespace lanner {

/// Graphs by segment. The first run with given pointers is launched directly, since kernels may load code
/// then; the second one is recorded, and later ones replay the graph. New pointers start over.
class Recording {
public:
  Recording();
  Recording(Recording&&) noexcept;
  ~Recording();

  /// Call when the caller's memory has moved.
  void forget();
  /// Call at the begin of a run.
  void begin_run() { ++runs_; }
  /// Queues segment `index` of those of `device` on `stream`: by its graph, or by `body(stream, ordered)`,
  /// see Launch::ordered.
  void queue(Device device, std::size_t index, Stream stream,
             const std::function<void(Stream, bool ordered)>& body);
  std::size_t graphs() const noexcept; ///< Recorded so far.

private:
  std::vector<std::unique_ptr<cuda::GraphExec>> graphs_;
  std::map<Device, std::unique_ptr<cuda::OwnedStream>> streams_; ///< That are not the default stream.
  std::uint64_t runs_ = 0;
};

} // namespace lanner
