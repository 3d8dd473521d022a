#include "backends/product/matrix_text.h"

#include "backends/product/matrix_source.h"

// Tiles of a and b are copied to shared memory by cp.async, several stages ahead; warps read them by ldmatrix
// and multiply by mma.sync, with PTX's fragment layout of m16n8k16. Chunks of eight elements are swizzled
// within their row (`place`), so that eight rows are in eight different banks.

namespace lanner::cuda {

std::string_view matrix_instructions() {
  return R"(
__device__ inline unsigned char* dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char bytes[];
  return bytes;
}
__device__ inline unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ inline void load_matrices(unsigned (&r)[4], const element_t* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(p)) : "memory");
}
__device__ inline void load_transposed(unsigned (&r)[4], const element_t* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(p)) : "memory");
}
// Sums of MT x NT products of a warp.
template<int MT, int NT> __device__ inline void clear(sum_t (&acc)[MT][NT][4]) {
#pragma unroll
  for (int i = 0; i < MT; ++i)
#pragma unroll
    for (int j = 0; j < NT; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) acc[i][j][e] = 0;
}
// Writes zeros where `inside` is false.
template<int BYTES> __device__ inline void copy_async(element_t* to, const element_t* from, bool inside) {
  const unsigned read = inside ? BYTES : 0;
  if (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(shared_address(to)), "l"(from), "r"(read) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" :: "r"(shared_address(to)), "l"(from), "r"(read), "n"(BYTES) : "memory");
}
__device__ inline void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template<int n> __device__ inline void wait_for_groups() { asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory"); }
)";
}

std::string_view warp_multiply(bool bytes) {
  // Fragments of m16n8k32 hold two bytes where those of m16n8k16 hold one element.
  if (bytes)
    return R"(
__device__ inline void multiply(int (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32." MMA_TYPE "." MMA_OTHER ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
)";
  return R"(
__device__ inline void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPE "." MMA_TYPE ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
)";
}

const char* const matrix_order = R"(
// A tile of the result, and its share of the depth. Concurrent blocks share rows and columns: groups of GROUP
// rows of tiles, each in column order.
struct Tile { unsigned part, z, m0, n0; int first, last; };
__device__ inline Tile tile_of(unsigned number) {
  const unsigned tile = number % (TILES_M * TILES_N), rest = number / (TILES_M * TILES_N), part = rest % SPLIT;
  const unsigned top = tile / (GROUP * TILES_N) * GROUP, in_group = tile % (GROUP * TILES_N);
  const unsigned height = TILES_M - top < GROUP ? TILES_M - top : GROUP;
  return {part, rest / SPLIT, (top + in_group % height) * BM, in_group / height * BN,
          static_cast<int>(index_t(part) * K_TILES / SPLIT), static_cast<int>(index_t(part + 1) * K_TILES / SPLIT)};
}
)";

const char* const matrix_loads = R"(
struct Source { const element_t* from; bool inside; };

// Swizzled offset of a chunk of eight elements of a row, in rows of COLUMNS elements; with PANEL, in panels
// of 64 columns and PANEL rows.
template<int COLUMNS, int PANEL = 0> __device__ inline unsigned place(unsigned row, unsigned chunk) {
  if (PANEL > 0) return (chunk / 8 * PANEL + row) * 64 + ((chunk % 8 ^ (row & 7)) << 3);
  constexpr unsigned chunks = COLUMNS / 8;
  const unsigned turn = chunks >= 8 ? row & 7 : chunks == 4 ? row >> 1 & 3 : row >> 2 & 1;
  return row * COLUMNS + ((chunk ^ turn) << 3);
}

