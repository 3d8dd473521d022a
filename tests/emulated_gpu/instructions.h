#pragma once
// PTX instructions that sources for NVRTC use as inline assembly, on the host: host_source() turns
// `asm("cvt.f32.f16 %0, %1;" ...)` into a call of a function named like the instruction, with the text first
// and then the operands. Included after device.h, once per library.

#include "emulated_gpu/device.h"
#include "emulated_gpu/tensor_boxes.h"
#include "tensor/float16.h"

namespace emulated {

/// Dynamic shared memory, and base of the library's 32-bit shared memory addresses.
alignas(1024) static unsigned char dynamic_memory[most_shared];

inline unsigned shared_address(const void* p) {
  return static_cast<unsigned>(reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(dynamic_memory));
}
inline void* shared_at(unsigned address) {
  return dynamic_memory + static_cast<int>(address);
}

inline void nothing(const char*, float&) {}
inline void nothing(const char*, int&) {}

inline void cvt_f32_f16(const char*, float& y, unsigned short x) {
  y = lanner::half_to_float(x);
}
inline void cvt_rn_f16_f32(const char*, unsigned short& y, float x) {
  y = lanner::float_to_half(x);
}
inline void rcp_approx_ftz_f32(const char*, float& y, float x) {
  y = 1 / x;
}
inline void ex2_approx_ftz_f32(const char*, float& y, float x) {
  y = exp2f(x);
}

inline void add_sat_s32(const char*, int& sum, int a, int b) {
  const long long whole = static_cast<long long>(a) + b;
  sum = static_cast<int>(whole < INT_MIN ? INT_MIN : whole > INT_MAX ? INT_MAX : whole);
}
inline unsigned saturated(int x, int least, int most) {
  return static_cast<unsigned>(x < least ? least : x > most ? most : x) & 255;
}
inline void cvt_pack_sat(const char* text, unsigned& bytes, int high, int low, unsigned above) {
  const bool is_signed = strstr(text, ".s8.") != nullptr;
  const int least = is_signed ? -128 : 0;
  bytes = above << 16 | saturated(high, least, least + 255) << 8 | saturated(low, least, least + 255);
}

// Asynchronous copies.
inline void copy(unsigned to, const void* from, unsigned bytes, unsigned read) {
  void* const place = shared_at(to);
  if (reinterpret_cast<uintptr_t>(place) % bytes != 0 ||
      (read > 0 && reinterpret_cast<uintptr_t>(from) % bytes != 0))
    device->refuse("a copy with an unaligned address");
  device->copy(place, from, bytes, read);
}
inline void cp_async_cg_shared_global(const char*, unsigned to, const void* from, unsigned read) {
  copy(to, from, 16, read);
}
inline void cp_async_ca_shared_global(const char*, unsigned to, const void* from, unsigned read,
                                      unsigned bytes) {
  copy(to, from, bytes, read);
}
inline void cp_async_commit_group(const char*) {
  device->end_copies();
}
inline void cp_async_wait_group(const char*, unsigned rest) {
  device->wait_for_copies(rest);
}

// Matrices.
inline bool is_bf16(const char* text) {
  return strstr(text, ".bf16") != nullptr;
}
inline float number(unsigned short bits, bool bf16) {
  return bf16 ? lanner::bfloat16_to_float(bits) : lanner::half_to_float(bits);
}

/// Four matrices of 8 x 8 elements, whose row addresses the threads give.
inline void load_matrices(unsigned* const (&result)[4], unsigned address, bool transposed) {
  const void* row = shared_at(address);
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) device->refuse("an unaligned matrix row");
  const Exchanged<const void*> rows(row);
  for (unsigned i = 0; i < 4; ++i) {
    unsigned short pair[2];
    for (unsigned k = 0; k < 2; ++k) {
      const unsigned near = lane() % 4 * 2 + k, far = lane() / 4;
      memcpy(&pair[k],
             static_cast<const char*>(rows.of(i * 8 + (transposed ? near : far))) +
                 2 * (transposed ? far : near),
             2);
    }
    memcpy(result[i], pair, sizeof pair);
  }
}
inline void ldmatrix_sync_aligned_m8n8_x4_shared_b16(const char*, unsigned& a, unsigned& b, unsigned& c,
                                                     unsigned& d, unsigned address) {
  load_matrices({&a, &b, &c, &d}, address, false);
}
inline void ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(const char*, unsigned& a, unsigned& b, unsigned& c,
                                                           unsigned& d, unsigned address) {
  load_matrices({&a, &b, &c, &d}, address, true);
}

