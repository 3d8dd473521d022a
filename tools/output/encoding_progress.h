#pragma once
// Progress of transcoding as lines that programs read.

#include <fstream>
#include <memory>
#include <string>

#include <lanner/transcode.h>

#include "output/byte_output.h"

namespace lanner::tool {

/// The lines of ffmpeg's -progress: `key=value`, a block each half second, which `progress=continue` or
/// `progress=end` ends.
std::string progress_lines(const TranscodeProgress& progress);

/// Writes them to a file, a pipe or, named `-`, standard output, at once.
class ProgressOutput {
public:
  explicit ProgressOutput(const std::string& path);
  void write(const TranscodeProgress& progress);

private:
  std::string path_;
  std::ofstream file_;
  std::unique_ptr<ByteOutput> direct_; ///< Of what is no file.
};

} // namespace lanner::tool
