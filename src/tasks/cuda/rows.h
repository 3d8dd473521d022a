#pragma once
// Rows of detectors' outputs that lie on a GPU: those that may pass come to the host, where a head reads them
// as it reads any.

#include "tasks/cuda/scan_kernel.h"
#include "tasks/heads/head.h"

namespace lanner::tasks {

/// Numbers of a row in one part: number i of row r is `begin + r * pitch + i * step`.
struct RowTable {
  std::string_view part;
  std::int64_t begin = 0, pitch = 0, step = 1, channels = 0;
  std::int64_t modulo = 0; ///< Rows are counted anew behind so many; 0: not.
};

/// How a head chooses rows, as data: kernels take it, and the head's own loop decides about what they find.
struct RowScan {
  std::string_view part;        ///< That has the scores.
  cuda::ScanParameters scores;  ///< All but `values`.
  std::vector<RowTable> tables; ///< What is read of a row, at most most_tables.
};

/// The scan's parameters for scores by this activation; `background`: -1 where no class is left out.
cuda::ScanParameters scan_of(Activation activation, float threshold, std::int64_t rows, std::int64_t classes,
                             int background = -1);
/// The same with an objectness that is multiplied.
void add_objectness(cuda::ScanParameters& scan, Activation activation, float threshold,
                    std::int64_t objectness);

/// Replaces the parts of the tables by the rows that may pass: [found, channels], chosen(). Nothing where the
/// part with the scores is not remote.
void choose_rows(HeadRun& run, const RowScan& scan);

} // namespace lanner::tasks