inline void mma_sync_aligned_m16n8k16_row_col_f32(const char* text, float& c0, float& c1, float& c2,
                                                  float& c3, unsigned a0, unsigned a1, unsigned a2,
                                                  unsigned a3, unsigned b0, unsigned b1) {
  struct Given {
    unsigned a[4], b[2];
  };
  const bool bf16 = is_bf16(text);
  const Exchanged<Given> all({{a0, a1, a2, a3}, {b0, b1}});
  const auto element = [&](unsigned word, unsigned half) {
    return number(static_cast<unsigned short>(word >> (16 * half)), bf16);
  };
  float* const c[] = {&c0, &c1, &c2, &c3};
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane() / 4, column = lane() % 4 * 2 + i % 2;
    float sum = 0;
    for (unsigned k = 0; k < 16; ++k)
      sum += element(all.of(row * 4 + k % 8 / 2).a[i / 2 + k / 8 * 2], k % 2) *
             element(all.of(column * 4 + k % 8 / 2).b[k / 8], k % 2);
    *c[i] += sum;
  }
}

/// Of bytes, four in a word: signed where the text's type begins with `s`.
inline int byte_of(unsigned word, unsigned i, bool is_signed) {
  const unsigned byte = word >> (8 * i) & 255;
  return is_signed ? static_cast<signed char>(byte) : static_cast<int>(byte);
}
/// Whether the first or the second operand's type (`.s8`, `.u8`) in an instruction's text is signed.
inline bool is_signed_operand(const char* text, int operand) {
  const char* at = strstr(text, ".s32.") + 4;
  return at[operand == 0 ? 1 : 4] == 's';
}
inline void mma_sync_aligned_m16n8k32_row_col_s32(const char* text, int& c0, int& c1, int& c2, int& c3,
                                                  unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                                  unsigned b0, unsigned b1) {
  struct Given {
    unsigned a[4], b[2];
  };
  const bool signed_a = is_signed_operand(text, 0), signed_b = is_signed_operand(text, 1);
  const Exchanged<Given> all({{a0, a1, a2, a3}, {b0, b1}});
  int* const c[] = {&c0, &c1, &c2, &c3};
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane() / 4, column = lane() % 4 * 2 + i % 2;
    for (unsigned k = 0; k < 32; ++k)
      *c[i] += byte_of(all.of(row * 4 + k % 16 / 4).a[i / 2 + k / 16 * 2], k % 4, signed_a) *
               byte_of(all.of(column * 4 + k % 16 / 4).b[k / 16], k % 4, signed_b);
  }
}

// Barriers in shared memory (mbarrier): a phase ends when all have arrived and all expected bytes too.
struct Barrier {
  uint16_t arrivals, missing;
  int32_t bytes_and_phase; ///< Twice the missing bytes, and the phase's parity.

  int32_t phase() const { return bytes_and_phase & 1; }
  void expect(unsigned bytes) { bytes_and_phase += 2 * static_cast<int32_t>(bytes); }
  void end_phase_if_complete() {
    if (missing > 0 || bytes_and_phase >> 1 != 0) return;
    missing = arrivals;
    bytes_and_phase ^= 1;
    device->moved = true;
  }
};
inline Barrier& barrier_at(unsigned address) {
  if (address % 8 != 0) device->refuse("an unaligned barrier");
  return *static_cast<Barrier*>(shared_at(address));
}
inline void mbarrier_init_shared_b64(const char*, unsigned address, unsigned arrivals) {
  barrier_at(address) = {static_cast<uint16_t>(arrivals), static_cast<uint16_t>(arrivals), 0};
}
inline void fence_mbarrier_init_release_cluster(const char*) {}
inline void mbarrier_arrive_shared_b64(const char*, unsigned address) {
  Barrier& barrier = barrier_at(address);
  if (barrier.missing == 0) device->refuse("more arrivals at a barrier than it was begun with");
  --barrier.missing;
  device->moved = true;
  barrier.end_phase_if_complete();
}
inline void mbarrier_arrive_expect_tx_shared_b64(const char* text, unsigned address, unsigned bytes) {
  barrier_at(address).expect(bytes);
  mbarrier_arrive_shared_b64(text, address);
}
inline void setmaxnreg_dec_sync_aligned_u32(const char*, int) {}
inline void setmaxnreg_inc_sync_aligned_u32(const char*, int) {}

