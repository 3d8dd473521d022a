#pragma once
// From videos to answers: decoding, preprocessing and inference side by side.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/encoder.h>
#include <lanner/engine.h>
#include <lanner/trace.h>
#include <lanner/video_reader.h>

namespace lanner {

/// Which frames of a clip are wanted: all by default. Frames are taken, in this order, by time, by rate, by
/// stride and by number. Times count from the clip's first frame on; frames without any count as evenly
/// spaced.
struct FrameRange {
  double start = 0; ///< Seconds; the first frame at or behind it is the first.
  double end = std::numeric_limits<double>::infinity(); ///< Seconds; the frame there is the first left out.
  double rate = 0;         ///< Frames a second: of each 1/rate seconds the first, none twice. 0: all.
  std::int64_t stride = 1; ///< Every so many-th.
  std::int64_t count = -1; ///< So many at most; -1: no bound.
};

struct PipelineOptions {
  std::string input;                    ///< The engine's image input; empty when it has but one.
  std::optional<Preprocess> preprocess; ///< Unset: what the engine says.
  /// Frames in one run. Where there are fewer, as at the end of a video, the last frame is repeated, so that
  /// kernels of one batch size are enough. Fewer run as they are where an output has no part for each frame:
  /// names of sizes tell, else a full run before; unless the network's batch size is fixed.
  int batch = 1;
  std::size_t queue = 4; ///< Batches decoded ahead.
  FrameRange range;      ///< Of each clip.
  int side_by_side = 0; ///< Of several clips so many are decoded at a time; 0: as many as a batch has frames.
  Trace trace;
  CancelToken cancel;
};

/// A frame, turned as a player shows it (its rotation is then 0), and the network's answers to it, batch
/// dimension kept at 1.
struct PipelineResult {
  Frame frame;
  std::map<std::string, Tensor> outputs;
  double decode_seconds = 0, infer_seconds = 0; ///< Of this frame; a batch's time is shared out evenly.
  std::size_t clip = 0;                         ///< Of several clips: which.
  /// Of several clips: all frames of this one were given before, and here is none.
  bool ended = false;
  std::exception_ptr error; ///< What the clip ended by; null where that was its end.
};

/// Opens a clip when its turn comes, on the thread that will decode it.
using OpenClip = std::function<VideoReader()>;

/// Runs a context over readers' frames. Owns threads: one for each clip that is being decoded, which is
/// ahead, and one that runs the network on the frames, which it preprocesses, so that the caller draws and
/// encodes beside them. A reader that decodes on a GPU has all its engines at work, as ParallelDecoder has,
/// with threads of the reader's own. On a GPU runs are queued one behind the other on a stream of the
/// pipeline's, and next() waits for the batch that it gives. Memory is bounded by `queue`, by the readers'
/// frame_bytes, which clips side by side share, and by four frames, or three batches, with their answers.
/// Outputs whose first dimension is not the batch are given whole.
class Pipeline {
public:
  /// Frames of one clip in order.
  Pipeline(VideoReader reader, const Engine& engine, Context context, const PipelineOptions& options = {});
  /// Frames of several clips, some of which are decoded side by side: batches take a frame of each in turn,
  /// whoever is ready first, and the next clip takes the place of one that ended. Of each clip the frames
  /// come in order, then a result that tells its end: a clip that cannot be opened or decoded does not end
  /// the others.
  Pipeline(std::vector<OpenClip> clips, const Engine& engine, Context context,
           const PipelineOptions& options = {});
  ~Pipeline(); ///< Stops, and waits for the threads: at most a frame's decoding and a run.
  Pipeline(Pipeline&&) noexcept;

  /// The next frame's answers; nothing at the end. Throws what inference, and decoding of a single clip,
  /// threw, once all frames before have been given.
  std::optional<PipelineResult> next();
  /// At rest only once next() gave nothing.
  const Context& context() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
