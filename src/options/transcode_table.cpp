// Options of transcoding: what is written beside the encoder's own.

#include <lanner/transcode.h>

#include "options/rows.h"

namespace lanner {
namespace {

constexpr std::string_view no_transcoder = "the C interface has no transcoder";

template<typename Member>
OptionRow<TranscodeOptions> copied(std::string_view name, std::string_view flag, std::string_view help,
                                   std::string_view flag_help, Member member) {
  return row({.name = name,
              .help = help,
              .flag = flag,
              .flag_value = false,
              .flag_help = flag_help,
              .no_field = no_transcoder},
             member);
}

void add_copied(OptionTable<TranscodeOptions>& table) {
  for (OptionRow<TranscodeOptions>& row : OptionTable<TranscodeOptions>{
           copied("audio", "--no-audio", "copy audio streams unchanged", "leave out audio",
                  &TranscodeOptions::audio),
           copied("subtitles", "--no-subtitles",
                  "copy subtitles as they are; text that the container cannot hold is converted",
                  "leave out subtitles", &TranscodeOptions::subtitles),
           copied("attachments", "--no-attachments", "copy attached files, like fonts, and cover pictures",
                  "leave out attached files and cover pictures", &TranscodeOptions::attachments),
           copied("chapters", "--no-chapters", "copy chapters", "leave out chapters",
                  &TranscodeOptions::chapters),
           copied("tags", "--no-tags", "copy tags, like title and language", "leave out the clip's tags",
                  &TranscodeOptions::tags)})
    table.push_back(std::move(row));
}

OptionTable<TranscodeOptions> own_rows() {
  return {
      row<std::string, TranscodeOptions>(
          {.name = "container",
           .help = "container by FFmpeg's name: mp4, matroska, mov, webm, avi, mpegts and others",
           .example = "mp4",
           .unset = "by the file's extension",
           .flag = "--format",
           .metavar = "NAME",
           .no_field = no_transcoder},
          [](const TranscodeOptions& options) { return options.muxer.format; },
          [](TranscodeOptions& options, const std::string& name) { options.muxer.format = name; }),
      row<std::string, TranscodeOptions>(
          {.name = "on_size_change",
           .help = "what happens to pictures whose size differs from the first one's: scale stretches them, "
                   "pad keeps their aspect ratio and adds black bars, segment begins another file "
                   "(out_2.mp4), error fails",
           .example = "pad",
           .flag = "--on-size-change",
           .metavar = "WORD",
           .choices = {"scale", "pad", "segment", "error"},
           .no_field = no_transcoder},
          [](const TranscodeOptions& options) { return std::string(to_string(options.on_size_change)); },
          [](TranscodeOptions& options, const std::string& name) {
            options.on_size_change = parse_size_change(name);
          }),
      row({.name = "keep_rotation",
           .help = "encode a rotated clip as it is stored, and mark it for players to rotate; else its "
                   "frames are rotated upright",
           .flag = "--keep-rotation",
           .no_field = no_transcoder},
          &TranscodeOptions::keep_rotation),
      row({.name = "deinterlace",
           .help = "deinterlace interlaced frames, one output frame for each",
           .flag = "--deinterlace",
           .no_field = no_transcoder},
          &TranscodeOptions::deinterlace),
      row<NamedTexts, TranscodeOptions>(
          {.name = "metadata",
           .help = "tags of the file, like title; an empty text removes one",
           .example = "title=Harbour",
           .flag = "--metadata",
           .metavar = "KEY=TEXT",
           .empty_texts = true,
           .no_field = no_transcoder},
          [](const TranscodeOptions& options) {
            return NamedTexts(options.muxer.metadata.begin(), options.muxer.metadata.end());
          },
          [](TranscodeOptions& options, const NamedTexts& tags) {
            for (const auto& [key, text] : tags) options.muxer.metadata[key] = text;
          }),
  };
}

void add_container_rows(OptionTable<TranscodeOptions>& table) {
  table.push_back(row<bool, TranscodeOptions>(
      {.name = "fragmented",
       .help = "write MP4 and MOV in fragments, which can be played while the file grows",
       .flag = "--fragmented",
       .no_field = no_transcoder},
      [](const TranscodeOptions& options) { return options.muxer.fragmented; },
      [](TranscodeOptions& options, bool fragmented) { options.muxer.fragmented = fragmented; }));
  table.push_back(row<std::int32_t, TranscodeOptions>(
      {.name = "plays",
       .help = "how often a GIF, APNG or WebP is played; 0: without end",
       .unset = "without end",
       .flag = "--plays",
       .most = 65535,
       .no_field = no_transcoder},
      [](const TranscodeOptions& options) { return options.muxer.plays; },
      [](TranscodeOptions& options, std::int32_t plays) { options.muxer.plays = plays; }));
}

} // namespace

const OptionTable<TranscodeOptions>& transcode_option_table() {
  static const OptionTable<TranscodeOptions> table = [] {
    OptionTable<TranscodeOptions> made = own_rows();
    add_container_rows(made);
    add_copied(made);
    return made;
  }();
  return table;
}

} // namespace lanner
