#pragma once
// The audio of a clip as a WAV file: lanner decode -o x.wav.

#include <string>

#include "options/option_rows.h"
#include "options/reader_options.h"

namespace lanner::tool {

struct AudioOutputOptions {
  std::string input, output;
  GivenOptions audio; ///< From the table of audio readers.
};

/// Whether the output is one.
bool is_wav(const std::string& output);
/// Writes it and prints a line of what it is. Of `reader` the stream and --conceal count.
void decode_audio(const AudioOutputOptions& options, const ReaderOptions& reader);

} // namespace lanner::tool
