#include "video/index/index_build.h"

#include <utility>

#include <lanner/log.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "video/index/index_cache.h"
#include "video/index/source_identity.h"
#include "video/index/stream_index.h"
#include "video/read/frame_cursor.h"

namespace lanner {

namespace {

/// One stream whose index is made.
struct Indexed {
  int stream = 0;
  Rational time_base;
  std::string identity; ///< Of the source, before it was read.
};

std::shared_ptr<const StreamIndex> settle(const IndexRequest& request, const Indexed& indexed,
                                          std::vector<PacketEntry> packets) {
  log_message(LogLevel::info,
              "video: the packets do not say which frames there are; decoding the stream once to count them");
  VideoReaderOptions options;
  options.stream = indexed.stream;
  options.demuxer = request.demuxer;
  options.decoder = request.decoder;
  options.decoder.sei = false;
  options.decoder.raise_on_error = false; // Who reads the damaged frame is told of it, with its number.
  FrameCursor counter(request.source, options);
  counter.set_stop({request.control.cancel, {}});
  std::vector<ShownFrame> frames;
  while (const auto tagged = counter.next()) {
    frames.push_back({tagged->ordinal, tagged->frame.pts, tagged->frame.duration});
    if (frames.size() % 64 == 0)
      request.control.report(
          {"index", static_cast<double>(frames.size()), static_cast<double>(packets.size()), "frames"});
  }
  if (!frames.empty() && frames.back().ordinal >= 0 && frames.back().pts != no_pts &&
      static_cast<std::size_t>(frames.back().ordinal) < packets.size())
    frames.back().duration = packets[static_cast<std::size_t>(frames.back().ordinal)].duration;
  fill_missing_times(frames, packets.empty() ? no_pts : packets.front().dts);
  return settled_index(indexed.stream, indexed.time_base, std::move(packets), std::move(frames),
                       counter.decoder().device().kind, indexed.identity);
}

// What one kind of device settled need not hold for another: they conceal damage in different ways.
std::shared_ptr<const StreamIndex> load(const IndexRequest& request, int stream,
                                        const std::string& identity) {
  auto index = IndexCache::of(request, stream, identity).load();
  const std::optional<Device> device = request.decoder.device;
  const bool settled = index && content_of(*index)->settled;
  return settled && device && content_of(*index)->settled_on != device->kind ? nullptr : index;
}

} // namespace

std::shared_ptr<const StreamIndex> obtain_index(const IndexRequest& request) {
  const DeadlineScope deadline(request.demuxer.limits);
  check(request.source != nullptr, ErrorCode::invalid_argument, "index: no source was given");
  check(request.source->seekable(), ErrorCode::unsupported,
        "{}: random access and counting need a source that can go back; write the stream to a file first",
        request.source->name());
  const std::string identity = source_identity(*request.source);
  if (request.stream >= 0)
    if (auto index = load(request, request.stream, identity)) return index;
  PacketCursor cursor(request.source, request.demuxer, request.stream, false);
  const Indexed indexed{cursor.stream().index, cursor.stream().time_base, identity};
  if (request.stream < 0)
    if (auto index = load(request, indexed.stream, identity)) return index;
  const IndexCache cache = IndexCache::of(request, indexed.stream, identity);
  PacketList list = cursor.read_list(request.control);
  auto index = list.frames_are_certain
                   ? predicted_index(indexed.stream, indexed.time_base, std::move(list.packets), identity)
                   : settle(request, indexed, std::move(list.packets));
  cache.store(*index);
  return index;
}

// The packets are read again: those of `index` may be what does not hold.
std::shared_ptr<const StreamIndex> settle_index(const IndexRequest& request, const StreamIndex& index) {
  check(request.source->seekable(), ErrorCode::invalid_argument,
        "{}: its packets are not those of the index that was given; expected that of the same clip, or none",
        request.source->name());
  const Indexed indexed{index.stream, index.time_base, source_identity(*request.source)};
  const ContentPtr before = content_of(index);
  check(indexed.identity == before->identity, ErrorCode::invalid_argument,
        "{}: the file was changed while it was read; open it again", request.source->name());
  PacketCursor cursor(request.source, request.demuxer, index.stream, false);
  PacketList list = cursor.read_list(request.control);
  const bool contradicted = list.packets == before->table.packets();
  auto settled =
      list.frames_are_certain && !contradicted
          ? predicted_index(indexed.stream, indexed.time_base, std::move(list.packets), indexed.identity)
          : settle(request, indexed, std::move(list.packets));
  IndexCache::of(request, index.stream, indexed.identity).store(*settled);
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
