#pragma once
// cuDNN, opened at first use, and its objects.

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <string>
#include <utility>

#include <lanner/error.h>

#include "base/check.h"
#include "device/cuda/cudnn_api.h"
#include "device/cuda/gpu.h"
#include "device/cuda/shared_library.h"

namespace lanner::cudnn {

/// Its version is 91300 for 9.13.0.
using LibraryStatus = cuda::LibraryStatus<Api>;

/// Opens libcudnn.so.9 at the first call. Never throws; safe from any thread.
const LibraryStatus& library_status();
/// The same for the given SONAMEs or paths; every call opens again.
LibraryStatus open_library(std::span<const char* const> names);

/// The function table. Throws Error{unsupported} with the reason and the remedy where there is none.
const Api& api();

/// Throws unless `status` is success: Error{unsupported} for what cuDNN does not support,
/// Error{out_of_memory} when it is out of memory, else Error{device}; with cuDNN's own message.
void check(Status status, const char* call);

/// Owns a backend descriptor. Movable; calls throw as check() does.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(DescriptorType type) {
    check(api().create_descriptor(type, &handle_), "cudnnBackendCreateDescriptor");
  }
  Descriptor(Descriptor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Descriptor() {
    if (handle_) static_cast<void>(api().destroy_descriptor(handle_));
  }

  DescriptorHandle handle() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  void finalize() { check(api().finalize(handle_), "cudnnBackendFinalize"); }

  template<typename T>
  void set(Attribute attribute, AttributeType type, std::span<const T> values) {
    check(api().set_attribute(handle_, attribute, type, static_cast<std::int64_t>(values.size()),
                              values.data()),
          "cudnnBackendSetAttribute");
  }
  template<typename T>
  void set(Attribute attribute, AttributeType type, const T& value) {
    set(attribute, type, std::span<const T>(&value, 1));
  }
  void set(Attribute attribute, const Descriptor& value) {
    set(attribute, AttributeType::descriptor, value.handle());
  }
  /// Number of elements that the attribute has now.
  std::int64_t count(Attribute attribute, AttributeType type) const;
  /// Fills `values`, whose descriptors must have been created; returns how many were written.
  template<typename T>
  std::size_t get(Attribute attribute, AttributeType type, std::span<T> values) const {
    std::int64_t count = 0;
    check(api().get_attribute(handle_, attribute, type, static_cast<std::int64_t>(values.size()), &count,
                              values.data()),
          "cudnnBackendGetAttribute");
    return std::min(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), values.size());
  }
  template<typename T>
  T get(Attribute attribute, AttributeType type) const {
    T value{};
    lanner::check(get(attribute, type, std::span<T>(&value, 1)) == 1, ErrorCode::device,
                  "cuDNN gave no value for attribute {}", static_cast<int>(attribute));
    return value;
  }

private:
  DescriptorHandle handle_ = nullptr;
};

/// Handles of one GPU, pooled for reuse: a handle serves one thread at a time, and making one takes
/// milliseconds. Thread-safe; lives as long as the process.
class HandlePool {
public:
  static HandlePool& of(const cuda::Gpu& gpu);

  /// A handle for one thread, returned to the pool by its destructor.
  class Lease {
  public:
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { pool_.give_back(entry_); }
    Handle handle() const noexcept { return entry_->handle; }

  private:
    friend class HandlePool;
    struct Entry {
      Handle handle = nullptr;
      cuda::StreamHandle stream = nullptr;
    };
    Lease(HandlePool& pool, Entry* entry) : pool_(pool), entry_(entry) {}
    HandlePool& pool_;
    Entry* entry_;
  };

  /// A handle whose stream is `stream`. The GPU's context must be current. Makes a handle only when all are
  /// in use.
  Lease take(cuda::StreamHandle stream);

private:
  using Entry = Lease::Entry;
  HandlePool() = default;
  Entry* free_entry();
  void give_back(Entry* entry) noexcept;
  std::array<std::atomic<Entry*>, 64> free_{};
};

} // namespace lanner::cudnn
