#pragma once
// How a reader comes by an index.

#include <memory>

#include <lanner/video_reader.h>

namespace lanner {

struct IndexRequest {
  SourcePtr source;
  DemuxerOptions demuxer;
  DecoderOptions decoder;
  int stream = -1;
  bool cache = true;
  Control control;
};

/// From the cache, else from all packets of the stream; settled by decoding where these leave a doubt.
std::shared_ptr<const StreamIndex> obtain_index(const IndexRequest& request);

/// What takes the place of an index that decoding has contradicted, in the cache too: its packets are read
/// again and, where they are the same, the stream is decoded once. Throws Error{invalid_argument} where the
/// source is no longer the index's.
std::shared_ptr<const StreamIndex> settle_index(const IndexRequest& request, const StreamIndex& index);

} // namespace lanner
