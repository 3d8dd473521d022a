#include "video/nvdec/session.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include <lanner/log.h>

#include "base/check.h"
#include "device/team.h"

namespace lanner::nvdec {
namespace {

template<typename Rect>
void fill(Rect& rect, int width, int height) {
  rect.left = rect.top = 0;
  rect.right = static_cast<short>(width);
  rect.bottom = static_cast<short>(height);
}

CUVIDDECODECREATEINFO describe(const SessionShape& shape, int max_width, int max_height) {
  CUVIDDECODECREATEINFO info{};
  info.ulWidth = info.ulTargetWidth = static_cast<tcu_ulong>(shape.width);
  info.ulHeight = info.ulTargetHeight = static_cast<tcu_ulong>(shape.height);
  info.ulMaxWidth = static_cast<tcu_ulong>(max_width);
  info.ulMaxHeight = static_cast<tcu_ulong>(max_height);
  info.ulNumDecodeSurfaces = static_cast<tcu_ulong>(shape.surfaces);
  info.ulNumOutputSurfaces = output_surfaces;
  info.CodecType = shape.form.codec;
  info.ChromaFormat = shape.form.chroma;
  info.bitDepthMinus8 = static_cast<tcu_ulong>(shape.form.depth - 8);
  const Surface surface = shape.form.surface();
  static_assert(sizeof info.OutputFormat == sizeof surface);
  std::memcpy(&info.OutputFormat, &surface, sizeof surface);
  info.DeinterlaceMode = cudaVideoDeinterlaceMode_Weave;
  info.ulCreationFlags = cudaVideoCreate_PreferCUVID;
  fill(info.display_area, shape.width, shape.height);
  fill(info.target_rect, shape.width, shape.height);
  return info;
}

} // namespace

std::uint64_t SessionShape::bytes() const noexcept {
  const std::uint64_t samples = form.chroma == cudaVideoChromaFormat_444 ? 6 : 4;
  const auto pixels = static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
  return pixels * samples / 2 * (form.depth > 8 ? 2 : 1) *
         static_cast<std::uint64_t>(surfaces + output_surfaces);
}

Session::Session(const SessionShape& shape, int max_width, int max_height)
    : shape_(shape), max_width_(std::max(shape.width, max_width)),
      max_height_(std::max(shape.height, max_height)), max_surfaces_(shape.surfaces) {
  // Rectangles have 16 bits; no GPU decodes pictures as large.
  lanner::check(max_width_ <= INT16_MAX && max_height_ <= INT16_MAX, ErrorCode::unsupported,
                "nvdec: coded size {}x{}, at most {} are taken", max_width_, max_height_, INT16_MAX);
  CUVIDDECODECREATEINFO info = describe(shape, max_width_, max_height_);
  nvdec::check(api().create_decoder(&handle_, &info), "cuvidCreateDecoder");
}

Session::~Session() {
  static_cast<void>(api().destroy_decoder(handle_));
}

void Session::check(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  failed_ = true;
  nvdec::check(status, call);
}

bool Session::suits(const SessionShape& shape) const noexcept {
  return !failed_ && shape.form == shape_.form && shape.width <= max_width_ && shape.height <= max_height_ &&
         shape.surfaces <= max_surfaces_;
}

void Session::reconfigure(const SessionShape& shape) {
  CUVIDRECONFIGUREDECODERINFO info{};
  info.ulWidth = info.ulTargetWidth = static_cast<unsigned>(shape.width);
  info.ulHeight = info.ulTargetHeight = static_cast<unsigned>(shape.height);
  info.ulNumDecodeSurfaces = static_cast<unsigned>(shape.surfaces);
  fill(info.display_area, shape.width, shape.height);
  fill(info.target_rect, shape.width, shape.height);
  check(api().reconfigure_decoder(handle_, &info), "cuvidReconfigureDecoder");
  shape_ = shape;
}

void Session::decode(CUVIDPICPARAMS& picture) {
  check(api().decode_picture(handle_, &picture), "cuvidDecodePicture");
}

CUdeviceptr Session::map(int picture, CUVIDPROCPARAMS& parameters, unsigned& pitch) {
  unsigned long long surface = 0;
  check(api().map_frame(handle_, picture, &surface, &pitch, &parameters), "cuvidMapVideoFrame64");
  return surface;
}

void Session::unmap(CUdeviceptr surface) {
  check(api().unmap_frame(handle_, surface), "cuvidUnmapVideoFrame64");
}

// Not every codec and GPU has an answer: one that is refused says nothing about the picture.
bool Session::damaged(int picture) {
  CUVIDGETDECODESTATUS status{};
  if (api().decode_status(handle_, picture, &status) != CUDA_SUCCESS) return false;
  return status.decodeStatus == cuvidDecodeStatus_Error ||
         status.decodeStatus == cuvidDecodeStatus_Error_Concealed;
}

namespace {

/// Leaked on purpose: libraries that sessions need may be gone when static objects are destroyed.
struct Caches {
  std::mutex mutex;
  std::map<const cuda::Gpu*, std::shared_ptr<SessionCache>> by_gpu;
  const unsigned forks = forks_seen();
};

Caches& caches() {
  static auto* all = new Caches;
  return *all;
}

void end_waiting_sessions() noexcept {
  Caches& all = caches();
  if (all.forks != forks_seen()) return; // The GPU is the parent's.
  const std::lock_guard lock(all.mutex);
  for (const auto& [gpu, cache] : all.by_gpu) {
    try {
      const cuda::Current current(*gpu);
      cache->clear();
    } catch (const Error&) { // The driver is gone, and they with it.
    }
  }
}

// The driver takes longer over sessions that it finds when the process ends: 130 ms for eight of them on an
// H200. Handlers run in reverse order, so this is asked for when the libraries have set theirs.
void end_sessions_with_process() {
  static const int asked = std::atexit(end_waiting_sessions);
  static_cast<void>(asked);
}

} // namespace

std::shared_ptr<SessionCache> SessionCache::of(const cuda::Gpu& gpu) {
  Caches& all = caches();
  const std::lock_guard lock(all.mutex);
  std::shared_ptr<SessionCache>& cache = all.by_gpu[&gpu];
  if (!cache) cache = std::make_shared<SessionCache>();
  return cache;
}

std::unique_ptr<Session> SessionCache::find(const SessionShape& shape) {
  const std::lock_guard lock(mutex_);
  auto found = std::ranges::find_if(idle_, [&](const auto& idle) { return idle->shape() == shape; });
  if (found == idle_.end())
    found = std::ranges::find_if(idle_, [&](const auto& idle) { return idle->suits(shape); });
  if (found == idle_.end()) return nullptr;
  std::unique_ptr<Session> session = std::move(*found);
  idle_.erase(found);
  return session;
}

std::unique_ptr<Session> SessionCache::take(const SessionShape& shape, int max_width, int max_height) {
  if (std::unique_ptr<Session> session = find(shape)) {
    try {
      if (session->shape() != shape) session->reconfigure(shape);
      return session;
    } catch (const Error& error) {
      log_message(LogLevel::info, fmt::format("nvdec: a session is not used again: {}", error.message()));
    }
  }
  try {
    return std::make_unique<Session>(shape, max_width, max_height);
  } catch (const Error& error) {
    // Waiting sessions hold memory that this one could have.
    if (error.code() != ErrorCode::out_of_memory || size() == 0) throw;
    clear();
    return std::make_unique<Session>(shape, max_width, max_height);
  }
}

void SessionCache::give_back(std::unique_ptr<Session> session) {
  if (!session || session->failed()) return;
  end_sessions_with_process();
  std::vector<std::unique_ptr<Session>> ended;
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(session));
  std::uint64_t bytes = 0;
  for (const auto& idle : idle_) bytes += idle->shape().bytes();
  std::size_t drop = 0;
  for (; drop < idle_.size() && (idle_.size() - drop > max_sessions || bytes > max_bytes); ++drop)
    bytes -= idle_[drop]->shape().bytes();
  for (std::size_t i = 0; i < drop; ++i) ended.push_back(std::move(idle_[i]));
  idle_.erase(idle_.begin(), idle_.begin() + static_cast<std::ptrdiff_t>(drop));
}

void SessionCache::clear() {
  std::vector<std::unique_ptr<Session>> ended;
  const std::lock_guard lock(mutex_);
  ended.swap(idle_);
}

std::size_t SessionCache::size() {
  const std::lock_guard lock(mutex_);
  return idle_.size();
}

} // namespace lanner::nvdec
