#pragma once
// cuBLASLt, opened at first use, and its objects.

#include <span>
#include <string>
#include <utility>

#include <lanner/error.h>

#include "base/check.h"
#include "device/cuda/cublaslt_api.h"
#include "device/cuda/gpu.h"
#include "device/cuda/shared_library.h"

namespace lanner::cublaslt {

/// Its version is 130002 for 13.0.2, 120900 for 12.9.0.
using LibraryStatus = cuda::LibraryStatus<Api>;

/// Opens libcublasLt.so.13 or .12 at the first call. Never throws; safe from any thread.
const LibraryStatus& library_status();
/// The same for the given SONAMEs or paths; every call opens again.
LibraryStatus open_library(std::span<const char* const> names);

/// The function table. Throws Error{unsupported} with the reason and the remedy where there is none.
const Api& api();

/// Throws unless `status` is success: Error{unsupported} for what cuBLASLt does not support,
/// Error{out_of_memory} when it is out of memory, else Error{device}.
void check(Status status, const char* call);

/// The handle of a GPU, whose context must be current at the first call. Shared by all threads, as cuBLASLt
/// allows; lives as long as the process.
Handle handle_of(const cuda::Gpu& gpu);

/// Owns one of the library's objects, released by `destroy`.
template<typename T, auto destroy>
class Owned {
public:
  Owned() = default;
  explicit Owned(T handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_) static_cast<void>((api().*destroy)(handle_));
  }
  T handle() const noexcept { return handle_; }

private:
  T handle_ = nullptr;
};

/// The operation on the matrices: f32 sums scaled in f32.
class MatmulDescriptor : public Owned<DescriptorHandle, &Api::descriptor_destroy> {
public:
  MatmulDescriptor();
  template<typename T>
  void set(DescriptorAttribute attribute, const T& value) {
    check(api().descriptor_set(handle(), attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }
};

/// A column-major matrix, or several of them at a constant stride.
class MatrixLayout : public Owned<LayoutHandle, &Api::layout_destroy> {
public:
  MatrixLayout(DataType type, std::int64_t rows, std::int64_t columns, std::int64_t leading_dimension);
  void set_batch(std::int32_t count, std::int64_t stride); ///< `stride` in elements; 0 repeats one matrix.
};

/// Constraints on what the heuristics may choose.
class Preference : public Owned<PreferenceHandle, &Api::preference_destroy> {
public:
  Preference(std::size_t max_workspace, std::uint32_t alignment);
};

} // namespace lanner::cublaslt
