#include "device/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "device/team.h"

namespace lanner {
namespace {

struct Partition {
  std::int64_t begin, end, grain, units;

  std::int64_t edge(std::int64_t part, std::int64_t parts) const noexcept {
    const std::int64_t unit = units / parts * part + std::min(part, units % parts);
    return std::min(end, begin + unit * grain);
  }
};

struct Loop {
  Partition partition;
  RangeBody body;
  std::atomic<bool> failed{false};
  std::exception_ptr error;

  void run_part() {
    const TeamPlace place = team_place();
    const std::int64_t first = partition.edge(place.number, place.size),
                       last = partition.edge(place.number + 1, place.size);
    try {
      if (first < last) body(first, last);
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }
};

} // namespace

void run_parallel(int threads, std::int64_t begin, std::int64_t end, std::int64_t grain, RangeBody body) {
  grain = std::max<std::int64_t>(grain, 1);
  const Partition partition{begin, end, grain, (end - begin - 1) / grain + 1};
  const int team = static_cast<int>(std::min<std::int64_t>(threads, partition.units));
  if (team <= 1 || team_place().inside) return body(begin, end);
  Loop loop{partition, body, {}, {}};
  run_team(
      team, [](void* argument) { static_cast<Loop*>(argument)->run_part(); }, &loop);
  if (loop.error) std::rethrow_exception(loop.error);
}

} // namespace lanner
