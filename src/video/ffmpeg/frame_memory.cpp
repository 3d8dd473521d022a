#include "video/ffmpeg/frame_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "video/ffmpeg/library.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace lanner::ffmpeg {

namespace {

constexpr std::size_t max_idle = 8;
constexpr std::size_t max_idle_bytes = 256u << 20;
constexpr std::size_t alignment = 64; // Of the widest vectors.
constexpr std::size_t beyond = 128;   // Codecs read and write whole vectors at the end of the last row.

/// Counts pictures that got memory. FFmpeg's threads hand them over by locks of its own, which tools that
/// look for races do not see: counting publishes what get_buffer wrote, reading the count takes it in.
std::atomic<std::uint32_t> served{0};

/// Pages of zeros.
class Block {
public:
  Block() = default;
  explicit Block(std::size_t bytes) : bytes_(bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) memory_ = memory;
  }
  Block(Block&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Block() {
    if (memory_) ::munmap(memory_, bytes_);
  }

  explicit operator bool() const noexcept { return memory_ != nullptr; }
  std::uint8_t* data() const noexcept { return static_cast<std::uint8_t*>(memory_); }
  std::size_t bytes() const noexcept { return bytes_; }

private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace

struct FrameMemory::Layout {
  std::array<int, 4> pitches{};
  std::array<std::size_t, 4> offsets{};
  int planes = 0;
  std::size_t bytes = 0;
};

namespace {

/// As the codec wants it: rows that it may fill beyond the picture's size. Negative is FFmpeg's error.
int layout_of(AVCodecContext& context, const AVFrame& frame, FrameMemory::Layout& layout) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  int width = frame.width, height = frame.height;
  int steps[AV_NUM_DATA_POINTERS];
  avcodec_align_dimensions2(&context, &width, &height, steps);
  for (bool fits = false; !fits; width += width & -width) { // The next multiple of a higher power of two.
    const int status = av_image_fill_linesizes(layout.pitches.data(), format, width);
    if (status < 0) return status;
    fits = true;
    for (std::size_t p = 0; p < 4; ++p) fits = fits && layout.pitches[p] % steps[p] == 0;
  }
  std::array<std::ptrdiff_t, 4> pitches{};
  std::copy(layout.pitches.begin(), layout.pitches.end(), pitches.begin());
  std::array<std::size_t, 4> sizes{};
  const int status = av_image_fill_plane_sizes(sizes.data(), format, height, pitches.data());
  if (status < 0) return status;
  for (std::size_t p = 0; p < 4 && sizes[p] > 0; ++p) {
    layout.offsets[p] = layout.bytes;
    layout.bytes += aligned(sizes[p] + beyond);
    layout.planes = static_cast<int>(p) + 1;
  }
  return 0;
}

} // namespace

struct FrameMemory::Idle {
  std::mutex mutex;
  std::vector<Block> blocks; ///< Of one size.
  const std::uint64_t most;
  std::uint64_t lent = 0;
  bool refused = false;

  explicit Idle(std::uint64_t bytes) : most(bytes) { blocks.reserve(max_idle); } // Giving back must not fail.

  Block take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex);
      refused = refused || bytes > most || lent > most - bytes;
      if (refused) return {};
      lent += bytes;
      if (!blocks.empty() && blocks.back().bytes() != bytes) blocks.clear();
      if (!blocks.empty()) {
        Block block = std::move(blocks.back());
        blocks.pop_back();
        return block;
      }
    }
    Block block(bytes);
    if (block) return block;
    const std::lock_guard lock(mutex);
    lent -= bytes;
    return {};
  }
  void give_back(Block block) {
    const std::lock_guard lock(mutex);
    lent -= block.bytes();
    const bool fits = blocks.empty() || blocks.back().bytes() == block.bytes();
    const std::size_t bytes = (blocks.size() + 1) * block.bytes();
    if (fits && blocks.size() < max_idle && bytes <= max_idle_bytes) blocks.push_back(std::move(block));
  }
};

FrameMemory::FrameMemory(std::uint64_t bytes) : idle_(std::make_shared<Idle>(bytes)) {}

bool FrameMemory::take_refusal() noexcept {
  const std::lock_guard lock(idle_->mutex);
  return std::exchange(idle_->refused, false);
}

bool FrameMemory::take_error() noexcept {
  return error_.exchange(false);
}

void FrameMemory::note_error(const AVCodecContext& context) noexcept {
  if (context.get_buffer2 == get_buffer) static_cast<FrameMemory*>(context.opaque)->error_ = true;
}

void FrameMemory::serve(AVCodecContext& context) {
  context.opaque = this;
  context.get_buffer2 = get_buffer;
  call_from_any_thread(context);
}

int FrameMemory::get_buffer(AVCodecContext* context, AVFrame* frame, int flags) noexcept {
  try {
    return static_cast<const FrameMemory*>(context->opaque)->fill(*context, *frame, flags);
  } catch (...) {
    return AVERROR(ENOMEM);
  }
}

int FrameMemory::fill(AVCodecContext& context, AVFrame& frame, int flags) const {
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  if (!descriptor || descriptor->flags & AV_PIX_FMT_FLAG_HWACCEL)
    return avcodec_default_get_buffer2(&context, &frame, flags);
  Layout layout;
  if (const int status = layout_of(context, frame, layout); status < 0) return status;
  return lend(frame, layout);
}

bool FrameMemory::lend_packed(AVFrame& frame, std::size_t row_bytes) const {
  Layout layout;
  layout.pitches[0] = static_cast<int>(aligned(row_bytes));
  layout.bytes = aligned(aligned(row_bytes) * static_cast<std::size_t>(frame.height) + beyond);
  layout.planes = 1;
  return lend(frame, layout) >= 0;
}

int FrameMemory::lend(AVFrame& frame, const Layout& layout) const {
  struct Lent {
    std::weak_ptr<Idle> home; ///< Gone with the codec; the pages then go back at once.
    Block block;
    ~Lent() {
      const std::shared_ptr<Idle> idle = home.lock();
      if (idle && block) idle->give_back(std::move(block));
    }
  };
  auto lent = std::make_unique<Lent>();
  lent->home = idle_;
  lent->block = idle_->take(layout.bytes);
  if (!lent->block) return AVERROR(ENOMEM);
  std::uint8_t* data = lent->block.data();
  const auto release = [](void* opaque, std::uint8_t*) {
    take_in();
    delete static_cast<Lent*>(opaque);
  };
  frame.buf[0] = av_buffer_create(data, layout.bytes, release, lent.get(), 0);
  if (!frame.buf[0]) return AVERROR(ENOMEM);
  static_cast<void>(lent.release()); // The buffer's now.
  for (int p = 0; p < layout.planes; ++p) {
    frame.data[p] = data + layout.offsets[static_cast<std::size_t>(p)];
    frame.linesize[p] = layout.pitches[static_cast<std::size_t>(p)];
  }
  frame.extended_data = frame.data;
  served.fetch_add(1, std::memory_order_release);
  return 0;
}

void FrameMemory::take_in() noexcept {
  static_cast<void>(served.load(std::memory_order_acquire));
}

} // namespace lanner::ffmpeg