// Copies eight elements, of which PACK are contiguous. `find(i)` returns the source of element i. Elements
// outside become 0 or, in images (PADDED), the padding.
template<int PACK, bool PADDED, class Find> __device__ inline void copy_chunk(element_t* to, Find find) {
  constexpr int bytes = PACK * sizeof(element_t);
  constexpr bool filled = PADDED && PADDING != 0;
  if (bytes >= 4) {
#pragma unroll
    for (int i = 0; i < 8; i += PACK) {
      const Source source = find(i);
      if (!filled || source.inside) {
        copy_async<(bytes >= 4 ? bytes : 4)>(to + i, source.from, source.inside);
        continue;
      }
      Pack<element_t, PACK> pack;
#pragma unroll
      for (int k = 0; k < PACK; ++k) pack.values[k] = padding();
      *reinterpret_cast<Pack<element_t, PACK>*>(to + i) = pack;
    }
    return;
  }
  Pack<element_t, 8> pack;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const Source source = find(i);
    pack.values[i] = source.inside ? *source.from : filled ? padding() : element_t{0};
  }
  *reinterpret_cast<Pack<element_t, 8>*>(to) = pack;
}

// ROWS x COLUMNS elements in memory order, zeros beyond the matrix's end.
template<class Matrix, int ROWS, int COLUMNS>
__device__ inline void load_tile(element_t* to, const element_t* from, unsigned first_row, unsigned first_column) {
  constexpr int chunks = COLUMNS / 8;
#pragma unroll
  for (int j = 0; j < ROWS * chunks; j += THREADS) {
    const unsigned i = j + threadIdx.x;
    if (ROWS * chunks % THREADS != 0 && i >= ROWS * chunks) break;
    const unsigned row = first_row + i / chunks, column = first_column + i % chunks * 8;
    const element_t* source = from + index_t(row) * Matrix::leading + column;
    const bool inside = Matrix::rows % ROWS == 0 || row < Matrix::rows;
    copy_chunk<Matrix::pack, false>(to + place<COLUMNS, (WARP_GROUPS && COLUMNS > 64 ? ROWS : 0)>(i / chunks, i % chunks), [&](int at) {
      const bool there = inside && (Matrix::columns % COLUMNS == 0 || column + at < Matrix::columns);
      return Source{there ? source + at : from, there};
    });
  }
}
__device__ inline void load_b(element_t* to, const element_t* from, unsigned first, unsigned k) {
  if (B::exchanged) load_tile<B, BN, BK>(to, from, first, k);
  else load_tile<B, BK, BN>(to, from, k, first);
}
)";

const char* const matrix_rows = R"(
constexpr bool A_EXCHANGED = A::exchanged;
struct Rows {
  unsigned first;
  __device__ explicit Rows(unsigned first) : first(first) {}
  __device__ void load(element_t* to, const element_t* from, unsigned k) const {
    if (A::exchanged) load_tile<A, BK, BM>(to, from, k, first);
    else load_tile<A, BM, BK>(to, from, first, k);
  }
};
)";

const char* const matrix_images = R"(
constexpr bool A_EXCHANGED = false;
constexpr int CHUNKS = BK / 8, LOADS = BM * CHUNKS / THREADS;
static_assert(BM * CHUNKS % THREADS == 0, "threads load the same number of chunks");
// For each row that this thread loads, the origin of its window.
struct Rows {
  int base[LOADS], y[LOADS], x[LOADS];
  __device__ explicit Rows(unsigned first) {
#pragma unroll
    for (int j = 0; j < LOADS; ++j) {
      const unsigned row = first + threadIdx.x / CHUNKS + j * (THREADS / CHUNKS);
      const unsigned image = row / (OH * OW), position = row % (OH * OW);
      y[j] = row < M ? static_cast<int>(position / OW) * SH - PH : -(1 << 28);
      x[j] = static_cast<int>(position % OW) * SW - PW;
      base[j] = row < M ? static_cast<int>(image) * (IH * IW * PIXEL) + (y[j] * IW + x[j]) * PIXEL : 0;
    }
  }
  __device__ void load(element_t* to, const element_t* from, unsigned first) const {
    const unsigned chunk = threadIdx.x % CHUNKS;
    if (C % BK == 0 || KH * KW == 1) load_chunks<true>(to, from, first, chunk);
    else load_chunks<false>(to, from, first, chunk);
  }

private:
  // ALONE: a tile of the depth lies within one tap.
  template<bool ALONE> __device__ void load_chunks(element_t* to, const element_t* from, unsigned first, unsigned chunk) const {
#pragma unroll
    for (int j = 0; j < LOADS; ++j) {
      const unsigned row = threadIdx.x / CHUNKS + j * (THREADS / CHUNKS);
      copy_chunk<A_PACK, true>(to + place<BK>(row, chunk), [&](int at) {
        const unsigned k = first + chunk * 8 + at, tap = ALONE ? first / C : k / C;
        const unsigned channel = ALONE ? k - tap * C : k % C;
        const int down = static_cast<int>(tap / KW) * DH, right = static_cast<int>(tap % KW) * DW;
        const bool there = (K % BK == 0 || k < K) && static_cast<unsigned>(y[j] + down) < IH &&
                           static_cast<unsigned>(x[j] + right) < IW;
        return Source{there ? from + (base[j] + (down * IW + right) * PIXEL + static_cast<int>(channel)) : from, there};
      });
    }
  }
};
)";

