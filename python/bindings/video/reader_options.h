#pragma once
// What VideoReader and ParallelDecoder are opened with.

#include <span>

#include <lanner/video_reader.h>

#include "calls/bindings.h"
#include "calls/keywords.h"

namespace lanner::python {

std::span<const Keyword> reader_keywords();
VideoReaderOptions reader_options(const nb::kwargs& keywords);

/// Opens a video without the GIL: `make(source, options, control)`.
template<typename Make>
auto open_video(nb::handle source, const nb::kwargs& keywords, Make&& make) {
  VideoReaderOptions options = reader_options(keywords);
  SourcePtr bytes = to_source(source, options.demuxer.limits);
  Interruptible work;
  return work.run([&] {
    options.demuxer.cancel = work.control().cancel;
    return make(std::move(bytes), options, work.control());
  });
}

/// How a video is made again in another process: from its source and options.
nb::tuple reduce_video(nb::handle self, nb::handle source, nb::handle options);

/// The docstring of both, with every keyword.
std::string reader_docs();

} // namespace lanner::python
