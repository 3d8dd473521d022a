#include "backends/product/matrix_tiles.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

namespace lanner::cuda {
namespace {

/// A tile, and the fraction of the rate below that its inner loop reaches where it fills a GPU. Fractions are
/// fitted to times measured on H200s (decisions 041 and 057); only tiles within 10 % of the best for one of
/// their shapes are listed.
struct ListedTile {
  MatrixTile tile;
  double share;
};

constexpr MatrixTile bulk(std::int64_t rows, std::int64_t columns, std::int64_t stages, bool alternating) {
  return {rows, columns, 64, stages, {alternating ? 4 : 8, 1}, true, false, true, alternating};
}

constexpr ListedTile listed[] = {
    {bulk(128, 128, 5, false), 0.993},       {bulk(128, 128, 5, true), 0.785},
    {bulk(64, 256, 4, true), 0.782},         {bulk(192, 128, 4, true), 0.695},
    {bulk(64, 128, 7, true), 0.748},         {bulk(128, 192, 4, false), 0.825},
    {bulk(128, 64, 7, true), 0.729},         {bulk(128, 256, 4, false), 0.866},
    {bulk(64, 64, 7, true), 0.57},           {bulk(128, 32, 7, true), 0.435},
    {{128, 256, 64, 4, {8, 1}, true}, 0.97}, {{256, 128, 64, 4, {8, 1}, true}, 0.83},
    {{128, 128, 64, 3, {8, 1}, true}, 0.82}, {{128, 64, 64, 3, {8, 1}, true}, 0.86},
    {{256, 64, 64, 3, {8, 1}, true}, 0.52},  {{64, 64, 64, 3, {4, 1}, true}, 0.78},
    {{128, 48, 64, 3, {8, 1}, true}, 0.47},  {{128, 32, 64, 3, {8, 1}, true}, 0.92},
    {{128, 256, 64, 3, {2, 4}}, 0.77},       {{256, 128, 64, 3, {4, 2}}, 0.61},
    {{128, 256, 32, 3, {2, 4}}, 0.63},       {{256, 128, 32, 3, {4, 2}}, 0.55},
    {{128, 128, 32, 4, {2, 2}}, 0.72},       {{128, 128, 64, 3, {2, 2}}, 0.63},
    {{256, 64, 32, 4, {4, 1}}, 0.55},        {{64, 256, 32, 4, {1, 4}}, 0.54},
    {{128, 64, 32, 4, {2, 2}}, 0.74},        {{128, 64, 64, 3, {2, 2}}, 0.46},
    {{64, 128, 64, 3, {2, 2}}, 0.58},        {{64, 64, 64, 4, {2, 2}}, 0.56},
    {{256, 32, 32, 4, {4, 1}}, 0.46},        {{128, 32, 64, 3, {4, 1}}, 0.50},
};
/// Used where every other tile is too wide or does not fit.
constexpr ListedTile smallest{{64, 32, 64, 4, {2, 2}}, 0.45};
/// For f32; fractions of the scalar units' peak. They are guesses.
constexpr ListedTile scalars[] = {
    {{128, 128, 16, 4, {4, 2}, false, true}, 0.7}, {{128, 64, 32, 3, {4, 2}, false, true}, 0.6},
    {{64, 64, 32, 3, {2, 2}, false, true}, 0.55},  {{128, 32, 32, 3, {4, 1}, false, true}, 0.5},
    {{64, 32, 32, 3, {2, 2}, false, true}, 0.4},
};

std::span<const ListedTile> tiles_of(DType type) {
  return type == DType::f32 ? std::span<const ListedTile>(scalars) : listed;
}
constexpr std::int64_t splits[] = {1, 2, 4, 8};
constexpr std::size_t most_plans = 5;

double parts_of(std::int64_t size, std::int64_t part) {
  const std::int64_t parts = (size + part - 1) / part;
  return static_cast<double>(parts);
}

/// Bytes written per element of the result, plus those read by the steps.
double output_bytes(const MatrixProblem& p) {
  std::int64_t bits = bit_width(p.result);
  for (const MatrixStep& step : p.steps)
    if (step.operand && step.operand->spread == Spread::full) bits += bit_width(step.operand->type);
  return static_cast<double>(bits) / 8;
}

/// Bytes of each operand once, as read from memory.
double bytes_of(const MatrixProblem& p) {
  const auto batch = static_cast<double>(p.batch), rows = static_cast<double>(p.rows),
             columns = static_cast<double>(p.columns), depth = static_cast<double>(p.depth);
  double a = batch * rows * depth;
  if (p.window)
    a = rows / static_cast<double>(p.window->result[0] * p.window->result[1]) *
        static_cast<double>(p.window->image[0] * p.window->image[1] * p.window->channels) * batch;
  return static_cast<double>(element_bytes(p.type)) * (a + batch * depth * columns) +
         batch * rows * columns * output_bytes(p);
}

/// Of a multiprocessor: operations a second by `share` 1, bytes a second of results and of what steps read,
/// and seconds of each tile; of the GPU: seconds until the first tiles are there, bytes a second of its cache
/// and memory. A Hopper's; other GPUs rank tiles alike.
struct Rates {
  double operations, output, tile, first_tiles, cache, memory;
};

constexpr Rates rates_of(const MatrixTile& t) {
  if (t.alternating) return {7.5e12, 16.7e9, 1.284e-6, 0.51e-6, 11.85e12, 3.45e12};
  if (t.bulk) return {7.5e12, 23.64e9, 0.659e-6, 0.51e-6, 11.85e12, 3.45e12};
  return {t.groups ? 6e12 : t.scalars ? 0.45e12 : 4.5e12, 17e9, 0.085e-6, 2.1e-6, 9.3e12, 3.5e12};
}

/// Threads copy as many channels of a pixel at once as its size allows, up to 16 bytes, and a copy takes its
/// time whatever it copies: how many times the bytes of whole copies that is.
double narrow_copies(const MatrixProblem& p) {
  if (!p.window) return 1;
  return static_cast<double>(most_copied(p.type)) / static_cast<double>(copied_channels(p));
}

double seconds_of(const MatrixPlan& plan, double share, const MatrixMachine& machine) {
  constexpr double start = 2e-6, joined = 2e12; // Of a kernel; bytes per second of partial sums.
  const MatrixProblem& p = plan.problem;
  const MatrixTile& t = plan.tile;
  const Rates rates = rates_of(t);
  const double tiles =
      parts_of(p.rows, t.rows) * parts_of(p.columns, t.columns) * static_cast<double>(p.batch * plan.split);
  const double depth =
      std::ceil(parts_of(p.depth, t.depth) / static_cast<double>(plan.split)) * static_cast<double>(t.depth);
  const auto results = static_cast<double>(t.rows * t.columns);
  const double result_bytes = plan.split > 1 ? sizeof(float) : output_bytes(p);
  const double multiplying = 2 * results * depth / (rates.operations * share) + rates.tile;
  const double writing = results * result_bytes / rates.output;
  const double waves = std::ceil(tiles / machine.multiprocessors);
  // Groups that alternate multiply one tile while they write another.
  const double computing = t.alternating && waves > 1
                               ? waves * std::max(multiplying, writing) + std::min(multiplying, writing)
                               : waves * (multiplying + writing);
  const double copied_rows = static_cast<double>(t.rows) * narrow_copies(p);
  const double read = tiles * (copied_rows + static_cast<double>(t.columns)) * depth *
                      static_cast<double>(element_bytes(p.type)) / rates.cache;
  const double joining = plan.split > 1 ? start + 2 * static_cast<double>(plan.workspace()) / joined : 0;
  return std::max({computing, read, bytes_of(p) / rates.memory}) + rates.first_tiles + start + joining;
}

/// Whether a tile is no wider than needed. Products of bytes are short beside what they read and write.
bool suits(const MatrixProblem& p, const MatrixTile& t) {
  const auto wasteful = [](std::int64_t size, std::int64_t tile, std::int64_t least) {
    return tile > least && size * 2 <= tile;
  };
  return !wasteful(p.columns, t.columns, 32) && !wasteful(p.rows, t.rows, 64) &&
         (t.depth <= 32 || p.depth > (p.bytes ? 16 : 32));
}

/// Nothing where the tile does not fit.
std::optional<EstimatedPlan> best_split(const MatrixProblem& problem, const ListedTile& one,
                                        const MatrixMachine& machine) {
  constexpr std::int64_t least_tiles_of_part = 4;
  constexpr std::size_t most_workspace = std::size_t{64} << 20;
  std::optional<EstimatedPlan> best;
  for (const std::int64_t split : splits) {
    const MatrixPlan plan{problem, one.tile, split};
    const bool fits = runs_on(plan, machine.capability);
    const bool pays = split == 1 || (problem.depth / one.tile.depth >= split * least_tiles_of_part &&
                                     plan.workspace() <= most_workspace);
    if (!fits || !pays) continue;
    const double seconds = seconds_of(plan, one.share, machine);
    if (!best || seconds < best->seconds) best = {plan, seconds};
  }
  return best;
}

/// Keeps the first plans, the last of which is of the other way to copy where the rest are of one: the two
/// ways' estimates were fitted apart.
void keep_first(std::vector<EstimatedPlan>& plans) {
  if (plans.size() <= most_plans) return;
  const auto last = plans.begin() + (most_plans - 1);
  const auto like_first = [&](const EstimatedPlan& one) {
    return one.plan.tile.bulk == plans.front().plan.tile.bulk;
  };
  const auto other = std::find_if_not(plans.begin(), plans.end(), like_first);
  if (other > last && other != plans.end()) std::iter_swap(last, other);
  plans.resize(most_plans);
}

} // namespace

std::int64_t most_shared_bytes(int capability) {
  if (capability == 80 || capability == 87) return 163 << 10;
  return capability >= 90 && capability < 120 ? 227 << 10 : 99 << 10;
}

bool runs_on(const MatrixPlan& plan, int capability) {
  const MatrixProblem& p = plan.problem;
  if (plan.tile.bulk && !takes_tensor_maps(p)) return false;
  const bool taken = !plan.tile.groups || (capability == 90 && (p.window || !p.a.exchanged) &&
                                           (p.b.exchanged || plan.tile.columns % 64 == 0));
  const bool typed = plan.tile.scalars == (p.type == DType::f32);
  return taken && typed && plan.shared_bytes() <= most_shared_bytes(capability) && plan.tiles() <= INT32_MAX;
}

std::vector<EstimatedPlan> matrix_plans(const MatrixProblem& problem, const MatrixMachine& machine) {
  std::vector<EstimatedPlan> plans;
  for (const ListedTile& one : tiles_of(problem.type))
    if (suits(problem, one.tile))
      if (auto best = best_split(problem, one, machine)) plans.push_back(std::move(*best));
  if (plans.empty())
    if (auto small = best_split(
            problem, problem.type == DType::f32 ? scalars[std::size(scalars) - 1] : smallest, machine))
      plans.push_back(std::move(*small));
  std::ranges::stable_sort(plans, {}, &EstimatedPlan::seconds);
  keep_first(plans);
  return plans;
}

std::optional<MatrixTile> matrix_tile(std::string_view name) {
  for (const ListedTile& one : listed)
    if (one.tile.name() == name) return one.tile;
  for (const ListedTile& one : scalars)
    if (one.tile.name() == name) return one.tile;
  if (smallest.tile.name() == name) return smallest.tile;
  return std::nullopt;
}

} // namespace lanner::cuda
