#pragma once
// Options that every subcommand that decodes takes.

#include <string>

#include <lanner/video_reader.h>

#include "command_line.h"

namespace lanner::tool {

struct ReaderOptions {
  std::string device = "auto", format;
  int threads = 0, decoders = 0, stream = -1;
  bool conceal = false;
  bool rotate = false; ///< Else frames are as they are stored.
};

void add_reader_options(Command& command, ReaderOptions& options);
/// Frames come in host memory. Cancelled by Ctrl-C.
VideoReaderOptions to_reader_options(const ReaderOptions& options);
/// `0:100:5` as of a list in Python, numbers, or several of these: `0,7,100:200,-1`. Throws
/// Error{invalid_argument} for numbers that the clip does not have.
std::vector<std::int64_t> parse_frames(const std::string& text, std::int64_t size);

} // namespace lanner::tool
