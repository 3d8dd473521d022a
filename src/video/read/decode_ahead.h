#pragma once
// A reader whose frames are all wanted, in order.

#include <cstddef>

#include <lanner/video_reader.h>

namespace lanner {

/// On a GPU next() is served by threads from here on that keep all decoding engines at work, each on spans of
/// its own, as ParallelDecoder does: the frames are the same. `readers` that are at work share engines and
/// memory. Elsewhere nothing changes: there a decoder has threads of its own, and frames far ahead would only
/// take memory from the caller.
void decode_ahead(VideoReader& reader, std::size_t readers);

} // namespace lanner
