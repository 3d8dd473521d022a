#pragma once
// Where Python's videos are written to: a path, or an object with `write`.

#include <memory>
#include <optional>
#include <string>

#include <lanner/muxer.h>
#include <lanner/video_writer.h>

#include "calls/bindings.h"

namespace lanner::python {

struct VideoOutput {
  std::string path;             ///< Of a file; else empty.
  std::unique_ptr<Muxer> muxer; ///< Of an object that takes bytes.
};

/// An object's container is `options.format`, else what its name ends in, else MP4 in fragments.
VideoOutput to_video_output(nb::handle output, const MuxerOptions& options);
/// What is copied beside the pictures: `source` is a path, bytes, a file object or a VideoReader; `kinds` are
/// names like `audio`, None for all.
CopiedStreams to_copied(nb::handle source, nb::handle kinds, const Limits& limits);

} // namespace lanner::python
