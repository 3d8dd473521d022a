#pragma once
// Pictures and clips through a network, and their answers to where they are wanted.

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

/// What one run has done.
struct RunTotals {
  std::int64_t pictures = 0, clips = 0, frames = 0;
  std::size_t failed = 0; ///< Inputs that could not be read; each was told.
  double seconds = 0;
  FrameTimes sums;        ///< Over all pictures and frames.
  double cpu_seconds = 0; ///< Of the process, meanwhile.

  StageTimes stages() const { return {sums, seconds, cpu_seconds, clips > 0}; }
};

/// Runs pictures, and clips that follow one another, in batches, the latter side by side. Interrupted by
/// Ctrl-C, which leaves no output under its final name.
class Runner {
public:
  struct Settings {
    PictureInput picture;
    TaskReader reader;
    int batch = 1;             ///< Pictures, or frames of clips, in one run.
    bool native_size = false;  ///< Each picture and clip runs at its own size, which `picture` leaves open.
    bool lines = true;         ///< Answers in words on stdout.
    bool name_sources = false; ///< Several inputs: lines say whose they are.
    bool json_to_stdout = false;
    bool conceal = false;   ///< Damage in a clip is no error.
    bool notes = true;      ///< What people should know is told.
    FrameRange range = {};  ///< Of each clip.
    int clips_at_once = 0;  ///< 0: as many as a batch has frames.
    std::size_t failed = 0; ///< Inputs that could not be read so far.
    ByteOutput* json = nullptr;
    Recorder* recorder = nullptr;
    ResultOutputs* results = nullptr;
    CropRunner* then = nullptr;                ///< A second network, on what boxes cover.
    std::map<std::string, Tensor> inputs = {}; ///< Of the network's other inputs, the same at each run.
  };
  Runner(Engine engine, Settings settings)
      : engine_(std::move(engine)), settings_(std::move(settings)), declared_(settings_.picture.spec) {}

  /// One that cannot be read is told, and an error where it is the only one; all other errors are thrown.
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
  Preprocess declared_; ///< Before a picture's own size was taken.
  RunTotals totals_;
  bool alone_ = true;             ///< There is but one input.
  std::optional<Context> stills_; ///< Made by the first image.
  std::optional<RunSizes> sizes_; ///< Of images of the size that is run now.
  std::set<std::string> told_;    ///< Why clips are decoded elsewhere than the network runs.
};

} // namespace lanner::tool
