// Tensors of the C interface.

#include <lanner/dlpack.h>

#include "boundary.h"
#include "check.h"

namespace lanner::c {
namespace {

static_assert(static_cast<int>(DType::f32) == LANNER_F32 && static_cast<int>(DType::bf16) == LANNER_BF16);
static_assert(static_cast<int>(DType::i8) == LANNER_I8 && static_cast<int>(DType::u64) == LANNER_U64);
static_assert(static_cast<int>(DType::boolean) == LANNER_BOOL &&
              static_cast<int>(DType::c128) == LANNER_C128);
static_assert(static_cast<int>(DType::i4) == LANNER_I4 && static_cast<int>(DType::f4e2m1) == LANNER_F4E2M1);
static_assert(static_cast<int>(DType::f8e8m0) == LANNER_F8E8M0 && dtype_count == LANNER_F8E8M0 + 1);

DType dtype_of_number(lanner_dtype number) {
  check(number >= 0 && number < static_cast<lanner_dtype>(dtype_count), ErrorCode::invalid_argument,
        "dtype {}: expected 0 to {}", number, dtype_count - 1);
  return static_cast<DType>(number);
}

} // namespace
} // namespace lanner::c

using namespace lanner;
using c::check;

lanner_status lanner_tensor_create(lanner_dtype dtype, const int64_t* shape, size_t rank,
                                   DLManagedTensorVersioned** tensor, lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    c::required(tensor, "tensor") = nullptr;
    const Limits limits;
    check(rank <= limits.rank, ErrorCode::limit_exceeded, "rank {}: expected at most {}", rank, limits.rank);
    if (rank > 0) c::required(shape, "shape");
    const Shape sizes(std::span<const std::int64_t>(shape, rank));
    *tensor = to_dlpack_versioned(Tensor::zeros(c::dtype_of_number(dtype), sizes));
  });
}
