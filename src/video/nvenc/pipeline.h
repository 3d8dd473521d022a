#pragma once
// Pictures on their way through one session.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <lanner/encoder.h>

#include "video/nvenc/buffers.h"
#include "video/nvenc/configuration.h"

namespace lanner::nvenc {

/// What is asked for of one picture.
struct PictureTask {
  std::int64_t pts = 0; ///< Grows from picture to picture.
  bool force_idr = false, headers = false;
  std::span<const SeiMessage> messages;
};

/// A picture in the order of the stream.
struct EncodedPicture {
  std::vector<std::byte> bytes;
  std::int64_t pts = 0;
  NV_ENC_PIC_TYPE type = NV_ENC_PIC_TYPE_UNKNOWN;
  uint32_t average_qp = 0;
};

/// One configured session with its buffers. Every call makes the session's context the thread's.
class Pipeline {
public:
  /// `options` have complete colours. Throws what create_encoder() does.
  explicit Pipeline(const EncoderOptions& options);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline();

  const Configuration& configuration() const noexcept { return configuration_; }
  std::vector<std::byte> headers() const;

  /// Whether encode() has buffers for another picture. Where it has not, take() gives a packet.
  bool has_room() const noexcept { return !free_inputs_.empty(); }
  /// Copies the picture, of any format, and hands it to the encoder. Throws, and takes nothing, where that
  /// fails.
  void encode(const Image& image, const PictureTask& task);
  /// No more pictures, or none for now: the encoder completes those that it holds back.
  void flush();
  /// The next packet that is certain to be there, after a wait for the hardware at most.
  std::optional<EncodedPicture> take();
  bool empty() const noexcept { return in_flight_.empty(); }

  /// Whether the session takes these options as it runs.
  bool can_become(const EncoderOptions& changed) const;
  /// Throws, and changes nothing, where the driver refuses. For another size it is empty().
  void become(const EncoderOptions& changed);

private:
  Pipeline(const EncoderOptions& options, const cuda::Current& current);
  void initialise();
  void make_buffers();
  uint32_t held() const noexcept;
  /// Copies the samples, converted where they have to be.
  void fill(const InputBuffer& input, const Image& image) const;
  NVENCSTATUS submit(InputBuffer& input, const PictureTask& task);
  std::size_t certain() const noexcept;
  /// `unlocked` gets the status of giving the buffer back.
  EncodedPicture read(const OutputBuffer& output, NVENCSTATUS& unlocked) const;
  void give_back_all() noexcept;

  EncoderOptions options_;
  Session session_;
  Configuration configuration_;
  cuda::StreamHandle stream_; ///< The caller's; its address is the library's.
  std::vector<std::unique_ptr<InputBuffer>> inputs_;
  std::vector<std::unique_ptr<OutputBuffer>> outputs_;
  std::vector<InputBuffer*> free_inputs_;
  std::deque<OutputBuffer*> free_outputs_, in_flight_; ///< In the order that they were given in.
  std::map<std::int64_t, InputBuffer*> pictures_;      ///< By pts, those whose packet was not read.
  std::size_t complete_ = 0; ///< Of `in_flight_` from the front on, by the driver's word.
  bool flushed_ = false;     ///< Everything in flight is complete, and is given out at once.
  uint32_t number_ = 0;
};

} // namespace lanner::nvenc
