#pragma once
// Where a run over images and clips spends its time, and which stage limits it.

#include <cstdint>
#include <string>
#include <vector>

namespace lanner::tool {

/// Seconds for one image, or for all of them. For a clip these stages run in parallel: decoding, the network
/// with preprocessing, and a second network with drawing and encoding.
struct FrameTimes {
  double decode = 0;
  double infer = 0;  ///< With preprocessing.
  double encode = 0; ///< Writing the annotated image or frame.
  double draw = 0;
  double preprocess = 0; ///< The part of `infer` that is preprocessing, where it is measured separately.
  double report = 0;     ///< Encoding images for the report.
  double then = 0;       ///< The second network, on the regions of boxes.

  FrameTimes& operator+=(const FrameTimes& other);
};

/// One stage of a run.
struct Stage {
  std::string name; ///< `decode`, `preprocess`, `network`, `then`, `draw`, `encode`, `report`.
  double seconds = 0;
  int lane = 0; ///< Stages of one lane run one after the other, different lanes in parallel.
};

/// A run's stages, and how long it took.
struct StageTimes {
  std::vector<Stage> stages; ///< Those that took time.
  double seconds = 0;        ///< From start to end.
  double cpu_seconds = 0;    ///< Of all threads of the process.
  bool side_by_side = false; ///< For a clip.

  StageTimes() = default;
  StageTimes(const FrameTimes& sums, double seconds, double cpu_seconds, bool side_by_side);
  /// `decode 12 %, network 95 %, encode 40 %`: shares of the run's time.
  std::string shares_text() const;
  /// One or two sentences: which stage limits the rate.
  std::string limit_text() const;
};

/// CPU time of all threads of this process so far.
double cpu_seconds();

} // namespace lanner::tool
