#include "ops/definition/strided.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "device/parallel.h"
#include "tensor/strings.h"

namespace lanner::ops {

Walk dense_walk(const Shape& shape) {
  return {0, dense_strides(shape)};
}

template<typename T>
static void copy_run(void* to, std::int64_t at, std::int64_t step, const void* from, std::int64_t from_at,
                     std::int64_t from_step, std::int64_t count) {
  T* const target = static_cast<T*>(to) + at;
  const T* const source = static_cast<const T*>(from) + from_at;
  if (step == 1 && from_step == 1 && !std::is_same_v<T, std::string>)
    std::copy_n(source, count, target);
  else if (step == 1 && from_step == 0 && !std::is_same_v<T, std::string>)
    std::fill_n(target, count, *source);
  else
    for (std::int64_t i = 0; i < count; ++i) assign_element(target[i * step], source[i * from_step]);
}

template<unsigned width>
static void copy_packed_run(void* to, std::int64_t at, std::int64_t step, const void* from,
                            std::int64_t from_at, std::int64_t from_step, std::int64_t count) {
  constexpr unsigned per_byte = 8 / width, mask = (1u << width) - 1;
  auto* const target = static_cast<std::uint8_t*>(to);
  const auto* const source = static_cast<const std::uint8_t*>(from);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto read = static_cast<std::uint64_t>(from_at + i * from_step);
    const auto write = static_cast<std::uint64_t>(at + i * step);
    const unsigned code = (source[read / per_byte] >> (read % per_byte * width)) & mask;
    const unsigned shift = write % per_byte * width;
    std::uint8_t& byte = target[write / per_byte];
    byte = static_cast<std::uint8_t>((byte & ~(mask << shift)) | (code << shift));
  }
}

RunCopy::RunCopy(DType dtype) {
  switch (bit_width(dtype)) {
  case 2:
    function_ = copy_packed_run<2>;
    break;
  case 4:
    function_ = copy_packed_run<4>;
    break;
  default:
    visit_storage(dtype, [&]<typename T>(Tag<T>) { function_ = copy_run<T>; });
  }
}

namespace {

struct Loop {
  std::int64_t size, from, to, index = 0;
};

/// The loops of a copy, innermost first, with contiguous loops merged.
std::vector<Loop> merged_loops(const Shape& shape, const Walk& source, const Walk& target) {
  std::vector<Loop> loops;
  for (std::size_t d = shape.rank(); d-- > 0;) {
    if (shape[d] == 1) continue;
    const Loop loop{shape[d], source.strides[d], target.strides[d]};
    if (!loops.empty() && loop.from == loops.back().from * loops.back().size &&
        loop.to == loops.back().to * loops.back().size)
      loops.back().size *= loop.size;
    else
      loops.push_back(loop);
  }
  if (loops.empty()) loops.push_back({1, 1, 1});
  return loops;
}

/// Runs the loops from the positions `from_at` and `to_at`.
void run_loops(const RunCopy& run, std::vector<Loop> loops, const void* from, std::int64_t from_at, void* to,
               std::int64_t to_at) {
  const Loop inner = loops.front();
  while (true) {
    run(to, to_at, inner.to, from, from_at, inner.from, inner.size);
    std::size_t d = 1;
    for (; d < loops.size(); ++d) {
      Loop& loop = loops[d];
      from_at += loop.from;
      to_at += loop.to;
      if (++loop.index < loop.size) break;
      from_at -= loop.from * loop.size;
      to_at -= loop.to * loop.size;
      loop.index = 0;
    }
    if (d == loops.size()) return;
  }
}

/// Elements per thread that are worth starting one.
constexpr std::int64_t part_of_a_copy = 1 << 15;

} // namespace

void copy_strided(const Shape& shape, const Tensor& from, const Walk& source, Tensor& to, const Walk& target,
                  int threads) {
  check(from.dtype() == to.dtype(), ErrorCode::internal, "copy_strided from {} to {}",
        to_string(from.dtype()), to_string(to.dtype()));
  const std::int64_t elements = shape.elements();
  if (elements == 0) return;
  const std::vector<Loop> loops = merged_loops(shape, source, target);
  const Loop outer = loops.back();
  const RunCopy run(from.dtype());
  const bool shares_bytes = bit_width(to.dtype()) < 8 && to.dtype() != DType::string;
  parallel_for(shares_bytes ? 1 : threads, 0, outer.size, part_of_a_copy / (elements / outer.size) + 1,
               [&](std::int64_t first, std::int64_t last) {
                 std::vector<Loop> part = loops;
                 part.back().size = last - first;
                 run_loops(run, std::move(part), from.data(), source.offset + first * outer.from, to.data(),
                           target.offset + first * outer.to);
               });
}

void copy_elements(const Tensor& from, Tensor& to, int threads) {
  check(from.dtype() == to.dtype() && from.elements() == to.elements(), ErrorCode::internal,
        "copy_elements from {} {} to {} {}", to_string(from.dtype()), from.shape().to_string(),
        to_string(to.dtype()), to.shape().to_string());
  if (from.data() == to.data()) return;
  if (from.dtype() == DType::string)
    copy_run<std::string>(to.data(), 0, 1, from.data(), 0, 1, from.elements());
  else
    parallel_for(threads, 0, static_cast<std::int64_t>(to.bytes()), part_of_a_copy * 4,
                 [&](std::int64_t first, std::int64_t last) {
                   std::memcpy(static_cast<std::byte*>(to.data()) + first,
                               static_cast<const std::byte*>(from.data()) + first,
                               static_cast<std::size_t>(last - first));
                 });
}

void fill_elements(Tensor& to, const Tensor& value, int threads) {
  const std::vector<std::int64_t> still(to.rank(), 0);
  copy_strided(to.shape(), value, {0, still}, to, dense_walk(to.shape()), threads);
}

void clear_elements(Tensor& to) {
  if (to.dtype() == DType::string)
    std::ranges::fill(to.as<std::string>(), std::string());
  else if (to.bytes() != 0)
    std::memset(to.data(), 0, to.bytes());
}

} // namespace lanner::ops
