#include "device/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "device/team.h"

namespace lanner {
namespace {

// A share is split into this many pieces where it has enough units: when its thread loses its core, the
// caller runs the remaining ones.
constexpr std::int64_t pieces_of_a_share = 4, units_of_a_piece = 32;

/// Calls `part(share, piece)` for all of them; an exception is rethrown when the others have ended.
template<typename Part>
void run_parts(std::int64_t shares, std::int64_t pieces, Part part) {
  struct Region {
    Part part;
    std::atomic<bool> failed{false};
    std::exception_ptr error;
  } region{part, {}, {}};
  const auto run = [](void* argument, int share, int piece) {
    auto& region = *static_cast<Region*>(argument);
    try {
      region.part(share, piece);
    } catch (...) {
      if (!region.failed.exchange(true)) region.error = std::current_exception();
    }
  };
  run_pieces(static_cast<int>(shares), static_cast<int>(pieces), run, &region);
  if (region.error) std::rethrow_exception(region.error);
}

/// Start of part `part` when `units` units are split into equal parts.
std::int64_t edge(std::int64_t units, std::int64_t part, std::int64_t parts) noexcept {
  return units / parts * part + std::min(part, units % parts);
}

} // namespace

void run_parallel(int threads, std::int64_t begin, std::int64_t end, std::int64_t grain, RangeBody body) {
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t units = (end - begin - 1) / grain + 1;
  const std::int64_t shares = std::min<std::int64_t>(threads, units);
  if (shares <= 1 || team_share().inside) return body(begin, end);
  const std::int64_t pieces =
      std::clamp<std::int64_t>(units / shares / units_of_a_piece, 1, pieces_of_a_share);
  run_parts(shares, pieces, [&](int share, int piece) {
    const std::int64_t from = edge(units, share, shares), to = edge(units, share + 1, shares);
    const std::int64_t first = begin + (from + edge(to - from, piece, pieces)) * grain,
                       last = begin + (from + edge(to - from, piece + 1, pieces)) * grain;
    if (first < last) body(first, std::min(end, last));
  });
}

void run_each(int threads, std::int64_t count, RangeBody body) {
  const std::int64_t shares = std::min<std::int64_t>(threads, count);
  if (shares <= 1 || team_share().inside) {
    for (std::int64_t i = 0; i < count; ++i) body(i, i + 1);
    return;
  }
  const std::int64_t pieces = (count - 1) / shares + 1;
  run_parts(shares, pieces, [&](int share, int piece) {
    const std::int64_t i = share * pieces + piece;
    if (i < count) body(i, i + 1);
  });
}

} // namespace lanner
