#include "calibration/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace lanner {
namespace {

// Slots of one table: zeros, the bins, values beyond the range, values that are not finite.
constexpr std::int32_t last_bin = TensorHistogram::bins - 1;
constexpr std::size_t zero_slot = 0, first_slot = 1, beyond_slot = first_slot + TensorHistogram::bins,
                      not_finite_slot = beyond_slot + 1, slots = not_finite_slot + 1;
/// Neighbouring values often fall into the same slot, where one increment waits for the one before; values in
/// turn go to tables of their own.
constexpr std::size_t tables = 4;
constexpr std::size_t chunk = 512;
/// Below it the tables cost more than they save; above it their 32 bits could overflow.
constexpr std::size_t few_values = 1 << 16, most_values = 1u << 31;

constexpr std::int32_t infinite = 0x7f800000; ///< Bits of NaN and infinite magnitudes are these or larger.

/// Order of the integers is that of the floats, with -0 below +0, so that a range does not depend on which of
/// them came first.
std::int32_t ordered(std::uint32_t bits) {
  const auto value = static_cast<std::int32_t>(bits);
  return value ^ ((value >> 31) & 0x7fffffff);
}

float value_of(std::int32_t ordered_bits) {
  return std::bit_cast<float>(ordered_bits ^ ((ordered_bits >> 31) & 0x7fffffff)) + 0.f; // -0 becomes 0
}

struct Slots {
  std::int32_t largest; ///< Bits; the order of magnitudes is that of their bits.
  double bins_per_unit;

  /// Without branches, so that compilers vectorise it.
  std::int32_t of(float value) const {
    const auto magnitude = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(value) & 0x7fffffff);
    const std::int32_t inside = magnitude < largest ? magnitude : largest;
    auto bin = static_cast<std::int32_t>(static_cast<double>(std::bit_cast<float>(inside)) * bins_per_unit);
    bin = bin < last_bin ? bin : last_bin;
    return bin + (magnitude != 0) + (magnitude > largest) + (magnitude >= infinite);
  }
};

/// Slots of at most `chunk` values.
void find_slots(const float* values, std::size_t count, const Slots& place, std::int32_t* slot) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) slot[i] = place.of(values[i]);
}

} // namespace

void ObservedRange::add(std::span<const float> values) {
  std::int32_t low = std::numeric_limits<std::int32_t>::max(),
               high = std::numeric_limits<std::int32_t>::min();
  std::size_t finite = 0;
  for (std::size_t first = 0; first < values.size(); first += most_values) {
    const auto part = values.subspan(first, std::min(most_values, values.size() - first));
    std::uint32_t count_here = 0;
#pragma omp simd reduction(min : low) reduction(max : high) reduction(+ : count_here)
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(part[i]);
      const bool is_finite = (bits & infinite) != infinite;
      const std::int32_t value = ordered(bits);
      low = is_finite && value < low ? value : low;
      high = is_finite && value > high ? value : high;
      count_here += is_finite ? 1 : 0;
    }
    finite += count_here;
  }
  ObservedRange found;
  found.not_finite = values.size() - finite;
  found.count = finite;
  if (finite > 0) found.least = value_of(low), found.most = value_of(high);
  add(found);
}

void ObservedRange::add(const ObservedRange& other) {
  if (other.count > 0) {
    least = count > 0 ? std::min(least, other.least) : other.least;
    most = count > 0 ? std::max(most, other.most) : other.most;
  }
  count += other.count;
  not_finite += other.not_finite;
}

void ObservedRange::widen() noexcept {
  constexpr std::uint32_t rest = (1U << 12) - 1;
  const auto outward = [](float value) {
    const std::uint32_t bits = (std::bit_cast<std::uint32_t>(value) + rest) & ~rest;
    const auto wider = std::bit_cast<float>(bits);
    return std::isfinite(wider) ? wider : value;
  };
  least = outward(least);
  most = outward(most);
}

TensorHistogram::TensorHistogram(const ObservedRange& range) : range_(range), counts_(bins) {}

void TensorHistogram::add(std::span<const float> values) {
  std::vector<std::uint32_t> found;
  for (std::size_t first = 0; first < values.size(); first += most_values) {
    const auto part = values.subspan(first, std::min(most_values, values.size() - first));
    found.assign(slots * (part.size() < few_values ? 1 : tables), 0);
    add_block(part, found);
  }
}

void TensorHistogram::add_block(std::span<const float> values, std::span<std::uint32_t> found) {
  // A range of zeros alone has bins too, in which no value is.
  const float largest = std::max(range_.largest(), std::numeric_limits<float>::denorm_min());
  const Slots place{std::bit_cast<std::int32_t>(largest), bins / static_cast<double>(largest)};
  const std::size_t used = found.size() / slots;
  std::array<std::int32_t, chunk> slot;
  for (std::size_t first = 0; first < values.size(); first += chunk) {
    const std::size_t count = std::min(chunk, values.size() - first);
    find_slots(values.data() + first, count, place, slot.data());
    if (used == 1)
      for (std::size_t i = 0; i < count; ++i) ++found[slot[i]];
    else
      for (std::size_t i = 0; i < count; ++i) ++found[(i % tables) * slots + slot[i]];
  }
  for (std::size_t table = 0; table < used; ++table) take(found.subspan(table * slots, slots));
}

void TensorHistogram::take(std::span<const std::uint32_t> table) {
  std::uint64_t inside = 0;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    counts_[bin] += table[first_slot + bin];
    inside += table[first_slot + bin];
  }
  counts_[last_bin] += table[beyond_slot];
  values_ += inside + table[beyond_slot] + table[zero_slot];
  beyond_ += table[beyond_slot];
  zeros_ += table[zero_slot];
  not_finite_ += table[not_finite_slot];
}

void TensorHistogram::add(const TensorHistogram& part) {
  check(part.range_ == range_, ErrorCode::invalid_argument,
        "histograms can be added where they have the same range, not {} to {} and {} to {}", range_.least,
        range_.most, part.range_.least, part.range_.most);
  for (std::size_t bin = 0; bin < bins; ++bin) counts_[bin] += part.counts_[bin];
  values_ += part.values_;
  zeros_ += part.zeros_;
  not_finite_ += part.not_finite_;
  beyond_ += part.beyond_;
}

} // namespace lanner
