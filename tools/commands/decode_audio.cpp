#include "commands/decode_audio.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include <lanner/audio_reader.h>
#include <lanner/error.h>

#include "check.h"
#include "interrupt.h"
#include "options/limit_option.h"
#include "output/console.h"
#include "output/damage.h"
#include "output/wav_writer.h"

namespace lanner::tool {

namespace {

/// What holds the stream's samples as they are decoded, of what players read.
DType type_for(const std::string& sample_format) {
  if (sample_format.starts_with("s16") || sample_format.starts_with("u8")) return DType::i16;
  return sample_format.starts_with("s32") ? DType::i32 : DType::f32;
}

AudioReaderOptions options_for(const AudioOutputOptions& options, const ReaderOptions& reader,
                               const SourcePtr& source) {
  AudioReaderOptions result;
  options.audio.apply(result, audio_reader_option_table());
  result.stream = to_reader_options(reader).stream;
  result.raise_on_error = !reader.conceal();
  result.demuxer.cancel = interrupt_token();
  result.demuxer.limits = given_limits();
  const auto demuxer = open_demuxer(source, result.demuxer);
  const int stream = result.stream >= 0 ? result.stream : best_audio(*demuxer);
  if (stream >= 0) result.dtype = type_for(audio_format(*demuxer, stream).sample_format);
  return result;
}

/// FFmpeg mixes to the usual layouts.
std::string layout_of(const AudioReader& audio) {
  if (audio.channels() == audio.format().channels) return audio.format().channel_layout;
  return audio.channels() == 1 ? "mono" : audio.channels() == 2 ? "stereo" : "";
}

} // namespace

bool is_wav(const std::string& output) {
  std::string ending = std::filesystem::path(output).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending == ".wav";
}

void decode_audio(const AudioOutputOptions& options, const ReaderOptions& reader) {
  ProgressBar bar("decode");
  const Control control{interrupt_token(), bar.callback()};
  const SourcePtr source = open_path(options.input, given_limits());
  check(source->seekable(), ErrorCode::unsupported,
        "{}: is a pipe, and a WAV file begins with its length; write the clip into a file first",
        options.input);
  const AudioReaderOptions wanted = options_for(options, reader, source);
  AudioReader audio(source, wanted, control);
  const std::int64_t size = or_conceal(reader.conceal(), [&] { return audio.size(control); });
  check(size > 0, ErrorCode::bad_data, "no sample was decoded");
  WavWriter out(options.output,
                {.sample_rate = audio.sample_rate(),
                 .channels = audio.channels(),
                 .channel_layout = layout_of(audio),
                 .dtype = wanted.dtype},
                size);
  while (const auto chunk = or_conceal(reader.conceal(), [&] { return audio.next(control); })) {
    interrupt_token().check();
    out.write(chunk->data);
  }
  out.finish();
  print_text(fmt::format("{} Hz, {} channel{}, {} samples ({}) of {}\n", audio.sample_rate(),
                         audio.channels(), audio.channels() == 1 ? "" : "s", size,
                         clock_text(static_cast<double>(size) / audio.sample_rate()), audio.stream().codec));
}

} // namespace lanner::tool
