#include "fake_libraries/fake_nvcuvid.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "fake_driver/fake_cuda.h"
#include "video/nvdec/nvcuvid_api.h"

extern "C" int cuMemAlloc_v2(std::uint64_t*, std::size_t);
extern "C" int cuMemFree_v2(std::uint64_t);

namespace {

constexpr CUresult ok = CUDA_SUCCESS;
constexpr auto invalid_value = static_cast<CUresult>(1), not_in_context = static_cast<CUresult>(201);
constexpr std::size_t packet_bytes = 16;

struct World {
  std::mutex mutex;
  std::size_t calls = 0, fail_at = 0;
  int fail_with = 0;
  long sessions = 0, parsers = 0, mapped = 0, made = 0, headers = 0;
  std::string log, shown;
};

World& world() {
  static auto* only = new World;
  return *only;
}

CUresult enter(const char* name) {
  if (fake_cuda_contexts() == 0) return not_in_context;
  World& w = world();
  const std::lock_guard lock(w.mutex);
  ++w.calls;
  w.log += name;
  w.log += '\n';
  if (w.fail_at == 0) return ok;
  --w.fail_at;
  if (w.fail_at > 0) return ok;
  return static_cast<CUresult>(w.fail_with);
}

#define LANNER_FAKE_ENTER(name)                                                                              \
  if (const CUresult status = enter(name); status != ok) return status

void count(long World::*what, long by) {
  const std::lock_guard lock(world().mutex);
  world().*what += by;
}

fake::Picture read(const unsigned char* bytes) {
  fake::Picture p;
  p.key = bytes[1] & 1;
  p.hidden = bytes[1] & 2;
  p.damaged = bytes[1] & 4;
  p.interlaced = bytes[1] & 8;
  p.pair = bytes[1] & 16;
  p.second_field = bytes[1] & 32;
  p.full_range = bytes[1] & 64;
  p.order = bytes[2];
  p.held = bytes[3];
  p.seed = bytes[4];
  p.crop = bytes[5];
  p.chroma = bytes[6];
  p.depth = bytes[7];
  p.width = bytes[8] << 8 | bytes[9];
  p.height = bytes[10] << 8 | bytes[11];
  p.matrix = bytes[12];
  return p;
}

unsigned coded(int size, int crop) {
  return static_cast<unsigned>((size + crop + 15) / 16 * 16);
}

bool same_sequence(const fake::Picture& a, const fake::Picture& b) {
  return a.width == b.width && a.height == b.height && a.crop == b.crop && a.chroma == b.chroma &&
         a.depth == b.depth && a.matrix == b.matrix && a.full_range == b.full_range;
}

// --- Parser ---

struct Waiting {
  fake::Picture picture;
  int index = 0;
  CUvideotimestamp time = 0;
};

struct Parser {
  CUVIDPARSERPARAMS parameters{};
  std::optional<fake::Picture> sequence;
  std::optional<Waiting> unfinished; ///< Its packet has arrived; the next one shows that it is complete.
  std::vector<Waiting> shown;        ///< Decoded, not yet displayed.
  std::vector<bool> used;
  std::vector<CUvideotimestamp> times; ///< Of pictures not yet displayed, where pictures are reordered.
  int current = -1;
  bool reorders() const {
    return parameters.CodecType != cudaVideoCodec_VP9 && parameters.CodecType != cudaVideoCodec_VP8;
  }

