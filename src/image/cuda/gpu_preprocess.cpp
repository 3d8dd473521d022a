#include "image/cuda/gpu_preprocess.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <vector>

#include <lanner/error.h>

#include "base/limits/account.h"
#include "device/cuda/code.h"
#include "device/memory.h"
#include "image/cuda/device_preprocess.h"

namespace lanner {
namespace {

/// Host bytes that are uploaded together, each piece aligned.
class Upload {
public:
  /// Returns the offset at which they will be.
  std::uint64_t add(const void* data, std::uint64_t bytes) {
    constexpr std::uint64_t alignment = 256;
    const std::uint64_t offset = size_;
    pieces_.push_back({data, bytes, offset});
    size_ += (bytes + alignment - 1) / alignment * alignment;
    return offset;
  }
  std::uint64_t size() const noexcept { return size_; }
  void gather(std::byte* memory) const {
    for (const Piece& piece : pieces_)
      if (piece.bytes > 0) std::memcpy(memory + piece.offset, piece.data, piece.bytes);
  }

private:
  struct Piece {
    const void* data;
    std::uint64_t bytes, offset;
  };
  std::vector<Piece> pieces_;
  std::uint64_t size_ = 0;
};

/// The weights of one geometry in a GPU's memory.
struct Tables {
  SampledAxes axes;
  std::shared_ptr<void> memory;
  DeviceAxis luma_x{}, luma_y{}, chroma_x{}, chroma_y{}; ///< Only what set_taps() sets.
};

/// Memory that a host picture passes through.
struct Staging {
  explicit Staging(const cuda::Gpu& gpu) : done(gpu) {}
  void reserve(Device device, std::uint64_t bytes) {
    if (bytes <= size) return;
    const AccountScope lasting(no_account());
    pinned = allocate_pinned(device, bytes);
    memory = allocate_memory(device, bytes);
    size = bytes;
  }
  cuda::Event done;
  bool used = false; ///< The memory may still be read, until `done`.
  std::shared_ptr<void> pinned, memory;
  std::uint64_t size = 0;
};

/// State shared by a process's calls on one GPU.
class PreprocessState {
public:
  explicit PreprocessState(const cuda::Gpu& gpu) : gpu_(gpu), uploads_(gpu) {
    for (const bool taps : {false, true})
      for (const int bytes : {1, 2}) {
        const std::string name = fmt::format("lanner_preprocess_{}_{}", taps ? "taps" : "bilinear", bytes);
        functions_[taps][bytes - 1] = cuda::embedded_function(gpu, "preprocess", name.c_str());
      }
  }

  cuda::FunctionHandle function(bool taps, int bytes) const { return functions_[taps][bytes - 1]; }

  std::shared_ptr<const Tables> tables(const SampledAxes& axes) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(tables_, [&](const auto& known) { return known->axes == axes; });
    if (found != tables_.end()) {
      tables_.splice(tables_.begin(), tables_, found);
      return tables_.front();
    }
    constexpr std::size_t most = 64;
    tables_.push_front(make_tables(axes));
    // The driver waits for kernels that still read evicted tables before it frees them.
    if (tables_.size() > most) tables_.pop_back();
    return tables_.front();
  }

  /// A buffer that no other call holds; the caller waits for its last use.
  std::unique_ptr<Staging> take() {
    // More than one, so that a picture is uploaded while the previous one is read.
    constexpr std::size_t pooled = 3;
    const std::lock_guard lock(mutex_);
    if (made_ < pooled || idle_.empty()) {
      auto fresh = std::make_unique<Staging>(gpu_);
      ++made_;
      return fresh;
    }
    std::unique_ptr<Staging> oldest = std::move(idle_.front());
    idle_.pop_front();
    return oldest;
  }
  void give_back(std::unique_ptr<Staging> staging) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(staging));
  }
  void lost() {
    const std::lock_guard lock(mutex_);
    --made_;
  }

