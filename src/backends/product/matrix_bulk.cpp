#include <algorithm>

#include "backends/product/matrix_source.h"
#include "backends/product/matrix_text.h"

// One thread copies tiles of a and b by tensor maps (TMA) into a ring of stages; two groups of four warps
// multiply them by wgmma. Barriers in shared memory (mbarrier) say when a stage is full, by the bytes that
// arrived, and when it is free again. Registers that the copying warps do not need go to the others.

namespace lanner::cuda {

std::string_view bulk_instructions() {
  return R"(
struct __align__(64) TensorMap { unsigned char bytes[128]; };
template<int n> __device__ inline void lower_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(n)); }
template<int n> __device__ inline void raise_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(n)); }
__device__ inline void begin_barrier(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(barrier), "r"(arrivals) : "memory");
}
__device__ inline void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void expect_bytes(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(barrier), "r"(bytes) : "memory");
}
__device__ inline void arrive(unsigned barrier) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(barrier) : "memory"); }
// Whether the phase of this parity has ended.
__device__ inline bool has_ended(unsigned barrier, unsigned parity) {
  unsigned ended;
  asm volatile("{ .reg .pred ended; mbarrier.try_wait.parity.shared.b64 ended, [%1], %2; selp.u32 %0, 1, 0, ended; }" : "=r"(ended) : "r"(barrier), "r"(parity) : "memory");
  return ended;
}
__device__ inline void wait_for_phase(unsigned barrier, unsigned parity) {
  while (!has_ended(barrier, parity)) {}
}
__device__ inline void copy_box(unsigned to, const TensorMap& map, unsigned barrier, unsigned x, unsigned y, unsigned z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
               :: "r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z) : "memory");
}
__device__ inline void copy_positions(unsigned to, const TensorMap& map, unsigned barrier, unsigned channel, int x, int y, unsigned image, unsigned right, unsigned down) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
               :: "r"(to), "l"(&map), "r"(barrier), "r"(channel), "r"(x), "r"(y), "r"(image),
                  "h"(static_cast<unsigned short>(right)), "h"(static_cast<unsigned short>(down)) : "memory");
}
)";
}

const char* const bulk_rows = R"(
constexpr bool A_EXCHANGED = false;
struct BoxesOfA {
  unsigned first, z;
  __device__ BoxesOfA(unsigned first, unsigned z) : first(first), z(z) {}
  __device__ void copy(unsigned to, const TensorMap& map, unsigned barrier, unsigned k) const {
    copy_box(to, map, barrier, k * BK, first, A_STEP != 0 ? z : 0);
  }
};
)";

const char* const bulk_images = R"(
constexpr bool A_EXCHANGED = false;
struct BoxesOfA {
  unsigned image, channel;
  int x, y;
  __device__ BoxesOfA(unsigned first, unsigned z) : image(first / (OH * OW)), channel(z * unsigned(A_STEP)),
      x(static_cast<int>(first % OW) * SW - PW), y(static_cast<int>(first % (OH * OW) / OW) * SH - PH) {}
  __device__ void copy(unsigned to, const TensorMap& map, unsigned barrier, unsigned k) const {
    constexpr unsigned chunks = (C + BK - 1) / BK;
    const unsigned tap = k / chunks;
    copy_positions(to, map, barrier, channel + k % chunks * BK, x, y, image, tap % KW * DW, tap / KW * DH);
  }
};
)";