const char* const matrix_begin = R"(
  constexpr int A_SIZE = BM * BK, STAGE = (BM + BN) * BK;
  constexpr int WM = BM / WARPS_M, WN = BN / WARPS_N, MT = WM / 16, NT = WN / 8;
  // Rows from one 16-row fragment to the warp's next: the four warps of a group share 64.
  constexpr int ROW_STEP = WARP_GROUPS ? 64 : 16;
  element_t* const shared = reinterpret_cast<element_t*>(dynamic_shared());
  sum_t* const line_memory = reinterpret_cast<sum_t*>(shared);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned warp_row = WARP_GROUPS ? warp / 4 * MT * 64 + warp % 4 * 16 : warp % WARPS_M * WM;
  const unsigned warp_column = WARP_GROUPS ? 0 : warp / WARPS_M * WN;

  const Tile own = tile_of(blockIdx.x);
  const unsigned part = own.part, z = own.z, m0 = own.m0, n0 = own.n0;
  const int first = own.first, last = own.last;
  a += z * A_STEP;
  b += z * B_STEP;

  const Rows rows(m0);
  const auto load_stage_of_a = [&](int stage, int k) { rows.load(shared + stage * STAGE, a, k * BK); };
  const auto load_stage_of_b = [&](int stage, int k) { load_b(shared + stage * STAGE + A_SIZE, b, n0, k * BK); };
  const auto load_stage = [&](int stage, int k) {
    load_stage_of_a(stage, k);
    load_stage_of_b(stage, k);
  };
  // A group of copies for each of the first stages; the first group has all copies that begin early.
  const auto load_first_stages = [&](int count) {
#pragma unroll
    for (int s = 0; s < count; ++s)
      if (CONSTANT_B && first + s < last) load_stage_of_b(s, first + s);
    wait_for_earlier();
#pragma unroll
    for (int s = 0; s < count; ++s) {
      if (first + s < last) load_stage_of_a(s, first + s);
      if (!CONSTANT_B && first + s < last) load_stage_of_b(s, first + s);
      end_group();
    }
  };
  sum_t acc[MT][NT][4];
  clear(acc);
)";

const char* const matrix_epilogue = R"(
  // Each warp reorders sixteen rows at a time into memory order: whole lines where they are long enough.
  // Operands of a unit's steps are loaded while the previous unit is written or, where other blocks run
  // meanwhile or a tensor map has brought them into shared memory, afterwards.
  constexpr int SLICE = WN % 64 == 0 ? 64 : WN, SLICES = WN / SLICE, LINE = SLICE + LINE_PADDING, PIECES = SLICE / V;
  constexpr int UNITS = MT * SLICES, TURNS = (16 * PIECES + 31) / 32;
  sum_t* const lines = line_memory + warp * 16 * LINE;
  struct Piece { unsigned row, column, line, at; bool inside; };
  const auto piece_of = [&](int unit, int turn) {
    const unsigned i = turn * 32 + lane, line = i / PIECES, at = i % PIECES * V;
    const unsigned row = m0 + warp_row + unit / SLICES * ROW_STEP + line;
    const unsigned column = n0 + warp_column + unit % SLICES * SLICE + at;
    const bool inside = (16 * PIECES % 32 == 0 || line < 16) && (M % BM == 0 || row < M) && (N % BN == 0 || column < N);
    return Piece{row, column, line, at, inside};
  };
  // The staged operand's pack: in panels of 128 bytes of columns, swizzled.
  const unsigned char* staged = nullptr;
  const auto staged_pack = [&](const Piece& piece) -> const void* {
    if (!STAGED) return nullptr;
    const unsigned row = piece.row - m0, byte = (piece.column - n0) * STAGED;
    return staged + byte / 128 * (BM * 128) + row * 128 + ((byte % 128 / 16 ^ (row & 7)) << 4) + byte % 16;
  };
)";

