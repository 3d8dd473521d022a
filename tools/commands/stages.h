#pragma once
// What a run over pictures and clips spends its time with, and which part of it holds up the others.

#include <cstdint>
#include <string>
#include <vector>

namespace lanner::tool {

/// Seconds that one picture took, or all of them. Of a clip the stages are at work side by side: decoding,
/// the network with preprocessing, and a second network with drawing and encoding.
struct FrameTimes {
  double decode = 0;
  double infer = 0;  ///< With preprocessing.
  double encode = 0; ///< Writing what was drawn.
  double draw = 0;
  double preprocess = 0; ///< Of `infer`, where it is known apart.
  double report = 0;     ///< Making pictures for the report.
  double then = 0;       ///< The second network, on what boxes cover.

  FrameTimes& operator+=(const FrameTimes& other);
};

/// One stage of a run.
struct Stage {
  std::string name; ///< `decode`, `preprocess`, `network`, `then`, `draw`, `encode`, `report`.
  double seconds = 0;
  int lane = 0; ///< Stages of one lane take turns, those of several are side by side.
};

/// A run's stages, and how long it took.
struct StageTimes {
  std::vector<Stage> stages; ///< Those that took time.
  double seconds = 0;        ///< From begin to end.
  double cpu_seconds = 0;    ///< Of all threads of the process.
  bool side_by_side = false; ///< A clip's.

  StageTimes() = default;
  StageTimes(const FrameTimes& sums, double seconds, double cpu_seconds, bool side_by_side);
  /// `decode 12 %, network 95 %, encode 40 %`: of the run's time.
  std::string shares_text() const;
  /// One or two sentences: which stage limits the rate.
  std::string limit_text() const;
};

/// Of all threads of this process, up to now.
double cpu_seconds();

} // namespace lanner::tool
