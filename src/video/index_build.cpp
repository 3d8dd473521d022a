#include "video/index_build.h"

#include <utility>

#include <lanner/log.h>

#include "video/frame_cursor.h"
#include "video/index_cache.h"
#include "video/stream_index.h"

namespace lanner {

namespace {

std::shared_ptr<const StreamIndex> settle(const IndexRequest& request, int stream, Rational time_base,
                                          std::vector<PacketEntry> packets) {
  log(LogLevel::info,
      "video: the packets do not say which frames there are; decoding the stream once to count them");
  VideoReaderOptions options;
  options.stream = stream;
  options.demuxer = request.demuxer;
  options.decoder = request.decoder;
  options.decoder.sei = false;
  FrameCursor counter(request.source, options);
  counter.set_stop({request.control.cancel, {}});
  std::vector<ShownFrame> frames;
  while (const auto tagged = counter.next()) {
    frames.push_back({tagged->ordinal, tagged->frame.pts, tagged->frame.duration});
    if (frames.size() % 64 == 0)
      request.control.report(
          {"index", static_cast<double>(frames.size()), static_cast<double>(packets.size()), "frames"});
  }
  fill_missing_times(frames);
  return settled_index(stream, time_base, std::move(packets), std::move(frames),
                       counter.decoder().device().kind);
}

// What one kind of device settled need not hold for another: they conceal damage in different ways.
std::shared_ptr<const StreamIndex> load(const IndexRequest& request, int stream) {
  auto index = IndexCache::of(request, stream).load();
  const std::optional<Device> device = request.decoder.device;
  const bool settled = index && content_of(*index)->settled;
  return settled && device && content_of(*index)->settled_on != device->kind ? nullptr : index;
}

} // namespace

std::shared_ptr<const StreamIndex> obtain_index(const IndexRequest& request) {
  check(request.source != nullptr, ErrorCode::invalid_argument, "index: no source was given");
  check(request.source->seekable(), ErrorCode::unsupported,
        "{}: random access and counting need a source that can go back; write the stream to a file first",
        request.source->name());
  if (request.stream >= 0)
    if (auto index = load(request, request.stream)) return index;
  PacketCursor cursor(request.source, request.demuxer, request.stream, false);
  const StreamInfo info = cursor.stream();
  if (request.stream < 0)
    if (auto index = load(request, info.index)) return index;
  const IndexCache cache = IndexCache::of(request, info.index); // As the file is before it is read.
  PacketList list = cursor.read_list(request.control);
  auto index = list.frames_are_certain ? predicted_index(info.index, info.time_base, std::move(list.packets))
                                       : settle(request, info.index, info.time_base, std::move(list.packets));
  cache.store(*index);
  return index;
}

std::shared_ptr<const StreamIndex> settle_index(const IndexRequest& request, const StreamIndex& index) {
  auto settled = settle(request, index.stream, index.time_base, content_of(index)->table.packets());
  IndexCache::of(request, index.stream).store(*settled);
  return settled;
}

std::shared_ptr<const StreamIndex> build_index(SourcePtr source, const IndexOptions& options,
                                               const Control& control) {
  IndexRequest request;
  request.source = std::move(source);
  request.demuxer = options.demuxer;
  request.stream = options.stream;
  request.cache = options.cache;
  request.control = control;
  return obtain_index(request);
}

} // namespace lanner