const char* const warp_products = R"(
  load_first_stages(STAGES - 1);

  constexpr int STEPS = BK / 16;
  unsigned fa[2][MT][4], fb[2][NT / 2][4];
  const auto load_fragments = [&](int to, const element_t* stage, int k) {
#pragma unroll
    for (int i = 0; i < MT; ++i) {
      const unsigned row = warp_row + i * 16;
      if (A_EXCHANGED) load_transposed(fa[to][i], stage + place<BM>(k + lane / 16 * 8 + lane % 8, row / 8 + lane / 8 % 2));
      else load_matrices(fa[to][i], stage + place<BK>(row + lane % 16, k / 8 + lane / 16));
    }
#pragma unroll
    for (int j = 0; j < NT / 2; ++j) {
      const unsigned column = warp_column + j * 16;
      if (B::exchanged) load_matrices(fb[to][j], stage + A_SIZE + place<BK>(column + lane / 16 * 8 + lane % 8, k / 8 + lane / 8 % 2));
      else load_transposed(fb[to][j], stage + A_SIZE + place<BN>(k + lane / 8 % 2 * 8 + lane % 8, column / 8 + lane / 16));
    }
  };

  wait_for_groups<STAGES - 2>();
  __syncthreads();
  load_fragments(0, shared, 0);
  int read = 0, write = STAGES - 1;
  for (int k = first; k < last; ++k) {
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
      if (step == STEPS - 1) {
        wait_for_groups<STAGES - 2>();
        __syncthreads();
        read = read + 1 == STAGES ? 0 : read + 1;
      }
      load_fragments((step + 1) % 2, shared + read * STAGE, (step + 1) % STEPS * 16);
      if (step == 0) {
        if (k + STAGES - 1 < last) load_stage(write, k + STAGES - 1);
        end_group();
        write = write + 1 == STAGES ? 0 : write + 1;
      }
#pragma unroll
      for (int i = 0; i < MT; ++i)
#pragma unroll
        for (int j = 0; j < NT; ++j)
          multiply(acc[i][j], fa[step % 2][i], fb[step % 2][j / 2][j % 2 * 2], fb[step % 2][j / 2][j % 2 * 2 + 1]);
    }
  }
  start_next();
  read_unit(0);
  wait_for_groups<0>();
  __syncthreads();
)";

