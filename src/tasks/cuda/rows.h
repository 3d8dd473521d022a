#pragma once
// Selects, on a GPU, the rows of detectors' outputs that may pass and copies them to the host, where a head
// reads them like any others.

#include "tasks/cuda/scan_kernel.h"
#include "tasks/heads/head.h"

namespace lanner::tasks {

/// Elements of a row in one part: element i of row r is `begin + r * pitch + i * step`.
struct RowTable {
  std::string_view part;
  std::int64_t begin = 0, pitch = 0, step = 1, channels = 0;
  std::int64_t modulo = 0; ///< Row numbering restarts after this many; 0: never.
};

/// How a head selects rows, as data: kernels use it, and the head's own loop decides about the rows that they
/// find.
struct RowScan {
  std::string_view part;        ///< The part with the scores.
  cuda::ScanParameters scores;  ///< All except `values`.
  std::vector<RowTable> tables; ///< Tables of elements read for each row, at most most_tables.
};

/// The scan's parameters for scores with this activation; `background`: -1 where no class is excluded.
cuda::ScanParameters scan_of(Activation activation, float threshold, std::int64_t rows, std::int64_t classes,
                             int background = -1);
/// The same with an objectness that multiplies the scores.
void add_objectness(cuda::ScanParameters& scan, Activation activation, float threshold,
                    std::int64_t objectness);

/// Replaces the parts of the tables by the rows that may pass: [found, channels], chosen(). Does nothing
/// where the part with the scores is not remote.
void choose_rows(HeadRun& run, const RowScan& scan);

} // namespace lanner::tasks
