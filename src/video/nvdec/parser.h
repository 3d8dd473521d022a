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

// Note [Time stamps of the parser]
// The parser carries a piece's time stamp to the picture that begins in it, and makes one up, by the frame
// rate, for a second picture of the same piece. Ours are numbers of pieces times a stride that no made-up
// step reaches, so that only true ones are taken for a packet's.

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
  /// Gives the end of the stream: every picture is told.
  void end();
  /// The number of the piece that a picture began in, -1 for one whose time was made up.
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
