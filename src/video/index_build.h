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

/// The index with the frames that decoding the stream once gives; goes into the cache.
std::shared_ptr<const StreamIndex> settle_index(const IndexRequest& request, const StreamIndex& index);

} // namespace lanner
