#include "device/cuda/cudnn.h"

#include <map>
#include <mutex>

#include "base/check.h"
#include "device/cuda/cublaslt.h"
#include "device/cuda/nvrtc.h"

namespace lanner::cudnn {
namespace {

constexpr std::size_t oldest_version = 90000;
constexpr const char* remedy = "install cuDNN 9, for instance: pip install nvidia-cudnn-cu13";

bool bind_all(cuda::SharedLibrary& library, Api& a) {
  return library.bind("cudnnGetVersion", a.version) && library.bind("cudnnGetErrorString", a.error_string) &&
         library.bind("cudnnGetLastErrorString", a.last_error) && library.bind("cudnnCreate", a.create) &&
         library.bind("cudnnDestroy", a.destroy) && library.bind("cudnnSetStream", a.set_stream) &&
         library.bind("cudnnBackendCreateDescriptor", a.create_descriptor) &&
         library.bind("cudnnBackendDestroyDescriptor", a.destroy_descriptor) &&
         library.bind("cudnnBackendSetAttribute", a.set_attribute) &&
         library.bind("cudnnBackendGetAttribute", a.get_attribute) &&
         library.bind("cudnnBackendFinalize", a.finalize) && library.bind("cudnnBackendExecute", a.execute);
}

ErrorCode code_of(Status status) {
  if (status >= not_supported_first && status <= not_supported_last) return ErrorCode::unsupported;
  const bool refused = status == host_allocation_failed || status == device_allocation_failed;
  return refused ? ErrorCode::out_of_memory : ErrorCode::device;
}

/// The library's last message, in one line.
std::string details() {
  std::array<char, 512> text{};
  api().last_error(text.data(), text.size() - 1);
  std::string line = text.data();
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

} // namespace

LibraryStatus open_library(std::span<const char* const> names) {
  return cuda::open_table<Api>({names, bind_all, remedy, oldest_version});
}

const LibraryStatus& library_status() {
  static const auto* status = new LibraryStatus([] {
    // cuDNN opens these two by name when an engine needs them, which finds libraries that are already open.
    static_cast<void>(cuda::nvrtc_status());
    static_cast<void>(cublaslt::library_status());
    constexpr std::array names{"libcudnn.so.9"};
    return open_library(names);
  }());
  return *status;
}

const Api& api() {
  return cuda::table_of(library_status(), "cuDNN");
}

void check(Status status, const char* call) {
  if (status == success) [[likely]]
    return;
  fail(code_of(status), "{}: {}: {}", call, api().error_string(status), details());
}

std::int64_t Descriptor::count(Attribute attribute, AttributeType type) const {
  std::int64_t count = 0;
  check(api().get_attribute(handle_, attribute, type, 0, &count, nullptr), "cudnnBackendGetAttribute");
  return count;
}

HandlePool& HandlePool::of(const cuda::Gpu& gpu) {
  // Leaked on purpose: destroying a handle waits for the GPU, whose driver may be gone when the process ends.
  static std::mutex mutex;
  static auto* pools = new std::map<Device, HandlePool*>;
  const std::lock_guard lock(mutex);
  HandlePool*& pool = (*pools)[gpu.device()];
  if (!pool) pool = new HandlePool;
  return *pool;
}

HandlePool::Entry* HandlePool::free_entry() {
  for (std::atomic<Entry*>& slot : free_)
    if (slot.load(std::memory_order_relaxed))
      if (Entry* entry = slot.exchange(nullptr, std::memory_order_acquire)) return entry;
  auto entry = std::make_unique<Entry>();
  check(api().create(&entry->handle), "cudnnCreate");
  return entry.release();
}

HandlePool::Lease HandlePool::take(cuda::StreamHandle stream) {
  Entry* entry = free_entry();
  if (entry->stream != stream) {
    const Status status = api().set_stream(entry->handle, stream);
    if (status == success)
      entry->stream = stream;
    else
      give_back(entry);
    check(status, "cudnnSetStream");
  }
  return Lease(*this, entry);
}

void HandlePool::give_back(Entry* entry) noexcept {
  for (std::atomic<Entry*>& slot : free_) {
    Entry* empty = nullptr;
    if (slot.compare_exchange_strong(empty, entry, std::memory_order_release, std::memory_order_relaxed))
      return;
  }
  static_cast<void>(api().destroy(entry->handle));
  delete entry;
}

} // namespace lanner::cudnn
