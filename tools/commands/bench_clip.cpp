#include "commands/bench_clip.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/video_reader.h>

#include "check.h"
#include "interrupt.h"
#include "options/limit_option.h"
#include "options/reader_options.h"
#include "output/console.h"
#include "output/json_text.h"

namespace lanner::tool {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

} // namespace

void bench_clip(const ClipBench& options) {
  VideoReaderOptions reader_options = to_reader_options(options.reader);
  reader_options.decoder.raise_on_error = false;
  reader_options.decoder.output.reset(); // Frames stay in the memory that they were decoded to.
  ProgressBar bar("bench decode");
  const auto start = Clock::now();
  ParallelDecoder decoder(open_path(options.path, given_limits()), reader_options,
                          {interrupt_token(), bar.callback()});
  const auto expected = static_cast<double>(std::max<std::int64_t>(0, decoder.size()));
  std::int64_t frames = 0;
  double first = 0;
  while ((frames == 0 || seconds_since(start) < options.seconds) && decoder.next()) {
    interrupt_token().check();
    if (frames == 0) first = seconds_since(start);
    bar.update(static_cast<double>(++frames), expected, "frames");
  }
  const double seconds = seconds_since(start);
  check(frames > 0, ErrorCode::bad_data, "{}: no frame could be decoded", options.path);
  const StreamInfo& stream = decoder.stream();
  const double rate = static_cast<double>(frames) / seconds;
  const Json json{
      {"clip", options.path},  {"decoder", decoder.description()}, {"reason", decoder.decoder_reason()},
      {"width", stream.width}, {"height", stream.height},          {"frames", frames},
      {"seconds", seconds},    {"first_frame_seconds", first},     {"frames_per_second", rate}};
  if (options.json)
    print_json(json);
  else
    print_text(fmt::format("{}: {}x{}, {} {} in {} (the first after {}): {:.1f} frames/s\n",
                           decoder.description(), stream.width, stream.height, frames,
                           frames == 1 ? "frame" : "frames", seconds_text(seconds), seconds_text(first),
                           rate));
}

} // namespace lanner::tool
