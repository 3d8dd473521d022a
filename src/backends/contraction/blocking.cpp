#include "backends/contraction/blocking.h"

#include <algorithm>
#include <cmath>

namespace lanner {
namespace {

constexpr std::int64_t large_weights = 512 << 10; ///< Bytes, of which L2 does not keep enough.

/// Several tasks for each thread, as threads may lose their cores: of the columns where there are few rows.
void cut_columns(Blocking& b, const Contraction& c, const BlockFunctions& functions, std::int64_t panel,
                 std::int64_t wanted) {
  constexpr std::int64_t weights_in_cache = 128 << 10, sums_in_cache = 12 << 10; // of L2, and of L1
  const std::int64_t have = b.blocks * c.groups;
  if (have < wanted) b.parts = std::min(b.panels, quotient_up(wanted, have));
  const std::int64_t sums = 4 * functions.max_rows * functions.width;
  b.group_panels = std::clamp(std::min(weights_in_cache / panel, sums_in_cache / sums), std::int64_t{1},
                              quotient_up(b.panels, b.parts));
}

std::int64_t wanted_tasks(int threads) {
  return threads > 1 ? 4 * threads : 1;
}

/// Bytes that each thread reads: of the weights for each of its blocks, and of rows.
double bytes_read(const Blocking& b, std::int64_t weights, std::int64_t rows, int threads) {
  const double share = static_cast<double>(b.blocks) / threads;
  return static_cast<double>(weights) * std::max(share, share > 1 ? std::ceil(share) : 0) +
         static_cast<double>(rows) * std::max(share, 1.0);
}

} // namespace

Blocking gathered_blocking(const Contraction& c, const BlockFunctions& functions, const RowGather& gather,
                           int threads) {
  constexpr std::int64_t few_rows = 192 << 10, many_rows = 1 << 20; // of L2, which rows and weights share
  const std::int64_t strip = functions.max_rows, row_bytes = gather.row_bytes();
  const std::int64_t panel = gather.steps() * functions.step_bytes();
  Blocking b;
  b.panels = quotient_up(c.group_columns(), functions.width);
  // Each block of rows reads all weights again.
  const bool few_blocks = functions.whole_rows > 1 && gather.in_place() && b.panels * panel > large_weights;
  const std::int64_t rows_in_cache = few_blocks ? many_rows : few_rows;
  const std::int64_t most =
      std::clamp(rows_in_cache / row_bytes / strip, std::int64_t{1}, std::int64_t{32}) * strip;
  b.blocks = quotient_up(c.rows(), most);
  b.rows = rounded_up(quotient_up(c.rows(), b.blocks), strip);
  b.blocks = quotient_up(c.rows(), b.rows);
  cut_columns(b, c, functions, panel, wanted_tasks(threads));
  return b;
}

Blocking shared_blocking(const Contraction& c, const BlockFunctions& functions, const ImageRows& rows,
                         int threads) {
  constexpr std::int64_t in_cache = 1 << 20; // Half of the L2 cache of processors with tiles.
  const std::int64_t panel = rows.window_lines() * rows.steps() * functions.step_bytes();
  Blocking best;
  double least = 0;
  const auto fits = [&](std::int64_t images, std::int64_t lines) {
    return images * rows.bytes(lines) <= in_cache;
  };
  const auto consider = [&](std::int64_t images, std::int64_t lines) {
    const std::int64_t of_images = quotient_up(rows.images(), images),
                       of_lines = quotient_up(rows.lines(), lines);
    Blocking b;
    b.images = quotient_up(rows.images(), of_images);
    b.lines = quotient_up(rows.lines(), of_lines);
    b.panels = quotient_up(c.group_columns(), functions.width);
    b.blocks = of_images * of_lines;
    const double read = bytes_read(b, b.panels * panel, b.images * rows.bytes(b.lines), threads);
    if (best.blocks > 0 && read >= least) return;
    best = b;
    least = read;
  };
  // What does not fit is considered where nothing does: a line.
  for (std::int64_t lines = 1; lines < rows.lines() && (lines == 1 || fits(1, lines)); ++lines)
    consider(1, lines);
  for (std::int64_t images = 1; images <= rows.images() && fits(images, rows.lines()); ++images)
    consider(images, rows.lines());
  if (best.blocks == 0) consider(1, rows.lines());
  cut_columns(best, c, functions, panel, wanted_tasks(threads));
  return best;
}

} // namespace lanner
