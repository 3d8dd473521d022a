#pragma once
// From a video to answers: decoding, preprocessing and inference side by side.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <lanner/cancel.h>
#include <lanner/encoder.h>
#include <lanner/engine.h>
#include <lanner/trace.h>
#include <lanner/video_reader.h>

namespace lanner {

struct PipelineOptions {
  std::string input;                    ///< The engine's image input; empty when it has but one.
  std::optional<Preprocess> preprocess; ///< Unset: what the engine says.
  /// Frames in one run. The last run of a video has fewer, or, for a network of fixed batch size, repeats its
  /// last frame.
  int batch = 1;
  std::size_t queue = 4; ///< Batches decoded ahead.
  Trace trace;
  CancelToken cancel;
};

/// A frame, turned as a player shows it (its rotation is then 0), and the network's answers to it, batch
/// dimension kept at 1.
struct PipelineResult {
  Frame frame;
  std::map<std::string, Tensor> outputs;
  double decode_seconds = 0, infer_seconds = 0; ///< Of this frame; a batch's time is shared out evenly.
};

/// Runs a context over a reader's frames in order. Owns two threads: one decodes ahead, one runs the
/// network on the frames, which it preprocesses, so that the caller draws and encodes beside both. Memory is
/// bounded by `queue`, and by two frames with their answers. Outputs whose first dimension is not the batch
/// are given whole.
class Pipeline {
public:
  Pipeline(VideoReader reader, const Engine& engine, Context context, const PipelineOptions& options = {});
  ~Pipeline(); ///< Stops, and waits for the threads: at most a frame's decoding and a run.
  Pipeline(Pipeline&&) noexcept;

  /// The next frame's answers; nothing at the end. Throws what decoding or inference threw, once all frames
  /// before have been given.
  std::optional<PipelineResult> next();
  /// At rest only once next() gave nothing.
  const Context& context() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