const char* const scalar_products = R"(
  load_first_stages(STAGES - 1);

  // Two depth steps at a time. Sums have mma.sync's layout: of sixteen rows and eight columns a thread holds
  // two rows and two columns.
  const auto add_products = [&](const element_t* stage, int k) {
    float fa[MT][2][2], fb[NT][2][2];
#pragma unroll
    for (int i = 0; i < MT; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned row = warp_row + i * 16 + half * 8 + lane / 4;
        if (A_EXCHANGED) {
          for (int e = 0; e < 2; ++e) fa[i][half][e] = stage[place<BM>(k + e, row / 8) + row % 8];
        } else {
          const Pack<float, 2> pair = *reinterpret_cast<const Pack<float, 2>*>(stage + place<BK>(row, k / 8) + k % 8);
          fa[i][half][0] = pair.values[0];
          fa[i][half][1] = pair.values[1];
        }
      }
#pragma unroll
    for (int j = 0; j < NT; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const unsigned column = warp_column + j * 8 + lane % 4 * 2;
        const element_t* const at = stage + A_SIZE + (B::exchanged ? place<BK>(column + e, k / 8) + k % 8
                                                                  : place<BN>(k + e, column / 8) + column % 8);
        const Pack<float, 2> pair = *reinterpret_cast<const Pack<float, 2>*>(at);
        for (int f = 0; f < 2; ++f) fb[j][B::exchanged ? e : f][B::exchanged ? f : e] = pair.values[f];
      }
#pragma unroll
    for (int e = 0; e < 2; ++e)
#pragma unroll
      for (int i = 0; i < MT; ++i)
#pragma unroll
        for (int j = 0; j < NT; ++j)
#pragma unroll
          for (int c = 0; c < 4; ++c) acc[i][j][c] = fmaf(fa[i][c / 2][e], fb[j][c % 2][e], acc[i][j][c]);
  };

  int read = 0, write = STAGES - 1;
  for (int k = first; k < last; ++k) {
    wait_for_groups<STAGES - 2>();
    __syncthreads();
    if (k + STAGES - 1 < last) load_stage(write, k + STAGES - 1);
    end_group();
    write = write + 1 == STAGES ? 0 : write + 1;
    const element_t* const stage = shared + read * STAGE;
#pragma unroll
    for (int step = 0; step < BK; step += 2) add_products(stage, step);
    read = read + 1 == STAGES ? 0 : read + 1;
  }
  start_next();
  read_unit(0);
  wait_for_groups<0>();
  __syncthreads();
)";

const char* const matrix_byte_results = R"(
__device__ inline int add_saturated(int a, int b) {
  int sum;
  asm("add.sat.s32 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  return sum;
}
// Two bytes, and above them the lower two of `above`.
__device__ inline unsigned byte_pair(int low, int high, unsigned above) {
  unsigned bytes;
  asm("cvt.pack.sat." BYTE_TYPE ".s32.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(high), "r"(low), "r"(above));
  return bytes;
}
template<typename T> __device__ inline Pack<T, V> saturated(const int (&whole)[V]) {
  union { unsigned words[V / 4 > 0 ? V / 4 : 1]; Pack<T, V> bytes; } all;
  if (V >= 4) {
#pragma unroll
    for (int i = 0; i < V / 4; ++i)
      all.words[i] = byte_pair(whole[i * 4 % V], whole[(i * 4 + 1) % V],
                               byte_pair(whole[(i * 4 + 2) % V], whole[(i * 4 + 3) % V], 0));
  } else {
    all.words[0] = byte_pair(whole[0], whole[V - 1], 0);
  }
  return all.bytes;
}
)";

const char* const matrix_units = R"(
#pragma unroll
  for (int unit = 0; unit < UNITS; ++unit) {
    if (READ_UNITS > 1 && unit + 1 < UNITS) read_unit(unit + 1);
#pragma unroll
    for (int j = 0; j < SLICE / 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const sum_t* const c = acc[unit / SLICES][unit % SLICES * (SLICE / 8) + j];
        sum_t* const pair = lines + (lane / 4 + half * 8) * LINE + j * 8 + lane % 4 * 2;
        *reinterpret_cast<Pack<sum_t, 2>*>(pair) = {c[half * 2], c[half * 2 + 1]};
      }
    __syncwarp();
    Shared shares;
#pragma unroll
    for (int turn = 0; turn < TURNS; ++turn) {
      const Piece piece = piece_of(unit, turn);
      const unsigned row = piece.row, column = piece.column;
      if ((turn == 0 || 32 % PIECES != 0) && (N % BN == 0 || column < N)) read_shared(shares, z * Z_COLUMNS + column);
      if (!piece.inside) continue;
      const Given& given = all[unit % READ_UNITS][turn];
      const Pack<sum_t, V> sum = *reinterpret_cast<const Pack<sum_t, V>*>(lines + piece.line * LINE + piece.at);
)";

const char* const matrix_unit_end = R"(
    }
    if (READ_UNITS == 1 && unit + 1 < UNITS) read_unit(unit + 1);
    __syncwarp();
  }
)";

} // namespace lanner::cuda