const char* const bulk_begin = R"(
  constexpr int A_SIZE = BM * BK, STAGE = (BM + BN) * BK;
  constexpr int WM = BM / WARPS_M, WN = BN, MT = WM / 16, NT = WN / 8;
  constexpr int ROW_STEP = 64; // The four warps of a group share 64 rows.
  constexpr unsigned ALL_TILES = TILES_M * TILES_N * SPLIT * BATCH;
  element_t* const shared = reinterpret_cast<element_t*>(dynamic_shared());
  const unsigned full = shared_address(shared + STAGES * STAGE), empty = full + 8 * STAGES, turn = empty + 8 * STAGES;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) {
      begin_barrier(full + 8 * s, 1);
      begin_barrier(empty + 8 * s, WARPS_M);
    }
    for (int group = 0; group < 2; ++group) begin_barrier(turn + 8 * group, 4);
    publish_barriers();
  }
  __syncthreads();

  unsigned part = 0, z = 0, m0 = 0, n0 = 0;
  int first = 0, last = 0;
  const auto begin_tile = [&](unsigned number) {
    const Tile own = tile_of(number);
    part = own.part;
    z = own.z;
    m0 = own.m0;
    n0 = own.n0;
    first = own.first;
    last = own.last;
  };
  int stage = 0;
  unsigned phase = 0;
  const auto next_stage = [&] {
    if (++stage < STAGES) return;
    stage = 0;
    phase ^= 1;
  };

  const auto copy_b = [&](unsigned to, unsigned barrier, int k) {
    if (B::exchanged) {
      copy_box(to + 2 * A_SIZE, b_map, barrier, k * BK, n0, B_STEP != 0 ? z : 0);
      return;
    }
#pragma unroll
    for (int panel = 0; panel < BN / 64; ++panel)
      copy_box(to + 2 * (A_SIZE + panel * 64 * BK), b_map, barrier, n0 + panel * 64, k * BK, B_STEP != 0 ? z : 0);
  };
  // The first stages of b.
  int early = 0;
  if (CONSTANT_B && threadIdx.x == 0) {
    begin_tile(blockIdx.x);
    for (; early < STAGES && first + early < last; ++early) {
      expect_bytes(full + 8 * early, STAGE * sizeof(element_t));
      copy_b(shared_address(shared + early * STAGE), full + 8 * early, first + early);
    }
  }
  wait_for_earlier();

  if (threadIdx.x < 128) {
    lower_registers<40>();
    if (threadIdx.x > 0) return;
    for (unsigned tile = blockIdx.x; tile < ALL_TILES; tile += gridDim.x) {
      begin_tile(tile);
      const BoxesOfA boxes(m0, z);
      for (int k = first; k < last; ++k) {
        wait_for_phase(empty + 8 * stage, phase ^ 1);
        const unsigned barrier = full + 8 * stage, to = shared_address(shared + stage * STAGE);
        const bool begun = CONSTANT_B && early > 0;
        if (begun) --early;
        else expect_bytes(barrier, STAGE * sizeof(element_t));
        boxes.copy(to, a_map, barrier, k);
        if (!begun) copy_b(to, barrier, k);
        next_stage();
      }
      if (STAGED) {
        wait_for_phase(empty + 8 * stage, phase ^ 1);
        const unsigned barrier = full + 8 * stage, to = shared_address(shared + stage * STAGE);
        expect_bytes(barrier, BM * BN * STAGED);
#pragma unroll
        for (int panel = 0; panel < BN * STAGED / 128; ++panel) // Boxes count elements of 16 bits.
          copy_box(to + panel * 128 * BM, staged_map, barrier, (z * Z_COLUMNS + n0) * STAGED / 2 + panel * 64, z * Z_ROWS + m0, 0);
        next_stage();
      }
    }
    return;
  }
  raise_registers<232>();
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 - 4, group = warp / 4, own_warp = ALTERNATING ? warp % 4 : warp;
  const unsigned warp_row = own_warp / 4 * MT * 64 + own_warp % 4 * 16, warp_column = 0;
  sum_t* const line_memory = reinterpret_cast<sum_t*>(shared + STAGES * STAGE + 64);
  sum_t acc[MT][NT][4];
)";

