#include <fmt/format.h>

#include "backends/product/matrix_source.h"
#include "backends/product/matrix_text.h"

// Warp groups of four warps multiply tiles in shared memory by wgmma (compute capability 9.0). A row of a
// tile of a holds 64 elements of the depth in 128 bytes; tiles of b are stored likewise or, with the depth
// along rows, in panels of 64 columns. Descriptors give the distance between groups of eight rows; chunks of
// 16 bytes are permuted within their row in the instruction's 128-byte swizzle, as by `place`.

namespace lanner::cuda {

namespace {

constexpr const char* group_fences = R"(
// Fence: makes the threads' copies visible to wgmma, which reads shared memory through the async proxy.
__device__ inline void publish_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template<int n> __device__ inline void wait_for_products() { asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory"); }
)";

} // namespace

std::string group_instructions(std::int64_t columns, bool bytes) {
  const char kind = bytes ? 'r' : 'f';
  std::string sums, operands;
  for (std::int64_t i = 0; i < columns / 2; ++i) {
    sums += fmt::format("{}%{}", i > 0 ? ", " : "", i);
    operands += fmt::format("{}\"+{}\"(c[{}][{}])", i > 0 ? ", " : "", kind, i / 4, i % 4);
  }
  const std::int64_t next = columns / 2;
  // Both operands of bytes lie along the depth, which m64nNk32 counts in bytes.
  const std::string product =
      bytes ? fmt::format("k32.s32.\" MMA_TYPE \".\" MMA_OTHER \" {{{}}}, %{}, %{}, 1;\"\n"
                          "               : {} : \"l\"(a), \"l\"(b));",
                          sums, next, next + 1, operands)
            : fmt::format("k16.f32.\" MMA_TYPE \".\" MMA_TYPE \" {{{}}}, %{}, %{}, 1, 1, 1, 0, %{};\"\n"
                          "               : {} : \"l\"(a), \"l\"(b), \"n\"(DOWN));",
                          sums, next, next + 1, next + 2, operands);
  return group_fences + fmt::format(R"(
__device__ inline void settle(sum_t& c) {{ asm volatile("" : "+{0}"(c) :: "memory"); }}
// DOWN: the depth of b runs along its rows in shared memory.
template<int DOWN> __device__ inline void group_multiply(sum_t (&c)[{1}][4], unsigned long long a, unsigned long long b) {{
  asm volatile("wgmma.mma_async.sync.aligned.m64n{2}{3}
}}
)",
                                    kind, columns / 8, columns, product);
}

const char* const group_lambdas = R"(
  // Shared memory descriptor: the address, and byte distances between panels and between groups of eight
  // rows.
  const auto descriptor = [](unsigned address, unsigned panel, unsigned rows) {
    return static_cast<unsigned long long>((address & 0x3ffffu) >> 4) | static_cast<unsigned long long>(panel >> 4) << 16 |
           static_cast<unsigned long long>(rows >> 4) << 32 | 1ull << 62;
  };
  constexpr unsigned ROW = 128, EIGHT = 8 * ROW, PANEL = BK * ROW;
  static_assert(BK == 64 && (B::exchanged || BN % 64 == 0) && !A_EXCHANGED, "tiles that wgmma reads");
  const auto products = [&](const element_t* stage, unsigned of_warp) {
    const unsigned of_a = shared_address(stage) + of_warp / 4 * MT * 64 * ROW, of_b = shared_address(stage + A_SIZE);
    begin_products();
#pragma unroll
    for (unsigned step = 0; step < BK / 16; ++step)
#pragma unroll
      for (unsigned i = 0; i < MT; ++i)
        group_multiply<!B::exchanged>(acc[i], descriptor(of_a + i * 64 * ROW + step * 32, 16, EIGHT),
                                      descriptor(of_b + step * (B::exchanged ? 32 : 2 * EIGHT), B::exchanged ? 16 : PANEL, EIGHT));
    end_products();
  };
  const auto settle_all = [&] {
#pragma unroll
    for (int i = 0; i < MT; ++i)
#pragma unroll
      for (int j = 0; j < NT; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) settle(acc[i][j][e]);
  };
)";

const char* const group_products = R"(
  // With one block per multiprocessor, the next products are queued before the previous ones have finished.
  constexpr int LAG = STAGES > 3 ? 1 : 0, AHEAD = STAGES - 1 - LAG;
  load_first_stages(AHEAD);
  settle_all();
  int read = 0, write = AHEAD;
  for (int k = first; k < last; ++k) {
    wait_for_groups<AHEAD - 1>();
    if (LAG == 0) wait_for_products<0>();
    publish_copies();
    __syncthreads();
    products(shared + read * STAGE, warp);
    if (k + AHEAD < last) load_stage(write, k + AHEAD);
    end_group();
    if (LAG == 1) wait_for_products<1>();
    read = read + 1 == STAGES ? 0 : read + 1;
    write = write + 1 == STAGES ? 0 : write + 1;
  }
  start_next();
  read_unit(0);
  wait_for_products<0>();
  settle_all();
  wait_for_groups<0>();
  __syncthreads();
)";

} // namespace lanner::cuda