private:
  std::shared_ptr<const Tables> make_tables(const SampledAxes& axes) {
    const Sampling sampling = sampling_of(axes);
    auto tables = std::make_shared<Tables>();
    tables->axes = axes;
    const std::pair<const Taps*, DeviceAxis*> all[] = {{&sampling.luma_x, &tables->luma_x},
                                                       {&sampling.luma_y, &tables->luma_y},
                                                       {&sampling.chroma_x, &tables->chroma_x},
                                                       {&sampling.chroma_y, &tables->chroma_y}};
    Upload upload;
    std::uint64_t index[4], weights[4];
    for (std::size_t i = 0; i < 4; ++i) {
      const Taps& taps = *all[i].first;
      index[i] = upload.add(taps.index.data(), taps.index.size() * sizeof(taps.index[0]));
      weights[i] = upload.add(taps.weights.data(), taps.weights.size() * sizeof(taps.weights[0]));
    }
    const AccountScope lasting(no_account());
    tables->memory = allocate_memory(gpu_.device(), upload.size());
    std::vector<std::byte> bytes(upload.size());
    upload.gather(bytes.data());
    copy_memory({tables->memory.get(), gpu_.device()}, {bytes.data(), {}}, upload.size(), uploads_.stream());
    uploads_.synchronize();
    const auto* base = static_cast<const std::byte*>(tables->memory.get());
    for (std::size_t i = 0; i < 4; ++i)
      set_taps(*all[i].second, *all[i].first, reinterpret_cast<const std::int32_t*>(base + index[i]),
               reinterpret_cast<const float*>(base + weights[i]));
    return tables;
  }

  const cuda::Gpu& gpu_;
  cuda::OwnedStream uploads_;
  cuda::FunctionHandle functions_[2][2] = {};
  std::mutex mutex_;
  std::list<std::shared_ptr<const Tables>> tables_; ///< Most recently used first.
  std::deque<std::unique_ptr<Staging>> idle_;       ///< Least recently used first.
  std::size_t made_ = 0;
};

// Never destroyed: drivers are gone before static objects.
PreprocessState& state_of(const cuda::Gpu& gpu) {
  static auto* const mutex = new std::mutex;
  static auto* const all = new std::map<Device, std::unique_ptr<PreprocessState>>;
  const std::lock_guard lock(*mutex);
  std::unique_ptr<PreprocessState>& state = (*all)[gpu.device()];
  if (!state) state = std::make_unique<PreprocessState>(gpu);
  return *state;
}

/// One thread per pixel of the target, for each of `count` pictures.
template<typename Parameter>
void launch(cuda::FunctionHandle function, Parameter parameter, unsigned count, Stream stream) {
  constexpr unsigned across = 32, down = 4;
  void* arguments[] = {&parameter};
  const auto blocks = [](std::int32_t size, unsigned block) {
    return (static_cast<unsigned>(size) + block - 1) / block;
  };
  cuda::check(cuda::driver().launch(function, blocks(parameter.width, across), blocks(parameter.height, down),
                                    count, across, down, 1, 0, static_cast<cuda::StreamHandle>(stream.handle),
                                    arguments, nullptr),
              "cuLaunchKernel");
}

/// The kernel's parameter for a picture on this GPU, and the tables that must live as long as it is used.
std::shared_ptr<const Tables> complete(PreprocessState& state, const PreprocessPlan& plan,
                                       DevicePreprocess& parameters) {
  if (!needs_taps(plan.spec)) return nullptr;
  std::shared_ptr<const Tables> tables = state.tables(plan.axes);
  const auto set = [](DeviceAxis& axis, const DeviceAxis& table) {
    axis.index = table.index, axis.weights = table.weights, axis.count = table.count;
  };
  set(parameters.luma_x, tables->luma_x), set(parameters.luma_y, tables->luma_y);
  set(parameters.chroma_x, tables->chroma_x), set(parameters.chroma_y, tables->chroma_y);
  return tables;
}

