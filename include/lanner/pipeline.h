#pragma once
// From videos to results: concurrent decoding, preprocessing and inference.

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

/// Which frames of a clip are used: all by default. Frames are selected, in this order, by time, by rate, by
/// stride and by number. Times count from the clip's first frame; frames without times count as evenly
/// spaced.
struct FrameRange {
  double start = 0; ///< Seconds; the first frame is the first one at or after it.
  double end = std::numeric_limits<double>::infinity(); ///< Seconds; frames from there on are left out.
  double rate = 0;         ///< Frames per second: the first of each 1/rate seconds, none twice. 0: all.
  std::int64_t stride = 1; ///< Every n-th frame.
  std::int64_t count = -1; ///< At most this many; -1: no bound.
};

struct PipelineOptions {
  std::string input;                    ///< The engine's image input; empty when it has only one.
  std::optional<Preprocess> preprocess; ///< Unset: the engine's own.
  /// Frames per run. If there are fewer, as at the end of a video, the last frame is repeated, so that
  /// kernels for one batch size suffice. But if some output has no batch dim (known from dim names, else from
  /// an earlier full run), fewer frames run as a smaller batch, unless the network's batch size is fixed.
  int batch = 1;
  std::size_t queue = 4; ///< Batches decoded ahead.
  FrameRange range;      ///< For each clip.
  int side_by_side = 0;  ///< Clips decoded concurrently; 0: as many as a batch has frames.
  Trace trace;
  CancelToken cancel;
};

/// A frame, rotated for display (its rotation is then 0), and the network's outputs for it, with a batch
/// dimension of 1.
struct PipelineResult {
  Frame frame;
  std::map<std::string, Tensor> outputs;
  double decode_seconds = 0, infer_seconds = 0; ///< Of this frame; a batch's time is divided evenly.
  std::size_t clip = 0;                         ///< Index of the clip, of several.
  /// With several clips: the end of this clip; there is no frame.
  bool ended = false;
  std::exception_ptr error; ///< The error that ended the clip; null at its regular end.
};

/// Opens a clip when the pipeline gets to it, on the thread that will decode it.
using OpenClip = std::function<VideoReader()>;

/// Runs a network on the frames of readers. Owns threads: one for each clip that is being decoded, which
/// decodes ahead, and one that preprocesses the frames and runs the network, so that the caller can draw and
/// encode at the same time. A reader that decodes on a GPU keeps all of its decoding engines busy, as
/// ParallelDecoder does, with its own threads. On a GPU, runs are queued one after another on the pipeline's
/// own stream, and next() waits for the batch that it returns. Memory is bounded by `queue`, by the readers'
/// frame_bytes, which concurrent clips share, and by four frames, or three batches, with their outputs.
/// Outputs whose first dimension is not the batch are returned whole.
class Pipeline {
public:
  /// Frames of one clip in order.
  Pipeline(VideoReader reader, const Engine& engine, Context context, const PipelineOptions& options = {});
  /// Frames of several clips, of which `side_by_side` are decoded concurrently: batches take one frame from
  /// each of these clips in rotation, and when a clip ends the next one takes its place. For each clip its
  /// frames come in order, then a result that marks its end: a clip that cannot be opened or decoded does not
  /// end the others.
  Pipeline(std::vector<OpenClip> clips, const Engine& engine, Context context,
           const PipelineOptions& options = {});
  ~Pipeline(); ///< Stops and waits for the threads, at most until one frame is decoded and one run has ended.
  Pipeline(Pipeline&&) noexcept;

  /// The next frame's outputs; nothing at the end. Throws the errors of inference, and of decoding a single
  /// clip, once all earlier frames have been returned.
  std::optional<PipelineResult> next();
  /// To be used only after next() returned nothing.
  const Context& context() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
