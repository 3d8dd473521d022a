// Options of audio: how it is read, and how it is encoded beside pictures.

#include "options/common_rows.h"

namespace lanner {
namespace {

constexpr std::string_view no_audio_in_c = "the C interface has no audio";

void add_sample_rows(OptionTable<AudioReaderOptions>& table) {
  table.push_back(row({.name = "sample_rate",
                       .help = "samples a second to resample to",
                       .example = "16000",
                       .unset = "the stream's own",
                       .flag = "--sample-rate",
                       .metavar = "HZ",
                       .no_field = no_audio_in_c},
                      &AudioReaderOptions::sample_rate));
  table.push_back(row({.name = "num_channels",
                       .help = "channels to mix to",
                       .example = "1",
                       .unset = "the stream's own",
                       .flag = "--num-channels",
                       .metavar = "N",
                       .no_field = no_audio_in_c},
                      &AudioReaderOptions::channels));
  table.push_back(row<std::string, AudioReaderOptions>(
      {.name = "dtype",
       .help = "element type of samples: float32 (from -1 to 1), int16 or int32",
       .example = "i16",
       .no_flag = "WAV files hold what fits the stream",
       .no_field = no_audio_in_c,
       .kind = OptionKind::dtype},
      [](const AudioReaderOptions& options) { return std::string(to_string(options.dtype)); },
      [](AudioReaderOptions& options, const std::string& name) { options.dtype = parse_dtype(name); }));
}

void add_stream_rows(OptionTable<AudioReaderOptions>& table) {
  table.push_back(row({.name = "stream",
                       .help = "number of the stream in the container",
                       .unset = "the audio stream that a player plays",
                       .least = -1,
                       .no_flag = "the flag of video readers is used",
                       .no_field = no_audio_in_c},
                      &AudioReaderOptions::stream));
  table.push_back(row({.name = "raise_on_error",
                       .help = "damage in a range that is read is an error",
                       .details = "else what cannot be decoded is left out, and AudioSamples.damaged says so",
                       .flag_value = false, // As of video readers.
                       .no_flag = "the flag of video readers is used",
                       .no_field = no_audio_in_c},
                      &AudioReaderOptions::raise_on_error));
  OptionInfo limits = limits_info();
  limits.no_field = no_audio_in_c;
  table.push_back(row<Limits, AudioReaderOptions>(
      std::move(limits), [](const AudioReaderOptions& options) { return options.demuxer.limits; },
      [](AudioReaderOptions& options, const Limits& given) { options.demuxer.limits = given; }));
}

} // namespace

const OptionTable<AudioReaderOptions>& audio_reader_option_table() {
  static const OptionTable<AudioReaderOptions> table = [] {
    OptionTable<AudioReaderOptions> made;
    add_sample_rows(made);
    add_stream_rows(made);
    return made;
  }();
  return table;
}

const OptionTable<AudioEncoderOptions>& audio_encoder_option_table() {
  constexpr std::string_view copies = "`lanner transcode` copies audio";
  static const OptionTable<AudioEncoderOptions> table{
      row({.name = "audio_sample_rate",
           .help = "samples a second of the audio that is written",
           .details = "with any of these options the file has an audio stream",
           .example = "44100",
           .no_flag = copies,
           .no_field = no_audio_in_c},
          &AudioEncoderOptions::sample_rate),
      row({.name = "audio_channels",
           .help = "channels of the audio that is written",
           .example = "1",
           .no_flag = copies,
           .no_field = no_audio_in_c},
          &AudioEncoderOptions::channels),
      row({.name = "audio_codec",
           .help = "audio codec: aac, opus, flac, mp3, vorbis, ac3, alac, pcm_s16le, or the name of one of "
                   "FFmpeg's encoders",
           .example = "flac",
           .unset = "the container's usual one: opus for WebM, mp3 for AVI, else aac",
           .no_flag = copies,
           .no_field = no_audio_in_c},
          &AudioEncoderOptions::codec),
      row({.name = "audio_bit_rate",
           .help = "rate of the encoded audio",
           .example = "96k",
           .unset = "the encoder's default",
           .no_flag = copies,
           .no_field = no_audio_in_c},
          &AudioEncoderOptions::bit_rate),
  };
  return table;
}

} // namespace lanner
