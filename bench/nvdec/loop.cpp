// Decoding rate of a bare loop over libnvcuvid, against Lanner's Decoder over the same packets:
// `lanner_nvdec_bench CLIP [THREADS...]`. CLIP is an Annex-B stream of H.264 or HEVC. Each thread decodes
// GOPs of its own; pictures are copied once on the GPU, as a program that keeps them must do.

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <dlfcn.h>

// The driver's types come before those of the decoder.
#include <ffnvcodec/dynlink_cuda.h>

#include <ffnvcodec/dynlink_nvcuvid.h>

#include <lanner/decoder.h>
#include <lanner/demuxer.h>
#include <lanner/error.h>

namespace {

using namespace lanner;
using errors::check;

struct Clip {
  StreamInfo stream;
  std::vector<Packet> packets;
  std::vector<std::size_t> spans; ///< First packet of each GOP; the last entry is the end.
};

Clip read_clip(const char* path) {
  Clip clip;
  const auto demuxer = open_demuxer(open_path(path));
  const int stream = demuxer->best_video();
  clip.stream = demuxer->streams().at(static_cast<std::size_t>(stream));
  while (auto packet = demuxer->next()) {
    if (packet->stream != stream) continue;
    if (packet->key) clip.spans.push_back(clip.packets.size());
    clip.packets.push_back(std::move(*packet));
  }
  clip.spans.push_back(clip.packets.size());
  return clip;
}

void* symbol(void* library, const char* name) {
  void* found = library ? dlsym(library, name) : nullptr;
  check(found != nullptr, ErrorCode::unsupported, "{} is missing: {}", name,
        library ? "old driver" : dlerror());
  return found;
}

/// The calls that the loop makes.
struct Calls {
  void* cuda = dlopen("libcuda.so.1", RTLD_NOW);
  void* cuvid = dlopen("libnvcuvid.so.1", RTLD_NOW);
  template<typename Function>
  Function* of(void* library, const char* name) {
    return reinterpret_cast<Function*>(symbol(library, name));
  }
  CUresult (*init)(unsigned) = of<CUresult(unsigned)>(cuda, "cuInit");
  CUresult (*retain)(CUcontext*, int) = of<CUresult(CUcontext*, int)>(cuda, "cuDevicePrimaryCtxRetain");
  CUresult (*set)(CUcontext) = of<CUresult(CUcontext)>(cuda, "cuCtxSetCurrent");
  CUresult (*stream)(CUstream*, unsigned) = of<CUresult(CUstream*, unsigned)>(cuda, "cuStreamCreate");
  CUresult (*wait)(CUstream) = of<CUresult(CUstream)>(cuda, "cuStreamSynchronize");
  CUresult (*alloc)(CUdeviceptr*, std::size_t) = of<CUresult(CUdeviceptr*, std::size_t)>(cuda,
                                                                                         "cuMemAlloc_v2");
  CUresult (*copy)(CUdeviceptr, CUdeviceptr, std::size_t, CUstream) =
      of<CUresult(CUdeviceptr, CUdeviceptr, std::size_t, CUstream)>(cuda, "cuMemcpyDtoDAsync_v2");
  tcuvidCreateVideoParser* create_parser = of<tcuvidCreateVideoParser>(cuvid, "cuvidCreateVideoParser");
  tcuvidParseVideoData* parse = of<tcuvidParseVideoData>(cuvid, "cuvidParseVideoData");
  tcuvidDestroyVideoParser* destroy_parser = of<tcuvidDestroyVideoParser>(cuvid, "cuvidDestroyVideoParser");
  tcuvidCreateDecoder* create = of<tcuvidCreateDecoder>(cuvid, "cuvidCreateDecoder");
  tcuvidDestroyDecoder* destroy = of<tcuvidDestroyDecoder>(cuvid, "cuvidDestroyDecoder");
  tcuvidDecodePicture* decode = of<tcuvidDecodePicture>(cuvid, "cuvidDecodePicture");
  tcuvidMapVideoFrame* map = of<tcuvidMapVideoFrame>(cuvid, "cuvidMapVideoFrame64");
  tcuvidUnmapVideoFrame* unmap = of<tcuvidUnmapVideoFrame>(cuvid, "cuvidUnmapVideoFrame64");
};

/// One session, fed by its callbacks.
class Bare {
public:
  Bare(Calls& calls, const std::string& codec) : calls_(calls) {
    CUVIDPARSERPARAMS parameters{};
    parameters.CodecType = codec == "hevc" ? cudaVideoCodec_HEVC : cudaVideoCodec_H264;
    parameters.ulMaxNumDecodeSurfaces = 1;
    parameters.ulMaxDisplayDelay = 2;
    parameters.pUserData = this;
    parameters.pfnSequenceCallback = [](void* self, CUVIDEOFORMAT* format) {
      return static_cast<Bare*>(self)->sequence(*format);
    };
    parameters.pfnDecodePicture = [](void* self, CUVIDPICPARAMS* picture) {
      auto* bare = static_cast<Bare*>(self);
      return static_cast<int>(bare->calls_.decode(bare->decoder_, picture) == CUDA_SUCCESS);
    };
    parameters.pfnDisplayPicture = [](void* self, CUVIDPARSERDISPINFO* shown) {
      return shown ? static_cast<Bare*>(self)->display(*shown) : 1;
    };
    must(calls_.create_parser(&parser_, &parameters), "cuvidCreateVideoParser");
    must(calls_.stream(&stream_, 1), "cuStreamCreate");
  }
  ~Bare() {
    calls_.destroy_parser(parser_);
    if (decoder_) calls_.destroy(decoder_);
  }

