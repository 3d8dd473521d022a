#include "video/nvdec/parser.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace lanner::nvdec {
namespace {

// Pictures that the parser may hold back beyond what reordering needs, so that the hardware is decoding the
// next ones while one is waited for.
constexpr unsigned display_delay = 4;

} // namespace

Parser::Parser(ParserEvents& events, cudaVideoCodec codec, Latency latency) : events_(events) {
  CUVIDPARSERPARAMS parameters{};
  parameters.CodecType = codec;
  parameters.ulMaxNumDecodeSurfaces = 1; // The sequence's own number replaces it.
  parameters.ulClockRate = clock_rate;
  parameters.ulErrorThreshold = 100; // Damaged pictures are concealed and told, not dropped.
  parameters.ulMaxDisplayDelay = latency == Latency::low ? 0 : display_delay;
  parameters.pUserData = this;
  parameters.pfnSequenceCallback = sequence;
  parameters.pfnDecodePicture = picture;
  parameters.pfnDisplayPicture = display;
  parameters.pfnGetOperatingPoint = operating_point;
  check(api().create_parser(&handle_, &parameters), "cuvidCreateVideoParser");
}

Parser::~Parser() {
  static_cast<void>(api().destroy_parser(handle_));
}

void Parser::parse(std::span<const std::byte> piece, std::int64_t number, bool whole_picture) {
  CUVIDSOURCEDATAPACKET packet{};
  packet.flags = CUVID_PKT_TIMESTAMP;
  if (whole_picture) packet.flags |= CUVID_PKT_ENDOFPICTURE;
  packet.payload = reinterpret_cast<const unsigned char*>(piece.data());
  packet.payload_size = static_cast<tcu_ulong>(piece.size());
  packet.timestamp = number * stride;
  give(packet);
}

void Parser::end() {
  CUVIDSOURCEDATAPACKET packet{};
  packet.flags = CUVID_PKT_ENDOFSTREAM;
  give(packet);
}

void Parser::give(CUVIDSOURCEDATAPACKET& packet) {
  const CUresult status = api().parse(handle_, &packet);
  if (std::exception_ptr failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
  check(status, "cuvidParseVideoData");
}

std::int64_t Parser::number_of(CUvideotimestamp timestamp) noexcept {
  return timestamp >= 0 && timestamp % stride == 0 ? timestamp / stride : -1;
}

template<typename Body>
int Parser::guarded(Body&& body) noexcept {
  if (failure_) return 0;
  try {
    return body();
  } catch (...) {
    failure_ = std::current_exception();
    return 0;
  }
}

int CUDAAPI Parser::sequence(void* self, CUVIDEOFORMAT* format) {
  auto& parser = *static_cast<Parser*>(self);
  return parser.guarded([&] {
    CUVIDEOFORMATEX whole{};
    whole.format = *format;
    // Behind the format lies the sequence header, as much of it as there is.
    const std::size_t extra = std::min<std::size_t>(format->seqhdr_data_length, sizeof whole.raw_seqhdr_data);
    const auto* behind = reinterpret_cast<const unsigned char*>(format) + offsetof(CUVIDEOFORMATEX, av1);
    std::memcpy(whole.raw_seqhdr_data, behind, extra);
    return parser.events_.on_sequence(whole);
  });
}

int CUDAAPI Parser::picture(void* self, CUVIDPICPARAMS* parameters) {
  auto& parser = *static_cast<Parser*>(self);
  return parser.guarded([&] {
    parser.events_.on_picture(*parameters);
    return 1;
  });
}

int CUDAAPI Parser::display(void* self, CUVIDPARSERDISPINFO* info) {
  auto& parser = *static_cast<Parser*>(self);
  return parser.guarded([&] {
    if (info) parser.events_.on_display(*info);
    return 1;
  });
}

// The operating point with most layers; the first of equals, which is the best by AV1 7.18.
int CUDAAPI Parser::operating_point(void*, CUVIDOPERATINGPOINTINFO* info) {
  if (info->codec != cudaVideoCodec_AV1) return 0;
  const int count = std::min<int>(info->av1.operating_points_cnt, 32);
  int best = 0;
  for (int i = 1; i < count; ++i)
    if (std::popcount(info->av1.operating_points_idc[i]) >
        std::popcount(info->av1.operating_points_idc[best]))
      best = i;
  return best;
}

} // namespace lanner::nvdec