/// A copy of a box by a tensor map: rows of 64 elements of 16 bits, in the 128-byte swizzle, with zeros for
/// what lies outside of the tensor.
struct BoxCopy {
  TensorBoxes boxes;
  unsigned to, barrier;
  int at[4];     ///< The box's first element.
  int offset[2]; ///< Of images: the tap, in pixels.

  void run() const {
    if (to % 1024 != 0 && boxes.box[0] * 2 == 128) device->refuse("a swizzled box at an unaligned address");
    const unsigned rows = boxes.positions > 0 ? boxes.positions : boxes.box[1] * boxes.box[2];
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned x = 0; x < boxes.box[0]; ++x) copy(row, x);
    Barrier& of_box = barrier_at(barrier);
    of_box.bytes_and_phase -= 2 * static_cast<int32_t>(rows * boxes.box[0] * 2);
    of_box.end_phase_if_complete();
  }

private:
  void copy(unsigned row, unsigned x) const {
    int64_t place[4] = {at[0] + static_cast<int>(x), at[1], at[2], at[3]};
    if (boxes.positions > 0)
      move_to_position(place, row);
    else {
      place[1] += row % boxes.box[1];
      place[2] += row / boxes.box[1];
    }
    const unsigned char* from = boxes.memory;
    bool inside = true;
    for (unsigned axis = 0; axis < boxes.rank; ++axis) {
      inside = inside && place[axis] >= 0 && static_cast<uint64_t>(place[axis]) < boxes.dims[axis];
      from += place[axis] * static_cast<int64_t>(axis == 0 ? 2 : boxes.strides[axis - 1]);
    }
    unsigned target = to + row * boxes.box[0] * 2 + x * 2;
    target ^= (target >> 7 & 7) << 4;
    if (target + 2 > most_shared) return device->refuse("a box beyond the end of shared memory");
    if (inside)
      memcpy(shared_at(target), from, 2);
    else
      memset(shared_at(target), 0, 2);
  }
  /// Positions follow each other along lines, then downwards, then through the images.
  void move_to_position(int64_t (&place)[4], unsigned row) const {
    int64_t counts[2], first[2];
    for (int i = 0; i < 2; ++i) {
      const int64_t last = static_cast<int64_t>(boxes.dims[i + 1]) - 1 + boxes.upper[i];
      counts[i] = (last - boxes.lower[i]) / boxes.steps[i] + 1;
      first[i] = (place[i + 1] - boxes.lower[i]) / boxes.steps[i];
    }
    const int64_t number = first[0] + counts[0] * first[1] + row;
    place[1] = boxes.lower[0] + number % counts[0] * boxes.steps[0] + offset[0];
    place[2] = boxes.lower[1] + number / counts[0] % counts[1] * boxes.steps[1] + offset[1];
    place[3] += number / (counts[0] * counts[1]);
  }
};

/// Copies that nobody has waited for.
static BoxCopy waiting_copies[64];
static unsigned waiting_count = 0;

inline void copy_box(const BoxCopy& copy) {
  if (device->copies_at_once) return copy.run();
  if (waiting_count == 64) return device->refuse("more pending copies than the emulation keeps");
  waiting_copies[waiting_count++] = copy;
}
inline TensorBoxes boxes_in(const void* map) {
  TensorBoxes boxes;
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0) device->refuse("an unaligned tensor map");
  memcpy(&boxes, map, sizeof boxes);
  return boxes;
}
inline void cp_async_bulk_tensor_3d_shared(const char*, unsigned to, const void* map, unsigned barrier,
                                           unsigned x, unsigned y, unsigned z) {
  copy_box(
      {boxes_in(map), to, barrier, {static_cast<int>(x), static_cast<int>(y), static_cast<int>(z), 0}, {}});
}
inline void cp_async_bulk_tensor_4d_shared(const char*, unsigned to, const void* map, unsigned barrier,
                                           unsigned channel, int x, int y, unsigned image,
                                           unsigned short right, unsigned short down) {
  copy_box({boxes_in(map),
            to,
            barrier,
            {static_cast<int>(channel), x, y, static_cast<int>(image)},
            {right, down}});
}
/// Copies for a barrier are done when a thread waits at it.
inline void run_copies_for(unsigned barrier) {
  unsigned kept = 0;
  for (unsigned i = 0; i < waiting_count; ++i)
    if (waiting_copies[i].barrier == barrier)
      waiting_copies[i].run();
    else
      waiting_copies[kept++] = waiting_copies[i];
  waiting_count = kept;
}
inline void mbarrier_try_wait_parity_shared_b64(const char*, unsigned& ended, unsigned address,
                                                unsigned parity) {
  run_copies_for(address);
  ended = barrier_at(address).phase() != static_cast<int32_t>(parity);
  if (!ended) device->wait(false);
}

