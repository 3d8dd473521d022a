#pragma once
// Runs images and clips through a network and sends the answers to their outputs.

#include <exception>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <lanner/crop_runner.h>
#include <lanner/engine.h>
#include <lanner/pipeline.h>
#include <lanner/run_sizes.h>

#include "commands/stages.h"
#include "input/inputs.h"
#include "options/preprocess_options.h"
#include "output/answer_lines.h"
#include "output/byte_output.h"
#include "output/console.h"
#include "output/outputs.h"
#include "output/result_outputs.h"
#include "output/task.h"
#include "report/recorder.h"

namespace lanner::tool {

/// Counts and times of one run.
struct RunTotals {
  std::int64_t pictures = 0, clips = 0, frames = 0;
  std::size_t failed = 0; ///< Inputs that could not be read; each was reported.
  double seconds = 0;
  FrameTimes sums;        ///< Sum over all images and frames.
  double cpu_seconds = 0; ///< Of the process, during the run.

  StageTimes stages() const { return {sums, seconds, cpu_seconds, clips > 0}; }
};

/// Runs images, and clips of which several are decoded in parallel, in batches. Ctrl-C interrupts it and
/// leaves no output under its final name.
class Runner {
public:
  struct Settings {
    PictureInput picture;
    TaskReader reader;
    int batch = 1;             ///< Images, or frames of clips, in one run.
    bool native_size = false;  ///< Each image and clip runs at its native size, which `picture` leaves open.
    bool lines = true;         ///< Answers as text on stdout.
    bool name_sources = false; ///< Several inputs: lines name their source.
    bool json_to_stdout = false;
    bool conceal = false;   ///< Damage in a clip is no error.
    bool notes = true;      ///< Notes are printed.
    FrameRange range = {};  ///< For each clip.
    int clips_at_once = 0;  ///< 0: as many as a batch has frames.
    std::size_t failed = 0; ///< Inputs that could not be read so far.
    ByteOutput* json = nullptr;
    Recorder* recorder = nullptr;
    ResultOutputs* results = nullptr;
    CropRunner* then = nullptr;                ///< A second network, run on the regions of boxes.
    std::map<std::string, Tensor> inputs = {}; ///< The network's other inputs, the same at each run.
  };
  Runner(Engine engine, Settings settings)
      : engine_(std::move(engine)), settings_(std::move(settings)), declared_(settings_.picture.spec) {}

  /// An input that cannot be read is reported, and is an error where it is the only one; all other errors are
  /// thrown.
  void run(const std::vector<RunInput>& inputs);
  const RunTotals& totals() const { return totals_; }

private:
  struct Clip;
  struct Still;
  Preprocess spec_of(std::int32_t width, std::int32_t height) const;
  void use(const Preprocess& spec);
  void run_stills(std::span<const RunInput> inputs);
  void run_batch(std::vector<Still>& batch);
  void take_picture(Still& still, const Outputs& outputs);
  void run_clips(std::span<const RunInput> inputs);
  Context create_context() const;
  VideoReader open_clip(Clip& clip, std::size_t at_once) const;
  bool open_ahead(Clip& clip, OpenClip& opener);
  std::optional<PipelineResult> next_frame(Pipeline& pipeline, const RunInput& input);
  void tell_decoder(const Clip& clip, const Image& image);
  void take_frame(Clip& clip, const PipelineResult& result);
  void end_clip(Clip& clip, const std::exception_ptr& error);
  void fail_input(const RunInput& input, const Error& error);
  void look_again(const Image& image, std::int64_t frame, TaskResult& result, FrameTimes& times);
  void say(const PictureAnswers& picture, const Image& image);
  Trace trace() const { return settings_.recorder ? settings_.recorder->trace() : Trace(); }

  Engine engine_;
  Settings settings_;
  Preprocess declared_; ///< As declared, before a native size was set.
  RunTotals totals_;
  bool alone_ = true;             ///< Only one input was given.
  std::optional<Context> stills_; ///< Created at the first image.
  std::optional<RunSizes> sizes_; ///< For images of the current size.
  std::set<std::string> told_;    ///< Why clips are not decoded on the network's device.
};

} // namespace lanner::tool