  bool begin(const fake::Picture& p);
  bool decode();
  bool show_down_to(std::size_t rest);
};

bool Parser::begin(const fake::Picture& p) {
  if (sequence && same_sequence(*sequence, p)) return true;
  if (!show_down_to(0)) return false;
  CUVIDEOFORMAT format{};
  format.codec = parameters.CodecType;
  format.progressive_sequence = !p.interlaced;
  format.bit_depth_luma_minus8 = format.bit_depth_chroma_minus8 = static_cast<unsigned char>(p.depth - 8);
  format.min_num_decode_surfaces = static_cast<unsigned char>(p.held + 2);
  format.coded_width = coded(p.width, p.crop);
  format.coded_height = coded(p.height, p.crop);
  if (parameters.CodecType == cudaVideoCodec_MPEG2) { // Like the real one: as in the sequence header.
    format.coded_width = static_cast<unsigned>(p.width + p.crop);
    format.coded_height = static_cast<unsigned>(p.height + p.crop);
  }
  format.display_area = {p.crop, p.crop, p.crop + p.width, p.crop + p.height};
  format.chroma_format = static_cast<cudaVideoChromaFormat>(p.chroma);
  format.display_aspect_ratio = {p.width, p.height};
  format.video_signal_description.video_full_range_flag = p.full_range;
  format.video_signal_description.matrix_coefficients = p.matrix;
  format.video_signal_description.color_primaries = p.matrix;
  format.video_signal_description.transfer_characteristics = p.matrix;
  const int surfaces = parameters.pfnSequenceCallback(parameters.pUserData, &format);
  if (surfaces == 0) return false;
  used.assign(static_cast<std::size_t>(surfaces), false);
  sequence = p;
  return true;
}

bool Parser::decode() {
  if (!unfinished) return true;
  Waiting next = *std::exchange(unfinished, std::nullopt);
  const fake::Picture& p = next.picture;
  if (p.key && !begin(p)) return false;
  if (!sequence) return true; // Decoding starts at a key frame.
  if (!p.second_field) {
    const auto free = std::find(used.begin(), used.end(), false);
    if (free == used.end()) return false;
    current = static_cast<int>(free - used.begin());
  }
  next.index = current;
  CUVIDPICPARAMS picture{};
  const std::vector<std::byte> bytes = p.bytes();
  picture.CurrPicIdx = next.index;
  picture.second_field = p.second_field;
  picture.nBitstreamDataLen = static_cast<unsigned>(bytes.size());
  picture.pBitstreamData = reinterpret_cast<const unsigned char*>(bytes.data());
  picture.intra_pic_flag = p.key;
  if (!parameters.pfnDecodePicture(parameters.pUserData, &picture)) return false;
  if (p.hidden || p.second_field) return true;
  used[static_cast<std::size_t>(next.index)] = true;
  // A new key frame comes after all earlier ones.
  if (p.key && !show_down_to(0)) return false;
  shown.push_back(next);
  times.push_back(next.time);
  return show_down_to(std::max<std::size_t>(p.held, std::min(parameters.ulMaxDisplayDelay, 1u)));
}

bool Parser::show_down_to(std::size_t rest) {
  while (shown.size() > rest) {
    const auto first = std::min_element(shown.begin(), shown.end(), [](const Waiting& a, const Waiting& b) {
      return a.picture.order < b.picture.order;
    });
    const Waiting next = *first;
    shown.erase(first);
    CUVIDPARSERDISPINFO info{};
    info.picture_index = next.index;
    info.progressive_frame = !next.picture.interlaced;
    info.top_field_first = next.picture.interlaced;
    info.timestamp = next.time;
    if (reorders()) { // Like the real one: in ascending order, whatever they were.
      const auto least = std::min_element(times.begin(), times.end());
      info.timestamp = *least;
      times.erase(least);
    }
    if (!parameters.pfnDisplayPicture(parameters.pUserData, &info)) return false;
    used[static_cast<std::size_t>(next.index)] = false;
  }
  return true;
}

// --- Decoder ---

struct Decoder {
  CUVIDDECODECREATEINFO info{};
  std::map<int, fake::Picture> pictures;
  std::map<std::uint64_t, std::size_t> mapped;
};

unsigned plane_count(const Decoder& decoder) {
  return decoder.info.ChromaFormat == cudaVideoChromaFormat_444 ? 3 : 2;
}

void fill(const Decoder& decoder, const fake::Picture& p, unsigned char* to, unsigned pitch) {
  const auto width = static_cast<unsigned>(decoder.info.ulTargetWidth),
             height = static_cast<unsigned>(decoder.info.ulTargetHeight), depth = unsigned{p.depth};
  for (unsigned plane = 0; plane < plane_count(decoder); ++plane) {
    const bool quarter = plane > 0 && decoder.info.ChromaFormat == cudaVideoChromaFormat_420;
    for (unsigned y = 0; y < (quarter ? height / 2 : height); ++y)
      for (unsigned x = 0; x < width; ++x) {
        const unsigned value = fake::sample(p.seed, plane, x, y, depth) << (depth > 8 ? 16 - depth : 0);
        unsigned char* row = to + std::size_t{plane * height + y} * pitch;
        if (depth > 8)
          row[2 * x] = static_cast<unsigned char>(value),
                  row[2 * x + 1] = static_cast<unsigned char>(value >> 8);
        else
          row[x] = static_cast<unsigned char>(value);
      }
  }
}

bool sane(const CUVIDDECODECREATEINFO& info) {
  return info.ulWidth <= info.ulMaxWidth && info.ulHeight <= info.ulMaxHeight &&
         info.ulTargetWidth % 2 == 0 && info.ulTargetHeight % 2 == 0 && info.ulNumDecodeSurfaces > 0 &&
         info.ulNumOutputSurfaces > 0 && info.display_area.right > info.display_area.left;
}

} // namespace

