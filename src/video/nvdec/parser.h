#pragma once
// libnvcuvid's parser of elementary streams.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>

#include <lanner/decoder.h>

#include "video/nvdec/library.h"

namespace lanner::nvdec {

/// What a parser finds, told during Parser::parse(). May throw.
class ParserEvents {
public:
  /// A sequence begins or changes; returns the number of pictures that its session keeps.
  virtual int on_sequence(const CUVIDEOFORMATEX& format) = 0;
  virtual void on_picture(CUVIDPICPARAMS& picture) = 0;            ///< In the order of decoding.
  virtual void on_display(const CUVIDPARSERDISPINFO& display) = 0; ///< In the order of presentation.

protected:
  ~ParserEvents() = default;
};

// Note [Which packet a picture is from]
// The parser gives time stamps back in ascending order: it takes those of a stream that reorders for times of
// decoding where they look so, as ordinals of packets do. So where pictures are reordered, each packet is
// marked as a whole picture: it is decoded before parse() returns, and the packet is known then. Other codecs
// show pictures in the order of their packets, perhaps one that was decoded long before; there the time stamp
// is right. Time stamps are numbers of packets times a stride that is longer than a frame lasts by the
// parser's clock, since it makes up one for a second picture of the same packet.

/// One parser and its callbacks.
class Parser {
public:
  Parser(ParserEvents& events, cudaVideoCodec codec, Latency latency);
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser();

  /// Gives the piece of elementary stream number `number`. Throws what the events threw; Error{device} where
  /// the parser itself failed.
  void parse(std::span<const std::byte> piece, std::int64_t number, bool whole_picture);
  /// Gives the end of the stream: every picture is told, and another stream of the codec may follow.
  void end();
  /// The number of the piece by a time stamp, -1 for one that was made up.
  static std::int64_t number_of(CUvideotimestamp timestamp) noexcept;

private:
  static constexpr CUvideotimestamp stride = 1 << 16;
  static constexpr unsigned clock_rate = 1000; ///< So that a frame lasts less than a stride.

  template<typename Body>
  int guarded(Body&& body) noexcept;
  void give(CUVIDSOURCEDATAPACKET& packet);

  static int CUDAAPI sequence(void* self, CUVIDEOFORMAT* format);
  static int CUDAAPI picture(void* self, CUVIDPICPARAMS* parameters);
  static int CUDAAPI display(void* self, CUVIDPARSERDISPINFO* info);
  static int CUDAAPI operating_point(void* self, CUVIDOPERATINGPOINTINFO* info);

  ParserEvents& events_;
  CUvideoparser handle_ = nullptr;
  std::exception_ptr failure_; ///< What left an event: no exception may pass through the library.
};

} // namespace lanner::nvdec
