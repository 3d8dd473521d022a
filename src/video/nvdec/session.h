#pragma once
// One of libnvcuvid's decoders, and those that wait to be used again.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "video/nvdec/library.h"
#include "video/nvdec/picture_form.h"

namespace lanner::nvdec {

/// Surfaces of one session that may be mapped at a time.
inline constexpr int output_surfaces = 4;

/// What a session is made for. Pictures are cropped when they are copied out, so sequences that differ in
/// their display area alone share sessions without a chance of a wrong crop.
struct SessionShape {
  PictureForm form;
  int width = 0, height = 0; ///< Coded size, even.
  int surfaces = 0;          ///< Pictures that are kept decoded.
  friend bool operator==(const SessionShape&, const SessionShape&) = default;

  std::uint64_t bytes() const noexcept; ///< GPU memory that a session of this shape takes, about.
};

/// A decoder of the hardware. Its CUDA context must be the thread's at every call and at its end.
class Session {
public:
  /// `most` bounds the sizes that it may be reconfigured to. Throws as check() does.
  Session(const SessionShape& shape, int max_width, int max_height);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  const SessionShape& shape() const noexcept { return shape_; }
  /// Whether reconfigure() may be asked for `shape`.
  bool suits(const SessionShape& shape) const noexcept;
  /// Whether a call failed: such a session is not used again.
  bool failed() const noexcept { return failed_; }

  void reconfigure(const SessionShape& shape);
  void decode(CUVIDPICPARAMS& picture);
  /// Puts a picture behind `parameters.output_stream` into a surface; gives its address and pitch.
  CUdeviceptr map(int picture, CUVIDPROCPARAMS& parameters, unsigned& pitch);
  void unmap(CUdeviceptr surface);
  bool damaged(int picture); ///< Whether the decoder found errors in a picture that was mapped.

private:
  void check(CUresult status, const char* call);

  CUvideodecoder handle_ = nullptr;
  SessionShape shape_;
  int max_width_, max_height_, max_surfaces_;
  bool failed_ = false;
};

/// Sessions without work, all of one context, whose calls need that context to be the thread's. Thread-safe.
class SessionCache {
public:
  /// Of a GPU's primary context: one a process.
  static std::shared_ptr<SessionCache> of(const cuda::Gpu& gpu);

  /// A waiting session of this shape, else one that could be reconfigured to it, else a new one. Throws as
  /// check().
  std::unique_ptr<Session> take(const SessionShape& shape, int max_width, int max_height);
  /// Keeps a session for later, or ends it where it failed; the oldest give way to what is too much.
  void give_back(std::unique_ptr<Session> session);
  void clear();
  std::size_t size();

private:
  std::unique_ptr<Session> find(const SessionShape& shape);

  static constexpr std::size_t max_sessions = 16;
  static constexpr std::uint64_t max_bytes = 1ull << 30;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Session>> idle_; ///< Oldest first.
};

} // namespace lanner::nvdec