std::vector<std::byte> fake::Picture::bytes() const {
  const auto low = [](int value) { return static_cast<std::byte>(value & 255); };
  std::vector<std::byte> b(packet_bytes);
  b[0] = std::byte{'F'};
  b[1] = low(key | hidden << 1 | damaged << 2 | interlaced << 3 | pair << 4 | second_field << 5 |
             full_range << 6);
  b[2] = low(order), b[3] = low(held), b[4] = low(seed), b[5] = low(crop), b[6] = low(chroma),
  b[7] = low(depth);
  b[8] = low(width >> 8), b[9] = low(width), b[10] = low(height >> 8), b[11] = low(height),
  b[12] = low(matrix);
  return b;
}

extern "C" {

std::size_t fake_nvcuvid_calls() {
  const std::lock_guard lock(world().mutex);
  return world().calls;
}
void fake_nvcuvid_fail(std::size_t number, int status) {
  const std::lock_guard lock(world().mutex);
  world().fail_at = number;
  world().fail_with = status;
}
const char* fake_nvcuvid_log() {
  const std::lock_guard lock(world().mutex);
  world().shown = world().log;
  return world().shown.c_str();
}
void fake_nvcuvid_forget() {
  const std::lock_guard lock(world().mutex);
  world().log.clear();
}
long fake_nvcuvid_sessions() {
  const std::lock_guard lock(world().mutex);
  return world().sessions;
}
long fake_nvcuvid_parsers() {
  const std::lock_guard lock(world().mutex);
  return world().parsers;
}
long fake_nvcuvid_mapped() {
  const std::lock_guard lock(world().mutex);
  return world().mapped;
}
long fake_nvcuvid_sessions_made() {
  const std::lock_guard lock(world().mutex);
  return world().made;
}

long fake_nvcuvid_headers() {
  const std::lock_guard lock(world().mutex);
  return world().headers;
}

CUresult cuvidGetDecoderCaps(CUVIDDECODECAPS* caps) {
  LANNER_FAKE_ENTER("cuvidGetDecoderCaps");
  const std::lock_guard lock(world().mutex);
  const bool known = caps->eCodecType != cudaVideoCodec_AV1 &&
                     (caps->eChromaFormat == cudaVideoChromaFormat_420 ||
                      caps->eChromaFormat == cudaVideoChromaFormat_444) &&
                     caps->nBitDepthMinus8 <= 4;
  caps->bIsSupported = known;
  if (!known) return ok;
  caps->nNumNVDECs = 7;
  caps->nOutputFormatMask = 15;
  caps->nMinWidth = 48;
  caps->nMinHeight = 16;
  caps->nMaxWidth = caps->nMaxHeight = 4096;
  caps->nMaxMBCount = 65536;
  return ok;
}

CUresult cuvidCreateVideoParser(CUvideoparser* made, CUVIDPARSERPARAMS* parameters) {
  LANNER_FAKE_ENTER("cuvidCreateVideoParser");
  auto* parser = new Parser;
  parser->parameters = *parameters;
  *made = parser;
  count(&World::parsers, 1);
  return ok;
}
CUresult cuvidDestroyVideoParser(CUvideoparser parser) {
  delete static_cast<Parser*>(parser);
  count(&World::parsers, -1);
  return ok;
}
CUresult cuvidParseVideoData(CUvideoparser handle, CUVIDSOURCEDATAPACKET* packet) {
  LANNER_FAKE_ENTER("cuvidParseVideoData");
  auto& parser = *static_cast<Parser*>(handle);
  const auto failed = static_cast<CUresult>(999);
  if (!parser.decode()) return failed;
  const auto* end = packet->payload + packet->payload_size;
  const auto* begin = std::find(packet->payload, end, 'F'); // After headers, where there are any.
  if (begin != packet->payload && begin != end) count(&World::headers, 1);
  if (end - begin >= static_cast<std::ptrdiff_t>(packet_bytes)) {
    fake::Picture picture = read(begin);
    parser.unfinished = Waiting{picture, 0, packet->timestamp};
    if (picture.pair) {
      if (!parser.decode()) return failed;
      ++picture.seed, ++picture.order;
      picture.key = false;
      parser.unfinished = Waiting{picture, 0, packet->timestamp + 40};
    }
  }
  const bool whole = packet->flags & (CUVID_PKT_ENDOFPICTURE | CUVID_PKT_ENDOFSTREAM);
  if (whole && !parser.decode()) return failed;
  if ((packet->flags & CUVID_PKT_ENDOFSTREAM) && !parser.show_down_to(0)) return failed;
  return ok;
}

CUresult cuvidCreateDecoder(CUvideodecoder* made, CUVIDDECODECREATEINFO* info) {
  LANNER_FAKE_ENTER("cuvidCreateDecoder");
  if (!sane(*info)) return invalid_value;
  auto* decoder = new Decoder;
  decoder->info = *info;
  *made = decoder;
  count(&World::sessions, 1);
  count(&World::made, 1);
  return ok;
}
CUresult cuvidDestroyDecoder(CUvideodecoder handle) {
  auto* decoder = static_cast<Decoder*>(handle);
  for (const auto& [surface, bytes] : decoder->mapped) cuMemFree_v2(surface);
  count(&World::mapped, -static_cast<long>(decoder->mapped.size()));
  delete decoder;
  count(&World::sessions, -1);
  return ok;
}
CUresult cuvidReconfigureDecoder(CUvideodecoder handle, CUVIDRECONFIGUREDECODERINFO* info) {
  LANNER_FAKE_ENTER("cuvidReconfigureDecoder");
  auto& decoder = *static_cast<Decoder*>(handle);
  if (!decoder.mapped.empty()) return invalid_value;
  CUVIDDECODECREATEINFO changed = decoder.info;
  changed.ulWidth = info->ulWidth, changed.ulHeight = info->ulHeight;
  changed.ulTargetWidth = info->ulTargetWidth, changed.ulTargetHeight = info->ulTargetHeight;
  changed.display_area.right = info->display_area.right;
  if (!sane(changed) || info->ulNumDecodeSurfaces > decoder.info.ulNumDecodeSurfaces) return invalid_value;
  decoder.info = changed;
  decoder.pictures.clear();
  return ok;
}
CUresult cuvidDecodePicture(CUvideodecoder handle, CUVIDPICPARAMS* picture) {
  LANNER_FAKE_ENTER("cuvidDecodePicture");
  auto& decoder = *static_cast<Decoder*>(handle);
  const fake::Picture p = read(picture->pBitstreamData);
  const bool fits = picture->CurrPicIdx >= 0 &&
                    static_cast<tcu_ulong>(picture->CurrPicIdx) < decoder.info.ulNumDecodeSurfaces &&
                    coded(p.width, p.crop) == decoder.info.ulWidth &&
                    coded(p.height, p.crop) == decoder.info.ulHeight &&
                    p.depth == decoder.info.bitDepthMinus8 + 8;
  if (!fits) return invalid_value;
  decoder.pictures[picture->CurrPicIdx] = p;
  return ok;
}
CUresult cuvidGetDecodeStatus(CUvideodecoder handle, int index, CUVIDGETDECODESTATUS* status) {
  auto& decoder = *static_cast<Decoder*>(handle);
  const auto found = decoder.pictures.find(index);
  if (found == decoder.pictures.end()) return invalid_value;
  status->decodeStatus =
      found->second.damaged ? cuvidDecodeStatus_Error_Concealed : cuvidDecodeStatus_Success;
  return ok;
}
CUresult cuvidMapVideoFrame64(CUvideodecoder handle, int index, unsigned long long* surface, unsigned* pitch,
                              CUVIDPROCPARAMS* parameters) {
  LANNER_FAKE_ENTER("cuvidMapVideoFrame64");
  auto& decoder = *static_cast<Decoder*>(handle);
  const auto found = decoder.pictures.find(index);
  if (found == decoder.pictures.end() || !parameters->output_stream ||
      decoder.mapped.size() >= decoder.info.ulNumOutputSurfaces)
    return invalid_value;
  const unsigned sample_bytes = found->second.depth > 8 ? 2 : 1;
  *pitch = static_cast<unsigned>((decoder.info.ulTargetWidth * sample_bytes + 511) / 512 * 512);
  const std::size_t bytes = std::size_t{*pitch} * decoder.info.ulTargetHeight * plane_count(decoder);
  std::uint64_t memory = 0;
  if (const int status = cuMemAlloc_v2(&memory, bytes)) return static_cast<CUresult>(status);
  fill(decoder, found->second, reinterpret_cast<unsigned char*>(memory), *pitch);
  decoder.mapped[memory] = bytes;
  count(&World::mapped, 1);
  *surface = memory;
  return ok;
}
/// Overwrites the returned memory, so that reading it later is detected.
CUresult cuvidUnmapVideoFrame64(CUvideodecoder handle, unsigned long long surface) {
  auto& decoder = *static_cast<Decoder*>(handle);
  const auto found = decoder.mapped.find(surface);
  if (found == decoder.mapped.end()) return invalid_value;
  std::memset(reinterpret_cast<void*>(surface), 0xee, found->second);
  cuMemFree_v2(surface);
  decoder.mapped.erase(found);
  count(&World::mapped, -1);
  LANNER_FAKE_ENTER("cuvidUnmapVideoFrame64");
  return ok;
}
}