// Warp-group products are done immediately.
inline void fence_proxy_async_shared(const char*) {}
inline void wgmma_fence_sync_aligned(const char*) {}
inline void wgmma_commit_group_sync_aligned(const char*) {}
inline void wgmma_wait_group_sync_aligned(const char*, unsigned) {}

/// A matrix in shared memory as described to wgmma, in the 128-byte swizzled order.
struct Described {
  unsigned start, panel, rows;
  bool bf16;

  Described(unsigned long long descriptor, bool of_bf16)
      : start((descriptor & 0x3fff) << 4), panel((descriptor >> 16 & 0x3fff) << 4),
        rows((descriptor >> 32 & 0x3fff) << 4), bf16(of_bf16) {
    if (descriptor >> 62 != 1 || (descriptor >> 49 & 7) != 0) device->refuse("a matrix's description");
  }
  /// Element `across` of the non-depth axis, at `k` of the depth.
  float at(unsigned across, unsigned k, bool down) const { return number(bits_at(across, k, down), bf16); }
  unsigned short bits_at(unsigned across, unsigned k, bool down) const {
    unsigned place = down ? start + across / 64 * panel + across % 64 * 2 + k / 8 * rows + k % 8 * 128
                          : start + across / 8 * rows + across % 8 * 128 + k * 2;
    place ^= (place >> 7 & 7) << 4;
    unsigned short bits = 0;
    if (place + 2 > most_shared)
      device->refuse("a matrix beyond the end of shared memory");
    else
      memcpy(&bits, dynamic_memory + place, sizeof bits);
    return bits;
  }
};

/// m64nNk16: each thread holds N / 2 of the `sums`.
inline void group_multiply(const char* text, float* const* sums, unsigned count, unsigned long long of_a,
                           unsigned long long of_b, bool down) {
  const Described a(of_a, is_bf16(text)), b(of_b, is_bf16(text));
  const unsigned warp_of_group = device->running / warp % 4;
  for (unsigned half = 0; half < 2; ++half) {
    float row[16];
    for (unsigned k = 0; k < 16; ++k) row[k] = a.at(warp_of_group * 16 + lane() / 4 + half * 8, k, false);
    for (unsigned j = 0; j < count / 4; ++j)
      for (unsigned e = 0; e < 2; ++e)
        for (unsigned k = 0; k < 16; ++k)
          *sums[j * 4 + half * 2 + e] += row[k] * b.at(j * 8 + lane() % 4 * 2 + e, k, down);
  }
}

/// m64nNk32 of bytes, both along the depth.
inline void group_multiply(const char* text, int* const* sums, unsigned count, unsigned long long of_a,
                           unsigned long long of_b, bool) {
  const Described a(of_a, false), b(of_b, false);
  const bool signed_a = is_signed_operand(text, 0), signed_b = is_signed_operand(text, 1);
  const unsigned warp_of_group = device->running / warp % 4;
  for (unsigned half = 0; half < 2; ++half)
    for (unsigned j = 0; j < count / 4; ++j)
      for (unsigned e = 0; e < 2; ++e)
        for (unsigned k = 0; k < 32; ++k)
          *sums[j * 4 + half * 2 + e] +=
              byte_of(a.bits_at(warp_of_group * 16 + lane() / 4 + half * 8, k / 2, false), k % 2, signed_a) *
              byte_of(b.bits_at(j * 8 + lane() % 4 * 2 + e, k / 2, false), k % 2, signed_b);
}

template<typename Sum>
struct GroupOperands {
  Sum* sums[128];
  unsigned count = 0, others = 0;
  unsigned long long other[3] = {};
  void add(Sum& sum) { sums[count++] = &sum; }
  void add(unsigned long long value) { other[others++] = value; }
};
template<typename Sum, typename... Operands>
void wgmma_mma_async(const char* text, Sum& first, Operands&&... operands) {
  GroupOperands<Sum> all;
  all.add(first);
  (all.add(operands), ...);
  group_multiply(text, all.sums, all.count, all.other[0], all.other[1], all.other[2] != 0);
}

} // namespace emulated

inline size_t __cvta_generic_to_shared(const void* p) {
  return emulated::shared_address(p);
}
