#include "image/cuda/gpu_preprocess.h"

#include <cstring>
#include <vector>

#include <lanner/error.h>

#include "device/cuda/code.h"
#include "device/memory.h"
#include "image/cuda/device_preprocess.h"

namespace lanner {
namespace {

constexpr std::uint64_t alignment = 256;

/// Bytes of the host that go up together.
class Upload {
public:
  /// Returns where they will lie behind the start.
  std::uint64_t add(const void* data, std::uint64_t bytes) {
    const std::uint64_t offset = size_;
    pieces_.push_back({data, bytes, offset});
    size_ += (bytes + alignment - 1) / alignment * alignment;
    return offset;
  }
  std::uint64_t size() const noexcept { return size_; }
  void gather(std::byte* memory) const {
    for (const Piece& piece : pieces_) std::memcpy(memory + piece.offset, piece.data, piece.bytes);
  }

private:
  struct Piece {
    const void* data;
    std::uint64_t bytes, offset;
  };
  std::vector<Piece> pieces_;
  std::uint64_t size_ = 0;
};

/// Everything that a picture's pass reads, and where it will lie.
struct Request {
  struct PlacedTaps {
    DeviceTaps DevicePreprocess::*taps;
    std::uint64_t index, weights;
  };
  Upload upload;
  std::uint64_t planes[3] = {};
  std::vector<PlacedTaps> taps;
};

std::uint64_t plane_bytes(const Plane& plane, std::uint64_t row) {
  return plane.height > 0
             ? static_cast<std::uint64_t>(plane.height - 1) * static_cast<std::uint64_t>(plane.pitch) + row
             : 0;
}

void add_taps(Request& request, DeviceTaps DevicePreprocess::*member, const Taps& taps) {
  const std::uint64_t index =
                          request.upload.add(taps.index.data(), taps.index.size() * sizeof(taps.index[0])),
                      weights = request.upload.add(taps.weights.data(),
                                                   taps.weights.size() * sizeof(taps.weights[0]));
  request.taps.push_back({member, index, weights});
}

Request request_for(const PreprocessPlan& plan) {
  const Image& image = plan.source;
  Request request;
  const PixelFormatInfo& facts = info(image.format);
  for (std::size_t i = 0; image.device.is_host() && i < facts.planes; ++i) {
    const Plane& plane = image.planes[i];
    const auto row = static_cast<std::uint64_t>(plane.width) * facts.samples[i] * facts.bytes_per_sample;
    request.planes[i] = request.upload.add(plane.data, plane_bytes(plane, row));
  }
  add_taps(request, &DevicePreprocess::luma_x, plan.sampling.luma_x);
  add_taps(request, &DevicePreprocess::luma_y, plan.sampling.luma_y);
  if (!facts.yuv) return request;
  add_taps(request, &DevicePreprocess::chroma_x, plan.sampling.chroma_x);
  add_taps(request, &DevicePreprocess::chroma_y, plan.sampling.chroma_y);
  return request;
}

/// The kernel's parameter once all of the request lies behind `base`.
DevicePreprocess parameters_of(PreprocessPlan plan, const Request& request, std::byte* base, void* out) {
  for (std::size_t i = 0; plan.source.device.is_host() && i < info(plan.source.format).planes; ++i)
    plan.source.planes[i].data = base + request.planes[i];
  DevicePreprocess parameters = device_preprocess(plan, out);
  for (const Request::PlacedTaps& placed : request.taps) {
    DeviceTaps& taps = parameters.*placed.taps;
    taps.index = reinterpret_cast<const std::int32_t*>(base + placed.index);
    taps.weights = reinterpret_cast<const float*>(base + placed.weights);
  }
  return parameters;
}

} // namespace

struct GpuPreprocess::State {
  explicit State(Device on) : device(on), gpu(cuda::Gpu::get(on)), done(gpu) {
    const cuda::Current current(gpu);
    function = cuda::embedded_function(gpu, "preprocess", "lanner_preprocess");
  }

  void reserve(std::uint64_t bytes) {
    if (bytes <= size) return;
    size = bytes + bytes / 4;
    pinned = allocate_pinned(device, size);
    memory = allocate_memory(device, size);
  }

  void launch(DevicePreprocess parameters, Stream stream) {
    constexpr unsigned across = 32, down = 8;
    const auto queue = static_cast<cuda::StreamHandle>(stream.handle);
    void* arguments[] = {&parameters};
    cuda::check(cuda::driver().launch(function,
                                      (static_cast<unsigned>(parameters.width) + across - 1) / across,
                                      (static_cast<unsigned>(parameters.height) + down - 1) / down, 1, across,
                                      down, 1, 0, queue, arguments, nullptr),
                "cuLaunchKernel");
    done.record(queue);
    busy = true;
  }

  Device device;
  const cuda::Gpu& gpu;
  cuda::Event done;
  bool busy = false; ///< The pinned memory may still be read.
  cuda::FunctionHandle function = nullptr;
  std::shared_ptr<void> pinned, memory;
  std::uint64_t size = 0;
};

GpuPreprocess::GpuPreprocess(Device device) : state_(std::make_unique<State>(device)) {}
GpuPreprocess::GpuPreprocess(GpuPreprocess&&) noexcept = default;
GpuPreprocess::~GpuPreprocess() = default;

void GpuPreprocess::run(const Image& image, const Preprocess& spec, Tensor& output, std::int64_t batch_index,
                        Stream stream) {
  check_preprocess(image, spec, output, batch_index);
  State& state = *state_;
  const cuda::Current current(state.gpu);
  const PreprocessPlan plan = preprocess_plan(image, spec);
  const Request request = request_for(plan);
  if (state.busy) state.done.synchronize();
  state.reserve(request.upload.size());
  request.upload.gather(static_cast<std::byte*>(state.pinned.get()));
  copy_memory({state.memory.get(), state.device}, {state.pinned.get(), {}}, request.upload.size(), stream);
  const std::uint64_t element = output.bytes() / static_cast<std::uint64_t>(output.shape()[0]);
  auto* out = static_cast<std::byte*>(output.data()) + static_cast<std::uint64_t>(batch_index) * element;
  state.launch(parameters_of(plan, request, static_cast<std::byte*>(state.memory.get()), out), stream);
}

} // namespace lanner
