#include "device/cuda/cublaslt.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>

#include "base/check.h"

namespace lanner::cublaslt {
namespace {

constexpr std::size_t oldest_version = 120000;
constexpr const char* remedy = "install cuBLAS 12 or 13, for instance: pip install nvidia-cublas";

bool bind_objects(cuda::SharedLibrary& library, Api& a) {
  return library.bind("cublasLtMatmulDescCreate", a.descriptor_create) &&
         library.bind("cublasLtMatmulDescDestroy", a.descriptor_destroy) &&
         library.bind("cublasLtMatmulDescSetAttribute", a.descriptor_set) &&
         library.bind("cublasLtMatrixLayoutCreate", a.layout_create) &&
         library.bind("cublasLtMatrixLayoutDestroy", a.layout_destroy) &&
         library.bind("cublasLtMatrixLayoutSetAttribute", a.layout_set) &&
         library.bind("cublasLtMatmulPreferenceCreate", a.preference_create) &&
         library.bind("cublasLtMatmulPreferenceDestroy", a.preference_destroy) &&
         library.bind("cublasLtMatmulPreferenceSetAttribute", a.preference_set);
}

bool bind_all(cuda::SharedLibrary& library, Api& a) {
  return library.bind("cublasLtGetVersion", a.version) &&
         library.bind("cublasLtGetStatusString", a.status_string) &&
         library.bind("cublasLtCreate", a.create) && library.bind("cublasLtDestroy", a.destroy) &&
         bind_objects(library, a) && library.bind("cublasLtMatmulAlgoGetHeuristic", a.heuristics) &&
         library.bind("cublasLtMatmulAlgoInit", a.algorithm_init) &&
         library.bind("cublasLtMatmulAlgoCheck", a.algorithm_check) &&
         library.bind("cublasLtMatmulAlgoConfigGetAttribute", a.algorithm_get) &&
         library.bind("cublasLtMatmulAlgoConfigSetAttribute", a.algorithm_set) &&
         library.bind("cublasLtMatmul", a.matmul);
}

ErrorCode code_of(Status status) {
  if (status == not_supported) return ErrorCode::unsupported;
  return status == alloc_failed ? ErrorCode::out_of_memory : ErrorCode::device;
}

DescriptorHandle make_descriptor() {
  DescriptorHandle handle = nullptr;
  check(api().descriptor_create(&handle, compute_f32, DataType::float32), "cublasLtMatmulDescCreate");
  return handle;
}

LayoutHandle make_layout(DataType type, std::int64_t rows, std::int64_t columns, std::int64_t leading) {
  LayoutHandle handle = nullptr;
  check(api().layout_create(&handle, type, static_cast<std::uint64_t>(rows),
                            static_cast<std::uint64_t>(columns), leading),
        "cublasLtMatrixLayoutCreate");
  return handle;
}

PreferenceHandle make_preference() {
  PreferenceHandle handle = nullptr;
  check(api().preference_create(&handle), "cublasLtMatmulPreferenceCreate");
  return handle;
}

} // namespace

LibraryStatus open_library(std::span<const char* const> names) {
  return cuda::open_table<Api>({names, bind_all, remedy, oldest_version});
}

const LibraryStatus& library_status() {
  static const auto* status = new LibraryStatus([] {
    constexpr std::array names{"libcublasLt.so.13", "libcublasLt.so.12"};
    return open_library(names);
  }());
  return *status;
}

const Api& api() {
  return cuda::table_of(library_status(), "cuBLASLt");
}

void check(Status status, const char* call) {
  if (status == success) [[likely]]
    return;
  fail(code_of(status), "{}: {}", call, api().status_string(status));
}

Handle handle_of(const cuda::Gpu& gpu) {
  // Leaked on purpose: the driver may be gone when the process ends.
  static std::mutex mutex;
  static auto* handles = new std::map<Device, Handle>;
  const std::lock_guard lock(mutex);
  Handle& handle = (*handles)[gpu.device()];
  if (!handle) check(api().create(&handle), "cublasLtCreate");
  return handle;
}

MatmulDescriptor::MatmulDescriptor() : Owned(make_descriptor()) {}

MatrixLayout::MatrixLayout(DataType type, std::int64_t rows, std::int64_t columns,
                           std::int64_t leading_dimension)
    : Owned(make_layout(type, rows, columns, leading_dimension)) {}

void MatrixLayout::set_batch(std::int32_t count, std::int64_t stride) {
  check(api().layout_set(handle(), LayoutAttribute::batch_count, &count, sizeof count),
        "cublasLtMatrixLayoutSetAttribute");
  check(api().layout_set(handle(), LayoutAttribute::batch_stride, &stride, sizeof stride),
        "cublasLtMatrixLayoutSetAttribute");
}

Preference::Preference(std::size_t max_workspace, std::uint32_t alignment) : Owned(make_preference()) {
  const std::uint64_t bytes = max_workspace;
  constexpr const char* call = "cublasLtMatmulPreferenceSetAttribute";
  check(api().preference_set(handle(), PreferenceAttribute::max_workspace, &bytes, sizeof bytes), call);
  for (const PreferenceAttribute operand :
       {PreferenceAttribute::min_alignment_a, PreferenceAttribute::min_alignment_b,
        PreferenceAttribute::min_alignment_c, PreferenceAttribute::min_alignment_d})
    check(api().preference_set(handle(), operand, &alignment, sizeof alignment), call);
}

} // namespace lanner::cublaslt
