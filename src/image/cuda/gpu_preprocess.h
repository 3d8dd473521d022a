#pragma once
// Preprocess on a GPU: pictures go up as they are, one kernel writes the tensor.

#include <memory>

#include <lanner/image.h>
#include <lanner/preprocess.h>
#include <lanner/tensor.h>

namespace lanner {

/// Memory that one caller's pictures pass through, kept from call to call. Used by one thread at a time.
class GpuPreprocess {
public:
  explicit GpuPreprocess(Device device);
  GpuPreprocess(GpuPreprocess&&) noexcept;
  ~GpuPreprocess();

  /// Fills batch element `batch_index` of `output`, as preprocess() does; `output` lies on this device,
  /// `image` there or on the host. Queued on `stream`; waits for the call before it where that still reads
  /// the memory.
  void run(const Image& image, const Preprocess& spec, Tensor& output, std::int64_t batch_index,
           Stream stream);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