const char* const bulk_products = R"(
  unsigned number = 0;
  for (unsigned tile = blockIdx.x; tile < ALL_TILES; tile += gridDim.x, ++number) {
    begin_tile(tile);
    if (ALTERNATING && number % 2 != group) {
      stage += last - first + (STAGED != 0);
      phase ^= static_cast<unsigned>(stage / STAGES) & 1;
      stage %= STAGES;
      continue;
    }
    clear(acc);
    settle_all();
    // A group waits for its stages only after the other has seen all of its own: by then no stage is two phases
    // behind, which a parity would not tell.
    if (ALTERNATING) wait_for_phase(turn + 8 * group, (number / 2 + group + 1) & 1);
    unsigned previous = 0;
    for (int k = first; k < last; ++k) {
      wait_for_phase(full + 8 * stage, phase);
      if (ALTERNATING && k + 1 == last && lane == 0) arrive(turn + 8 * (1 - group));
      products(shared + stage * STAGE, own_warp);
      if (k > first) {
        wait_for_products<1>();
        if (lane == 0) arrive(previous);
      }
      previous = empty + 8 * stage;
      next_stage();
    }
    if (STAGED) {
      wait_for_phase(full + 8 * stage, phase);
      staged = reinterpret_cast<const unsigned char*>(shared + stage * STAGE);
    }
    if (tile + gridDim.x >= ALL_TILES) start_next();
    read_unit(0);
    wait_for_products<0>();
    settle_all();
    if (lane == 0) arrive(previous);
)";

const char* const bulk_end = R"(
    if (STAGED) {
      if (lane == 0) arrive(empty + 8 * stage);
      next_stage();
    }
  }
}
)";

namespace {

/// Depth of one copy, and bytes of a row of the staged operand that one copy brings.
constexpr std::int64_t box_depth = 64, panel_bytes = 128;

bool fills_packs(const OperandLayout& layout, std::int64_t rows, std::int64_t batch) {
  return (rows == 1 || layout.leading % 8 == 0) && (batch == 1 || layout.step % 8 == 0);
}

/// The last position of the window's first tap, from the last pixel.
std::int64_t last_position(const MatrixWindow& w, int axis) {
  return (w.result[axis] - 1) * w.strides[axis] - w.begin[axis] - (w.image[axis] - 1);
}

/// Whether windows reach beyond the image, where maps give zeros.
bool reads_padding(const MatrixWindow& w) {
  for (int i = 0; i < 2; ++i)
    if (w.begin[i] > 0 || last_position(w, i) + (w.kernel[i] - 1) * w.dilations[i] > 0) return true;
  return false;
}

/// `across`: rows in memory, of `along` elements.
TensorBoxes matrix_boxes(const MatrixProblem& p, const OperandLayout& layout, std::int64_t along,
                         std::int64_t across, std::int64_t box) {
  TensorBoxes boxes;
  boxes.bfloat16 = p.type == DType::bf16;
  boxes.dims[0] = along;
  boxes.dims[1] = across;
  boxes.dims[2] = layout.step != 0 ? p.batch : 1;
  // Strides of axes of one element are not used, but checked by the driver.
  boxes.strides[0] = across > 1 ? layout.leading : (along + 7) / 8 * 8;
  boxes.strides[1] = boxes.dims[2] > 1 ? layout.step : boxes.strides[0] * across;
  boxes.box[1] = box;
  return boxes;
}

} // namespace

bool takes_tensor_maps(const MatrixProblem& p) {
  if (p.bytes && p.bytes->padding != 0 && p.window && reads_padding(*p.window)) return false;
  if (p.type == DType::f32 || !fills_packs(p.b, p.b.exchanged ? p.columns : p.depth, p.batch)) return false;
  if (!p.window) return !p.a.exchanged && fills_packs(p.a, p.rows, p.batch);
  const MatrixWindow& w = *p.window;
  bool fits = w.channels % box_depth == 0 && w.pixel % 8 == 0 && p.a.step % 8 == 0;
  for (int i = 0; i < 2; ++i) {
    const std::int64_t reach = (w.kernel[i] - 1) * w.dilations[i];
    // The driver's bounds for boxes of images, and offsets of taps that fit a byte.
    fits = fits && w.strides[i] <= 8 && w.begin[i] >= 0 && w.begin[i] <= 128 && reach <= 127 &&
           std::abs(last_position(w, i)) <= 127;
  }
  return fits;
}