/// Runs the kernel for a picture on this GPU.
void run(PreprocessState& state, const PreprocessPlan& plan, void* out, Stream stream) {
  DevicePreprocess parameters = device_preprocess(plan, out);
  const std::shared_ptr<const Tables> tables = complete(state, plan, parameters);
  const int bytes = format_info(plan.source.format).bytes_per_sample;
  launch(state.function(needs_taps(plan.spec), bytes), parameters, 1, stream);
}

/// Queues the copy of the region's planes; the plan's picture is then on the GPU.
void upload_picture(Staging& staging, PreprocessPlan& plan, Device device, Stream stream) {
  Upload upload;
  const PixelFormatInfo& facts = format_info(plan.source.format);
  std::uint64_t offsets[3] = {};
  for (std::size_t i = 0; i < facts.planes; ++i) {
    const Plane& plane = plan.source.planes[i];
    const auto row = static_cast<std::uint64_t>(plane.width) * facts.samples[i] * facts.bytes_per_sample;
    const auto above = static_cast<std::uint64_t>(plane.height - 1) * static_cast<std::uint64_t>(plane.pitch);
    offsets[i] = upload.add(plane.data, above + row);
  }
  if (staging.used) staging.done.synchronize();
  staging.reserve(device, upload.size());
  upload.gather(static_cast<std::byte*>(staging.pinned.get()));
  copy_memory({staging.memory.get(), device}, {staging.pinned.get(), {}}, upload.size(), stream);
  for (std::size_t i = 0; i < facts.planes; ++i)
    plan.source.planes[i].data = static_cast<std::byte*>(staging.memory.get()) + offsets[i];
}

} // namespace

void preprocess_on_gpu(const Image& image, const Preprocess& spec, Tensor& output, std::int64_t batch_index,
                       Stream stream) {
  check_preprocess(image, spec, output, batch_index);
  const cuda::Gpu& gpu = cuda::Gpu::get(output.device());
  const cuda::Current current(gpu);
  PreprocessState& state = state_of(gpu);
  PreprocessPlan plan = preprocess_plan(image, spec);
  const std::uint64_t element = output.bytes() / static_cast<std::uint64_t>(output.shape()[0]);
  auto* out = static_cast<std::byte*>(output.data()) + static_cast<std::uint64_t>(batch_index) * element;
  if (!image.device.is_host()) return run(state, plan, out, stream);
  std::unique_ptr<Staging> staging = state.take();
  try {
    upload_picture(*staging, plan, output.device(), stream);
    run(state, plan, out, stream);
    staging->done.record(static_cast<cuda::StreamHandle>(stream.handle));
    staging->used = true;
  } catch (...) {
    state.lost();
    throw;
  }
  state.give_back(std::move(staging));
}

GpuPicture picture_on_gpu(const PreprocessPlan& plan, Device device) {
  const cuda::Gpu& gpu = cuda::Gpu::get(device);
  const cuda::Current current(gpu);
  GpuPicture picture{device_preprocess(plan, nullptr), nullptr};
  picture.tables = complete(state_of(gpu), plan, picture.parameters);
  return picture;
}

PicturesFunction::PicturesFunction(Device device, const Preprocess& spec) {
  const cuda::Gpu& gpu = cuda::Gpu::get(device);
  const cuda::Current current(gpu);
  handle_ = cuda::embedded_function(gpu, "preprocess",
                                    needs_taps(spec) ? "lanner_pictures_taps" : "lanner_pictures_bilinear");
}

void PicturesFunction::launch(const DevicePictures& pictures, std::int64_t count, Stream stream) const {
  constexpr std::int64_t most = 65535; // layers of a grid
  DevicePictures part = pictures;
  for (std::int64_t first = 0; first < count; first += most) {
    part.pictures = pictures.pictures + first * pictures.pitch;
    part.out = static_cast<std::byte*>(pictures.out) + first * pictures.element;
    lanner::launch(handle_, part, static_cast<unsigned>(std::min(most, count - first)), stream);
  }
}

} // namespace lanner
