#include "device/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "device/team.h"

namespace lanner {
namespace {

// A share is run in so many pieces where it has enough units: when its thread loses its core, the caller
// takes those that are left.
constexpr std::int64_t pieces_of_a_share = 4, units_of_a_piece = 32;

struct Loop {
  std::int64_t begin, end, grain, units, shares, pieces;
  RangeBody body;
  std::atomic<bool> failed{false};
  std::exception_ptr error;

  /// Where part `part` of so many equal ones of `units` units begins.
  static std::int64_t edge(std::int64_t units, std::int64_t part, std::int64_t parts) noexcept {
    return units / parts * part + std::min(part, units % parts);
  }

  void run(std::int64_t share, std::int64_t piece) {
    const std::int64_t from = edge(units, share, shares), to = edge(units, share + 1, shares);
    const std::int64_t first = begin + (from + edge(to - from, piece, pieces)) * grain,
                       last = begin + (from + edge(to - from, piece + 1, pieces)) * grain;
    try {
      if (first < last) body(first, std::min(end, last));
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }
};

} // namespace

void run_parallel(int threads, std::int64_t begin, std::int64_t end, std::int64_t grain, RangeBody body) {
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t units = (end - begin - 1) / grain + 1;
  const std::int64_t shares = std::min<std::int64_t>(threads, units);
  if (shares <= 1 || team_place().inside) return body(begin, end);
  const std::int64_t pieces =
      std::clamp<std::int64_t>(units / shares / units_of_a_piece, 1, pieces_of_a_share);
  Loop loop{begin, end, grain, units, shares, pieces, body, {}, {}};
  run_pieces(
      static_cast<int>(shares), static_cast<int>(pieces),
      [](void* argument, int share, int piece) { static_cast<Loop*>(argument)->run(share, piece); }, &loop);
  if (loop.error) std::rethrow_exception(loop.error);
}

} // namespace lanner