TensorBoxes boxes_of_a(const MatrixPlan& plan) {
  const MatrixProblem& p = plan.problem;
  if (!p.window) return matrix_boxes(p, p.a, p.depth, p.rows, plan.tile.rows);
  const MatrixWindow& w = *p.window;
  TensorBoxes boxes;
  boxes.bfloat16 = p.type == DType::bf16;
  boxes.rank = 4;
  boxes.images = true;
  boxes.positions = plan.tile.rows;
  const std::int64_t dims[] = {w.pixel, w.image[1], w.image[0], p.rows / (w.result[0] * w.result[1])};
  std::ranges::copy(dims, boxes.dims);
  const std::int64_t strides[] = {w.pixel, w.pixel * w.image[1], w.pixel * w.image[1] * w.image[0]};
  std::ranges::copy(strides, boxes.strides);
  for (int i = 0; i < 2; ++i) {
    const int axis = 1 - i;
    boxes.lower[i] = static_cast<int>(-w.begin[axis]);
    boxes.upper[i] = static_cast<int>(last_position(w, axis));
    boxes.steps[i] = w.strides[axis];
  }
  return boxes;
}

TensorBoxes boxes_of_b(const MatrixPlan& plan) {
  const MatrixProblem& p = plan.problem;
  return p.b.exchanged ? matrix_boxes(p, p.b, p.depth, p.columns, plan.tile.columns)
                       : matrix_boxes(p, p.b, p.columns, p.depth, plan.tile.depth);
}

std::optional<std::size_t> staged_step(const MatrixPlan& plan) {
  const MatrixProblem& p = plan.problem;
  const MatrixTile& t = plan.tile;
  if (!t.bulk || plan.split > 1) return std::nullopt;
  const std::int64_t stage = (t.rows + t.columns) * t.depth * element_bytes(p.type);
  const auto fits = [&](const MatrixOperand& operand) {
    const auto bytes = static_cast<std::int64_t>(bit_width(operand.type) / 8);
    const std::int64_t row = t.columns * bytes;
    return operand.spread == Spread::full && bytes <= 2 && row % panel_bytes == 0 &&
           operand.leading * bytes % 16 == 0 && t.rows * row <= stage &&
           (p.batch == 1 || !p.side_by_side || p.columns % 2 == 0);
  };
  for (std::size_t i = 0; i < p.steps.size(); ++i)
    if (p.steps[i].operand && fits(*p.steps[i].operand)) return i;
  return std::nullopt;
}

std::int64_t staged_bytes(const MatrixPlan& plan) {
  const auto staged = staged_step(plan);
  return staged ? static_cast<std::int64_t>(bit_width(plan.problem.steps[*staged].operand->type) / 8) : 0;
}

TensorBoxes boxes_of_staged(const MatrixPlan& plan) {
  const MatrixProblem& p = plan.problem;
  const MatrixOperand& operand = *p.steps.at(*staged_step(plan)).operand;
  TensorBoxes boxes;
  boxes.bfloat16 = operand.type == DType::bf16;
  const std::int64_t bytes = staged_bytes(plan), columns = p.columns * (p.side_by_side ? p.batch : 1);
  boxes.dims[0] = (columns * bytes + 1) / 2;
  boxes.dims[1] = p.rows * (p.side_by_side ? 1 : p.batch);
  boxes.strides[0] = operand.leading * bytes / 2;
  boxes.strides[1] = boxes.strides[0] * boxes.dims[1];
  boxes.box[1] = plan.tile.rows;
  return boxes;
}

} // namespace lanner::cuda