  void send(const Packet& packet) {
    CUVIDSOURCEDATAPACKET data{};
    data.payload = reinterpret_cast<const unsigned char*>(packet.bytes.data());
    data.payload_size = static_cast<tcu_ulong>(packet.bytes.size());
    data.flags = CUVID_PKT_TIMESTAMP | CUVID_PKT_ENDOFPICTURE;
    must(calls_.parse(parser_, &data), "cuvidParseVideoData");
  }
  void end() {
    CUVIDSOURCEDATAPACKET data{};
    data.flags = CUVID_PKT_ENDOFSTREAM;
    must(calls_.parse(parser_, &data), "cuvidParseVideoData");
  }
  std::int64_t frames = 0;

private:
  static void must(CUresult status, const char* call) {
    check(status == CUDA_SUCCESS, ErrorCode::device, "{}: error {}", call, static_cast<int>(status));
  }

  int sequence(const CUVIDEOFORMAT& format) {
    const int surfaces = format.min_num_decode_surfaces + 4;
    if (decoder_) return surfaces;
    CUVIDDECODECREATEINFO info{};
    info.CodecType = format.codec;
    info.ChromaFormat = format.chroma_format;
    info.OutputFormat = cudaVideoSurfaceFormat_NV12;
    info.ulWidth = info.ulMaxWidth = format.coded_width;
    info.ulHeight = info.ulMaxHeight = format.coded_height;
    info.ulTargetWidth = static_cast<tcu_ulong>(format.display_area.right - format.display_area.left);
    info.ulTargetHeight = static_cast<tcu_ulong>(format.display_area.bottom - format.display_area.top);
    height_ = static_cast<std::size_t>(info.ulTargetHeight);
    info.display_area.right = static_cast<short>(info.ulTargetWidth);
    info.display_area.bottom = static_cast<short>(info.ulTargetHeight);
    info.ulNumDecodeSurfaces = static_cast<tcu_ulong>(surfaces);
    info.ulNumOutputSurfaces = 2;
    info.ulCreationFlags = cudaVideoCreate_PreferCUVID;
    return calls_.create(&decoder_, &info) == CUDA_SUCCESS ? surfaces : 0;
  }

  int display(const CUVIDPARSERDISPINFO& shown) {
    CUVIDPROCPARAMS process{};
    process.progressive_frame = shown.progressive_frame;
    process.output_stream = stream_;
    unsigned long long surface = 0;
    unsigned pitch = 0;
    if (calls_.map(decoder_, shown.picture_index, &surface, &pitch, &process) != CUDA_SUCCESS) return 0;
    const std::size_t bytes = pitch * height_ * 3 / 2;
    if (!target_ && calls_.alloc(&target_, bytes) != CUDA_SUCCESS) return 0;
    calls_.copy(target_, surface, bytes, stream_);
    calls_.wait(stream_);
    calls_.unmap(decoder_, surface);
    ++frames;
    return 1;
  }

