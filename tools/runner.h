#pragma once
// Pictures and clips through a network, and their answers to where they are wanted.

#include <optional>
#include <string>

#include <lanner/engine.h>
#include <lanner/output.h>
#include <lanner/pipeline.h>
#include <lanner/source.h>

#include "answer_lines.h"
#include "console.h"
#include "preprocess_options.h"
#include "report/recorder.h"
#include "task.h"

namespace lanner::tool {

/// Where the answers to one input go.
struct RunInput {
  std::string path;
  bool still = false;
  std::string output; ///< Marked picture or clip; empty: none.
  SourcePtr pipe;     ///< What cannot be opened a second time; null for files.
};

/// What one run has done.
struct RunTotals {
  std::int64_t pictures = 0, clips = 0, frames = 0;
  double seconds = 0;
};

/// Runs inputs one by one. Interrupted by Ctrl-C, which leaves no output under its final name.
class Runner {
public:
  struct Settings {
    PictureInput picture;
    TaskReader reader;
    int batch = 1;             ///< Frames of a clip in one run.
    int still_batch = 1;       ///< What a network of fixed batch size wants of a single image.
    bool lines = true;         ///< Answers in words on stdout.
    bool name_sources = false; ///< Several inputs: lines say whose they are.
    bool json_to_stdout = false;
    bool conceal = false; ///< Damage in a clip is no error.
    OutputFile* json = nullptr;
    Recorder* recorder = nullptr;
  };
  Runner(Engine engine, Settings settings) : engine_(std::move(engine)), settings_(std::move(settings)) {}

  void run(const RunInput& input);
  const RunTotals& totals() const { return totals_; }

private:
  void run_still(const RunInput& input);
  void run_clip(const RunInput& input);
  void say(const PictureAnswers& picture);
  Trace trace() const { return settings_.recorder ? settings_.recorder->trace() : Trace(); }

  Engine engine_;
  Settings settings_;
  RunTotals totals_;
  std::optional<Context> stills_; ///< Made by the first image.
};

} // namespace lanner::tool
