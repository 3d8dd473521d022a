#pragma once
// Options of subcommands that decode.

#include <cstdint>
#include <string>
#include <vector>

#include <lanner/video_reader.h>

#include "options/option_rows.h"

namespace lanner::tool {

struct ReaderOptions {
  GivenOptions given; ///< From the table of reader options.

  ReaderOptions() { given.set("device", {"auto"}); }
  bool conceal() const { return given.has("raise_on_error"); }
  /// Further settings of the reader: device and threads.
  void follow(const GivenOptions& others);
};

/// Frames are in host memory, stored orientation unless --rotate is given. Ctrl-C cancels.
VideoReaderOptions to_reader_options(const ReaderOptions& options);
/// `0:100:5` as of a list in Python, numbers, or several of these: `0,7,100:200,-1`. Throws
/// Error{invalid_argument} for numbers that the clip does not have.
std::vector<std::int64_t> parse_frames(const std::string& text, std::int64_t size);

} // namespace lanner::tool