  Calls& calls_;
  CUvideoparser parser_ = nullptr;
  CUvideodecoder decoder_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr target_ = 0;
  std::size_t height_ = 0;
};

constexpr std::size_t repeats = 10; ///< The whole clip, so that sessions reach a steady state.

/// Distributes spans to threads after all are ready.
class Spans {
public:
  Spans(const Clip& clip, int threads) : clip_(clip), ready_(threads) {}

  /// Packets [first, last) of the next span; an empty range at the end.
  std::pair<std::size_t, std::size_t> take() {
    const std::size_t count = clip_.spans.size() - 1, span = next_++;
    if (span >= count * repeats) return {0, 0};
    return {clip_.spans[span % count], clip_.spans[span % count + 1]};
  }
  void wait_for_all() { ready_.arrive_and_wait(); }

private:
  const Clip& clip_;
  std::atomic<std::size_t> next_ = 0;
  std::barrier<> ready_;
};

/// `decode(spans)` runs in every thread, prepares, waits for all, and returns the number of frames it
/// decoded. Prints their rate; sessions are made before the clock starts.
template<typename Decode>
void measure(const char* name, const Clip& clip, int threads, Decode decode) {
  Spans spans(clip, threads + 1);
  std::atomic<std::int64_t> frames = 0;
  std::vector<std::thread> all;
  const auto begin = std::chrono::steady_clock::now();
  for (int t = 0; t < threads; ++t) all.emplace_back([&] { frames += decode(spans); });
  spans.wait_for_all();
  const auto start = std::chrono::steady_clock::now();
  for (std::thread& thread : all) thread.join();
  const auto seconds = [](auto from, auto to) { return std::chrono::duration<double>(to - from).count(); };
  const auto end = std::chrono::steady_clock::now();
  std::printf("%-6s %2d at once: ready in %.3f s, %lld frames, %.0f fps\n", name, threads,
              seconds(begin, start), static_cast<long long>(frames),
              static_cast<double>(frames) / seconds(start, end));
}

std::int64_t bare_spans(const Clip& clip, Calls& calls, CUcontext context, Spans& spans) {
  calls.set(context);
  Bare bare(calls, clip.stream.codec);
  const auto decode = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) bare.send(clip.packets[i]);
    bare.end();
  };
  decode(clip.spans[0], clip.spans[1]);
  bare.frames = 0;
  spans.wait_for_all();
  for (auto [first, last] = spans.take(); last > first; std::tie(first, last) = spans.take())
    decode(first, last);
  return bare.frames;
}

std::int64_t lanner_spans(const Clip& clip, Spans& spans) {
  DecoderOptions options;
  options.device = Device{DeviceKind::cuda, 0};
  const auto decoder = create_decoder(clip.stream, options);
  std::int64_t frames = 0;
  const auto drain = [&] {
    while (decoder->receive()) ++frames;
  };
  const auto decode = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      while (!decoder->send(&clip.packets[i])) drain();
    while (!decoder->send(nullptr)) drain();
    drain();
    decoder->flush();
  };
  decode(clip.spans[0], clip.spans[1]);
  frames = 0;
  spans.wait_for_all();
  for (auto [first, last] = spans.take(); last > first; std::tie(first, last) = spans.take())
    decode(first, last);
  return frames;
}

void measure_all(const Clip& clip, const std::vector<int>& threads) {
  Calls calls;
  CUcontext context = nullptr;
  calls.init(0);
  calls.retain(&context, 0);
  for (const int t : threads)
    for (int round = 0; round < 3; ++round) {
      measure("bare", clip, t, [&](Spans& spans) { return bare_spans(clip, calls, context, spans); });
      measure("lanner", clip, t, [&](Spans& spans) { return lanner_spans(clip, spans); });
    }
}

} // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: lanner_nvdec_bench CLIP [THREADS...]\n");
    return 2;
  }
  try {
    const Clip clip = read_clip(arguments[1]);
    std::vector<int> threads;
    for (int i = 2; i < count; ++i) threads.push_back(std::max(1, std::atoi(arguments[i])));
    if (threads.empty()) threads = {1, 7, 14};
    measure_all(clip, threads);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lanner_nvdec_bench: %s\n", error.what());
    return 1;
  }
}
