#include "tasks/cuda/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/limits/account.h"
#include "tasks/cuda/work_queue.h"
#include "tasks/heads/scores.h"

namespace lanner::tasks {
namespace {

// In most pictures no more rows than this are found; they are copied along with their count. Further ones are
// fetched once the count is known.
constexpr std::int64_t first_rows = 512;
constexpr const char* stem = "task_rows";

using cuda::GatherParameters;
using cuda::GatherTable;
using cuda::placed;
using cuda::WorkQueue;

std::int64_t bytes_of(const GatherTable& table) {
  return std::int64_t{table.channels} * table.bytes;
}

/// Layout of found rows: their indices, then each table's elements.
struct FoundRowsLayout {
  FoundRowsLayout(const GatherParameters& p, std::int64_t room) {
    numbers = pieces.add(static_cast<std::uint64_t>(room) * sizeof(std::int32_t));
    for (int t = 0; t < p.count; ++t)
      tables[t] = pieces.add(static_cast<std::uint64_t>(room * bytes_of(p.tables[t])));
  }
  cuda::Pieces pieces;
  std::uint64_t numbers = 0, tables[cuda::most_tables] = {};
};

/// One scan of one picture.
class RowChoice {
public:
  RowChoice(HeadRun& run, const RowScan& scan, WorkQueue& queue) : run_(run), scan_(scan), queue_(queue) {}

  void choose() {
    queue_scan();
    const std::int64_t room = std::min(first_rows, scan_.scores.rows);
    const FoundRowsLayout layout(gather_, room);
    constexpr std::uint64_t header = 256;
    std::byte* const found = queue_.memory(WorkQueue::results, header + layout.pieces.size());
    gather_.found = placed<std::int64_t>(found, 0);
    list_rows(placed<std::int64_t>(found, 0));
    queue_gather(found + header, layout, 0, room);
    std::byte* const here = queue_.pinned(WorkQueue::results, header + layout.pieces.size());
    queue_.download(here, found, header + layout.pieces.size());
    queue_.wait();
    const std::int64_t count = *placed<const std::int64_t>(here, 0);
    allocate(count);
    take(here + header, layout, 0, std::min(count, room));
    if (count > room) fetch_more(count, room);
    give();
  }

private:
  void queue_scan() {
    cuda::ScanParameters p = scan_.scores;
    const Tensor& scores = run_.part(scan_.part).tensor();
    p.values = scores.data();
    p.by_warp = p.peak_width == 0 && p.step == 1 && p.classes > 1;
    cuda::Pieces work;
    const auto rows = static_cast<std::uint64_t>(p.rows);
    const std::uint64_t flags = work.add(rows + cuda::flags_each),
                        list = work.add(rows * sizeof(std::int32_t));
    std::byte* const base = queue_.memory(WorkQueue::work, work.size());
    flags_ = placed<std::uint8_t>(base, flags);
    list_ = placed<std::int32_t>(base, list);
    static constexpr const char* names[] = {"task_scan_f32", "task_scan_f16", "task_scan_bf16"};
    const char* const name = names[cuda::type_number(scores.dtype())];
    queue_.launch(queue_.function(stem, name),
                  lanner::cuda::grid_for(queue_.gpu(), p.by_warp ? p.rows * 32 : p.rows), flags_, p);
    gather_.rows = list_;
    for (const RowTable& table : scan_.tables) {
      if (!run_.part(table.part).remote()) continue;
      const Tensor& values = run_.part(table.part).tensor();
      const auto bytes = static_cast<std::int32_t>(bit_width(values.dtype()) / 8);
      gather_.tables[gather_.count++] = {values.data(), table.begin,
                                         table.pitch,   table.step,
                                         table.modulo,  static_cast<std::int32_t>(table.channels),
                                         bytes,         nullptr};
    }
  }

  void list_rows(std::int64_t* found) {
    queue_.launch(queue_.function(stem, "task_list_rows"), {.blocks = 1, .threads = cuda::listing_threads},
                  static_cast<const std::uint8_t*>(flags_), scan_.scores.rows, list_, found);
  }

  void queue_gather(std::byte* to, const FoundRowsLayout& layout, std::int64_t first, std::int64_t room) {
    gather_.first = first;
    gather_.room = room;
    gather_.numbers = placed<std::int32_t>(to, layout.numbers);
    std::int64_t most = room;
    for (int t = 0; t < gather_.count; ++t) {
      gather_.tables[t].to = to + layout.tables[t];
      most = std::max(most, room * gather_.tables[t].channels);
    }
    queue_.launch(queue_.function(stem, "task_gather_rows"), lanner::cuda::grid_for(queue_.gpu(), most),
                  gather_);
  }

  void allocate(std::int64_t count) {
    numbers_.resize(static_cast<std::size_t>(count));
    for (const RowTable& table : scan_.tables)
      if (run_.part(table.part).remote())
        rows_.push_back(Tensor::allocate(run_.part(table.part).tensor().dtype(), {count, table.channels}));
  }

