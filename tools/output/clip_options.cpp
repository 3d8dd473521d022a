#include "output/clip_options.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include <lanner/encoder.h>
#include <lanner/error.h>
#include <lanner/option_table.h>

#include "check.h"
#include "input/containers.h"
#include "output/outputs.h"

namespace lanner::tool {
namespace {

/// What does not change a clip: without it there is nothing to leave out.
constexpr std::array left_out{"audio", "subtitles", "attachments", "chapters", "tags"};

/// The flag of the first option that was given, under the name that `run` has for it; empty: none was.
template<typename Options>
std::string given_flag(const GivenOptions& given, const OptionTable<Options>& table) {
  for (const OptionRow<Options>& row : table) {
    if (!given.has(row.info.name) || std::ranges::find(left_out, row.info.name) != left_out.end()) continue;
    return std::string(row.info.other_flag.empty() ? row.info.flag : row.info.other_flag);
  }
  return {};
}

/// Whether each machine's encoders of this codec take pictures of 64x64.
bool is_usual(const std::string& codec) {
  constexpr std::array usual{"h264",  "hevc",  "h265", "av1", "vp9", "vp8",  "mpeg4",
                             "mpeg2", "mjpeg", "ffv1", "png", "gif", "apng", "webp"};
  return std::ranges::find(usual, codec) != usual.end();
}

/// Opens the encoder for small pictures, so that what it refuses is told before the work.
void check_encoder(EncoderOptions options) {
  options.width = options.height = options.device.is_host() ? 64 : 256; // The least of NVENC is above 64.
  check(options.tuning != Tuning::lossless || !format_info(options.format).yuv, ErrorCode::invalid_argument,
        "--tuning lossless: annotated pictures are RGB, of which {} loses some; give --pixel-format rgb24",
        to_string(options.format));
  try {
    create_encoder(options);
  } catch (const Error& error) {
    const bool of_size = error.message().find("refused 64x64") != std::string::npos;
    if (is_usual(options.codec) || !of_size) throw;
  }
}

/// FFmpeg's name of the container; empty where only its muxer knows.
std::string format_of(const RunInput& input) {
  const Container* container =
      input.format.empty() ? container_of(input.output) : &container_named(input.format);
  return container ? std::string(container->format) : std::string();
}

bool is_raw(const RunInput& input) {
  return format_of(input) == "yuv4mpegpipe";
}

} // namespace

void ClipOptions::add(Command& command) {
  OptionRows(command, encoder_)
      .heading("How annotated clips are written")
      .other_flags()
      .more([](const OptionInfo& info) {
        return info.name == "codec" ? "without it the container's usual one" : "";
      })
      .add(writer_option_table());
  OptionRows(command, clip_)
      .heading("How annotated clips are written")
      .add(transcode_option_table(), {"on_size_change", "audio", "subtitles", "attachments", "chapters",
                                      "tags", "metadata", "fragmented", "plays"});
}

void ClipOptions::check_used(const std::string& output, const std::vector<RunInput>& inputs) const {
  std::string flag = given_flag(encoder_, writer_option_table());
  if (flag.empty()) flag = given_flag(clip_, transcode_option_table());
  if (flag.empty()) return;
  check(!output.empty(), ErrorCode::invalid_argument, "{}: is of the annotated clip; give -o", flag);
  const auto is_clip = [](const RunInput& input) { return input.form == OutputForm::clip; };
  check(std::ranges::any_of(inputs, is_clip), ErrorCode::invalid_argument,
        "{}: is of annotated clips, and -o {} takes images", flag, output);
  for (const RunInput& input : inputs)
    check(!is_clip(input) || !is_raw(input), ErrorCode::invalid_argument,
          "{}: -o {} takes raw pixels, which are written as they are; leave it out", flag, input.output);
}

void ClipOptions::resolve(const std::string& output, std::vector<RunInput>& inputs) const {
  check_used(output, inputs);
  auto writing = std::make_shared<TranscodeOptions>();
  encoder_.apply(writing->encoder, writer_option_table());
  if (encoder_.has("format")) writing->format = writing->encoder.format;
  clip_.apply(*writing, transcode_option_table());
  std::set<std::string> checked;
  for (RunInput& input : inputs) {
    if (input.form != OutputForm::clip) continue;
    input.writing = writing;
    const std::string container = format_of(input);
    if (!encoder_.empty() && checked.insert(container).second)
      check_encoder(annotated_encoder(container, *writing));
  }
}

} // namespace lanner::tool