  void take(const std::byte* from, const FoundRowsLayout& layout, std::int64_t first, std::int64_t count) {
    const auto copy = [&](void* to, std::uint64_t at, std::int64_t each) {
      const std::int64_t bytes = count * each;
      if (bytes > 0)
        std::memcpy(static_cast<std::byte*>(to) + first * each, from + at, static_cast<std::size_t>(bytes));
    };
    copy(numbers_.data(), layout.numbers, sizeof(std::int32_t));
    for (std::size_t t = 0; t < rows_.size(); ++t)
      copy(rows_[t].data(), layout.tables[t], bytes_of(gather_.tables[t]));
  }

  void fetch_more(std::int64_t count, std::int64_t first) {
    const FoundRowsLayout layout(gather_, count - first);
    // The count is in the memory that this reuses.
    cuda::Pieces work;
    const std::uint64_t found = work.add(sizeof(std::int64_t));
    const std::uint64_t rows = work.add(layout.pieces.size());
    std::byte* const base = queue_.memory(WorkQueue::results, work.size());
    gather_.found = placed<std::int64_t>(base, found);
    list_rows(placed<std::int64_t>(base, found));
    queue_gather(base + rows, layout, first, count - first);
    std::byte* const here = queue_.pinned(WorkQueue::results, layout.pieces.size());
    queue_.download(here, base + rows, layout.pieces.size());
    queue_.wait();
    take(here, layout, first, count - first);
  }

  void give() {
    const auto numbers = std::make_shared<const std::vector<std::int32_t>>(std::move(numbers_));
    std::size_t next = 0;
    for (const RowTable& table : scan_.tables) {
      Values& part = run_.parts.find(table.part)->second;
      Tensor rows = part.remote() ? std::move(rows_[next++]) : chosen_here(part, table, *numbers);
      part = Values(std::move(rows), part.shape(), numbers);
    }
  }

  /// For a part that is small enough to have been copied to the host.
  static Tensor chosen_here(const Values& part, const RowTable& table,
                            const std::vector<std::int32_t>& numbers) {
    Tensor rows = Tensor::allocate(DType::f32, {static_cast<std::int64_t>(numbers.size()), table.channels});
    float* to = rows.as<float>().data();
    for (const std::int32_t number : numbers) {
      const std::int64_t row = table.modulo > 0 ? number % table.modulo : number;
      for (std::int64_t i = 0; i < table.channels; ++i)
        *to++ = part[table.begin + row * table.pitch + i * table.step];
    }
    return rows;
  }

  HeadRun& run_;
  const RowScan& scan_;
  WorkQueue& queue_;
  GatherParameters gather_;
  std::uint8_t* flags_ = nullptr;
  std::int32_t* list_ = nullptr;
  std::vector<std::int32_t> numbers_;
  std::vector<Tensor> rows_;
};

} // namespace

cuda::ScanParameters scan_of(Activation activation, float threshold, std::int64_t rows, std::int64_t classes,
                             int background) {
  cuda::ScanParameters scan;
  scan.rows = rows;
  scan.classes = static_cast<std::int32_t>(classes);
  scan.background = background;
  scan.softmax = activation == Activation::softmax;
  scan.least = ScoreScale(activation, threshold).least();
  scan.least_log = threshold > 0 ? std::log(threshold) - 1e-2f : -std::numeric_limits<float>::infinity();
  return scan;
}

void add_objectness(cuda::ScanParameters& scan, Activation activation, float threshold,
                    std::int64_t objectness) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const bool plain = activation == Activation::none;
  scan.has_objectness = true;
  scan.objectness = objectness;
  scan.least_objectness = scan.least;
  // Values that are no probabilities may exceed 1, so a class score alone cannot exclude a row.
  if (plain) scan.least = -infinity;
  scan.least_product = plain ? threshold - std::abs(threshold) * 1e-3f : -infinity;
}

/// Whether all rows of the table are within the part, whose shape comes from the model.
static bool fits(const Values& part, const RowTable& table, std::int64_t rows) {
  const std::int64_t last = (table.modulo > 0 ? std::min(rows, table.modulo) : rows) - 1;
  return table.channels > 0 && table.channels <= INT32_MAX &&
         table.begin + last * table.pitch + (table.channels - 1) * table.step < part.size();
}

void choose_rows(HeadRun& run, const RowScan& scan) {
  const Values& scores = run.part(scan.part);
  const cuda::ScanParameters& p = scan.scores;
  if (!scores.remote() || p.rows <= 0 || p.rows > INT32_MAX) return;
  bool fit = fits(scores, {scan.part, p.begin, p.pitch, p.step, p.classes}, p.rows);
  for (const RowTable& table : scan.tables) {
    const Values& part = run.part(table.part);
    const bool there = !part.remote() || part.tensor().device() == scores.tensor().device();
    fit = fit && there && fits(part, table, p.rows);
  }
  if (!fit) return; // The head reports what is wrong with it.
  const cuda::QueueUse queue(scores.tensor().device());
  RowChoice(run, scan, *queue).choose();
  check_deadline();
}

} // namespace lanner::tasks
