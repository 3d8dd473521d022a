#include "video/nvdec/decoder.h"

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "base/threads/sole_use.h"
#include "video/bitstream/bitstream.h"
#include "video/bitstream/elementary_stream.h"
#include "video/bitstream/sei.h"
#include "video/nvdec/capabilities.h"
#include "video/nvdec/packet_log.h"
#include "video/nvdec/parser.h"
#include "video/nvdec/picture_copier.h"
#include "video/read/damaged_picture.h"

namespace lanner::nvdec {
namespace {

// Pictures beyond those that the stream needs, so that the hardware does not wait for one to be copied out.
constexpr int spare_surfaces = 4;
// Numbers are rounded, so that clips of one size more often find a session that waits.
constexpr int surface_step = 4;

int even(unsigned size) {
  return static_cast<int>((size + 1) & ~1u);
}

// The hardware takes a picture of macroblocks for as many as fit; the parser tells MPEG-2's width as it is.
int coded_side(unsigned size, cudaVideoCodec codec) {
  const bool macroblocks = codec != cudaVideoCodec_HEVC && codec != cudaVideoCodec_VP9 &&
                           codec != cudaVideoCodec_AV1 && codec != cudaVideoCodec_JPEG;
  return macroblocks ? static_cast<int>((size + 15) & ~15u) : even(size);
}

int surfaces_for(const CUVIDEOFORMAT& format) {
  const int wanted = format.min_num_decode_surfaces + spare_surfaces;
  return (wanted + surface_step - 1) / surface_step * surface_step;
}

/// What a frame's fields take from its sequence.
struct Sequence {
  bool known = false;
  SessionShape shape;
  PictureLayout layout;
  Rational sample_aspect{1, 1};
};

PictureLayout layout_of(const CUVIDEOFORMAT& format, const SessionShape& shape, const ColorInfo& container) {
  PictureLayout layout;
  layout.format = *shape.form.pixel_format();
  layout.left = format.display_area.left;
  layout.top = format.display_area.top;
  layout.width = format.display_area.right - layout.left;
  layout.height = format.display_area.bottom - layout.top;
  layout.surface_rows = shape.height;
  layout.color = color_of(format, container);
  // Coded as G, B, R (H.273, MatrixCoefficients 0).
  if (layout.color.matrix == ColorMatrix::rgb && layout.format == PixelFormat::yuv444p) {
    layout.format = PixelFormat::rgb_planar;
    layout.planes = {2, 0, 1};
  }
  return layout;
}

void check_display_area(const CUVIDEOFORMAT& format) {
  const auto& area = format.display_area;
  check(area.left >= 0 && area.top >= 0 && area.right > area.left && area.bottom > area.top &&
            static_cast<unsigned>(area.right) <= format.coded_width &&
            static_cast<unsigned>(area.bottom) <= format.coded_height,
        ErrorCode::bad_data, "nvdec: display area {},{} to {},{} of a picture of {}x{}", area.left, area.top,
        area.right, area.bottom, format.coded_width, format.coded_height);
}

Rational sample_aspect_of(const CUVIDEOFORMAT& format, const PictureLayout& layout) {
  const std::int64_t x = std::int64_t{format.display_aspect_ratio.x} * layout.height;
  const std::int64_t y = std::int64_t{format.display_aspect_ratio.y} * layout.width;
  if (x <= 0 || y <= 0) return {1, 1};
  const std::int64_t divisor = std::gcd(x, y);
  return {x / divisor, y / divisor};
}

class NvdecDecoder final : public Decoder, public ParserEvents {
public:
  NvdecDecoder(const StreamInfo& stream, const DecoderOptions& options, Device device, std::string reason)
      : options_(options), context_(GpuContext::of(device, options.context)), reason_(std::move(reason)) {
    const cuda::Current current(context_.handle);
    const Device output = options.output.value_or(device);
    lanner::check(output.is_host() || output == device, ErrorCode::unsupported,
                  "nvdec on {}: frames on {}, expected {} or cpu", device.to_string(), output.to_string(),
                  device.to_string());
    callers_stream_ = static_cast<cuda::StreamHandle>(options.stream.handle);
    cache_ = context_.primary() ? SessionCache::of(*context_.gpu) : std::make_shared<SessionCache>();
    check_supported(stream);
    begin(stream);
    copier_.emplace(context_, CopyTarget{output, callers_stream_, options.limits});
    ordered_by_caller_ = callers_stream_ && !output.is_host();
  }

  ~NvdecDecoder() override {
    try {
      const cuda::Current current(context_.handle);
      parser_.reset();
      end_session();
      if (!context_.primary()) cache_->clear();
    } catch (const Error&) { // The driver is gone, and all that it held.
      static_cast<void>(session_.release());
    }
  }

  bool send(const Packet* packet) override {
    const SoleUse::Call call(use_);
    lanner::check(!draining_, ErrorCode::invalid_argument, "decoder: packet after the end; flush() first");
    if (!ready_.empty()) return false;
    const cuda::Current current(context_.handle);
    guarded([&] {
      if (packet)
        feed(*packet);
      else if (parser_)
        parser_->end();
    });
    draining_ = packet == nullptr;
    return true;
  }

  std::optional<Frame> receive() override {
    const SoleUse::Call call(use_);
    if (ready_.empty()) {
      finished_ = draining_;
      return std::nullopt;
    }
    Ready ready = std::move(ready_.front());
    ready_.pop_front();
    if (!ordered_by_caller_) {
      const cuda::Current current(context_.handle);
      guarded([&] { copier_->finish(ready.number); });
    }
    if (ready.frame.corrupt && options_.raise_on_error)
      throw DamagedPicture(fmt::format("decode: {}", stream_.codec), ready.frame.pts);
    return std::move(ready.frame);
  }

  bool finished() const noexcept override { return finished_; }

  void flush() override {
    const SoleUse::Call call(use_);
    const cuda::Current current(context_.handle);
    guarded([&] { forget(); });
  }

  void reset(const StreamInfo& stream) override {
    const SoleUse::Call call(use_);
    const cuda::Current current(context_.handle);
    check_supported(stream);
    guarded([&] {
      forget();
      parser_.reset();
      begin(stream);
    });
  }

  Device device() const noexcept override { return context_.gpu->device(); }
  std::string description() const override {
    const SoleUse::Call call(use_);
    return fmt::format("nvdec {} on {}", stream_.codec, device().to_string());
  }
  const std::string& reason() const noexcept override { return reason_; }

private:
  struct Ready {
    Frame frame;
    std::uint64_t number = 0;
  };

  void check_supported(const StreamInfo& stream) const {
    const std::string refused = nvdec::refusal(context_, stream);
    lanner::check(refused.empty(), ErrorCode::unsupported, "{}: {}", device().to_string(), refused);
  }

  void begin(const StreamInfo& stream) {
    elementary_.emplace(stream);
    scanner_.emplace(stream);
    sei_scanner_ = SeiScanner(stream);
    stream_ = stream;
    codec_ = *codec_of(stream.codec);
    sequence_ = {};
  }

  void feed(const Packet& packet) {
    check_limit("packet_bytes", packet.bytes.size(), options_.limits.packet_bytes, "packet: {} bytes",
                packet.bytes.size());
    if (packet.bytes.empty() || (waits_for_entry_ && !begins_decoding(packet))) return;
    if (!parser_) parser_ = std::make_unique<Parser>(*this, codec_, options_.latency);
    const std::span<const std::byte> piece = elementary_->convert(packet);
    lanner::check(!elementary_->damaged() || !options_.raise_on_error, ErrorCode::bad_data,
                  "decode: {}: a length in the packet at pts {} leads out of it", stream_.codec, packet.pts);
    packet_ = packets_.add(packet, elementary_->damaged() || packet.corrupt);
    if (piece.empty()) return;
    if (options_.sei) sei_waiting_.add(packet_, sei_scanner_.scan(packet.bytes));
    pictures_of_packet_ = 0;
    parser_->parse(piece, packet_, reorders(codec_) || options_.latency == Latency::low);
  }

  // The parser begins with pictures that lack what they are predicted from; FFmpeg gives none of them.
  bool begins_decoding(const Packet& packet) {
    const bool dependent = codec_ == cudaVideoCodec_H264 || codec_ == cudaVideoCodec_HEVC;
    waits_for_entry_ = dependent && !packet.key && scanner_->scan(packet).start == EntryPoint::none;
    return !waits_for_entry_;
  }

  // Calls that failed leave parser and session in a state that nobody knows: both are made anew for the next
  // packet, and frames that were not given are lost.
  template<typename Body>
  void guarded(Body&& body) {
    try {
      body();
    } catch (...) {
      parser_.reset();
      copier_->abandon();
      session_.reset();
      sequence_.known = dropping_ = false;
      ready_.clear();
      restart();
      throw;
    }
  }

  // A parser is told the end and kept: to make one takes longer than to decode some pictures.
  void forget() {
    dropping_ = true;
    if (parser_ && !draining_) parser_->end();
    dropping_ = false;
    ready_.clear();
    restart();
    draining_ = finished_ = false;
  }

  void restart() {
    elementary_->restart();
    waits_for_entry_ = true;
    sei_waiting_.clear();
  }

  void end_session() {
    try {
      if (copier_) copier_->finish_all();
      cache_->give_back(std::move(session_));
    } catch (const Error&) {
      copier_->abandon();
      session_.reset();
    }
  }

  int on_sequence(const CUVIDEOFORMATEX& whole) override {
    const CUVIDEOFORMAT& format = whole.format;
    Sequence next;
    next.shape.form = {format.codec, format.chroma_format, 8 + format.bit_depth_luma_minus8};
    limited_product("pixels", options_.limits.pixels, format.coded_width, format.coded_height,
                    "pixels of a picture");
    check_display_area(format);
    next.shape.width = coded_side(format.coded_width, format.codec);
    next.shape.height = coded_side(format.coded_height, format.codec);
    // Two fields of whole macroblocks.
    if (format.codec == cudaVideoCodec_MPEG2 && !format.progressive_sequence)
      next.shape.height = (next.shape.height + 31) / 32 * 32;
    next.shape.surfaces = surfaces_for(format);
    if (!session_ || session_->shape() != next.shape) check_capability(next.shape, format);
    next.layout = layout_of(format, next.shape, stream_.color);
    next.sample_aspect = sample_aspect_of(format, next.layout);
    next.known = true;
    // The container knows better where the stream's own word is 1:1 for want of one; later sequences speak
    // for themselves.
    if (!sequence_.known || next.sample_aspect == first_aspect_) {
      if (!sequence_.known) first_aspect_ = next.sample_aspect;
      next.sample_aspect = stream_.sample_aspect;
    }
    take_session(next.shape, whole);
    sequence_ = next;
    return session_->shape().surfaces;
  }

  void check_capability(const SessionShape& shape, const CUVIDEOFORMAT& format) const {
    const std::string refused = nvdec::refusal(context_, shape.form, format.coded_width, format.coded_height);
    lanner::check(refused.empty(), ErrorCode::unsupported, "{}: {} {}: {}", device().to_string(),
                  stream_.codec, stream_.profile.empty() ? "of unknown profile" : stream_.profile, refused);
  }

  void take_session(const SessionShape& shape, const CUVIDEOFORMATEX& whole) {
    if (session_ && session_->suits(shape) && session_->shape() == shape) return;
    copier_->finish_all();
    if (session_ && session_->suits(shape)) return session_->reconfigure(shape);
    cache_->give_back(std::move(session_));
    const bool told = shape.form.codec == cudaVideoCodec_AV1 && whole.format.seqhdr_data_length > 0;
    const int max_width = told ? max_side(whole.av1.max_width) : shape.width;
    const int max_height = told ? max_side(whole.av1.max_height) : shape.height;
    session_ = cache_->take(shape, max_width, max_height);
  }

  // A header's bound that the hardware does not take is no reason not to decode what it does.
  int max_side(unsigned side) const { return side <= 8192 ? even(side) : 0; }

  void on_picture(CUVIDPICPARAMS& picture) override {
    lanner::check(session_ != nullptr, ErrorCode::bad_data, "decode: {}: a picture before its sequence",
                  stream_.codec);
    const bool grouped = codec_ == cudaVideoCodec_H264 && picture.CodecSpecific.h264.num_slice_groups_minus1;
    lanner::check(!grouped, ErrorCode::unsupported, "{} does not decode h264 with flexible macroblock order",
                  context_.gpu->name());
    const auto index = static_cast<std::size_t>(picture.CurrPicIdx);
    lanner::check(picture.CurrPicIdx >= 0 && index < origins_.size(), ErrorCode::bad_data,
                  "decode: {}: picture {} of {}", stream_.codec, picture.CurrPicIdx, origins_.size());
    // A second field belongs to the packet of the first, a second picture of a packet to none.
    if (!picture.second_field) origins_[index] = pictures_of_packet_++ == 0 ? packet_ : -1;
    // The parser leaves out a column of macroblocks that a width fills in part.
    if (codec_ == cudaVideoCodec_MPEG1 || codec_ == cudaVideoCodec_MPEG2)
      picture.PicWidthInMbs = std::max(picture.PicWidthInMbs, session_->shape().width / 16);
    session_->decode(picture);
  }

  /// Of the packet that the picture is from, -1 where none is known.
  std::int64_t number_of(const CUVIDPARSERDISPINFO& display) const noexcept {
    if (!reorders(codec_)) return Parser::number_of(display.timestamp);
    const auto index = static_cast<std::size_t>(display.picture_index);
    return index < origins_.size() ? origins_[index] : -1;
  }

  void on_display(const CUVIDPARSERDISPINFO& display) override {
    const std::int64_t number = number_of(display);
    const PacketLog::Entry* packet = packets_.find(number);
    if (dropping_ || !session_ || (packet && packet->discard)) return;
    CUVIDPROCPARAMS parameters{};
    parameters.progressive_frame = display.progressive_frame;
    parameters.top_field_first = display.top_field_first;
    parameters.unpaired_field = display.repeat_first_field < 0;
    parameters.second_field = display.repeat_first_field + 1;
    PictureCopier::Copied copied =
        copier_->copy(*session_, display.picture_index, parameters, sequence_.layout);
    Ready ready;
    ready.number = copied.number;
    Frame& frame = ready.frame;
    frame.image = std::move(copied.image);
    frame.pts = packet ? packet->pts : no_pts;
    frame.duration = packet ? std::max<std::int64_t>(0, packet->duration) : 0;
    frame.key = packet && packet->key;
    frame.corrupt = session_->damaged(display.picture_index) || (packet && packet->damaged);
    frame.time_base = stream_.time_base;
    frame.mirror = stream_.mirror;
    frame.rotation = stream_.rotation;
    frame.sample_aspect = sequence_.sample_aspect;
    frame.interlaced = !display.progressive_frame;
    frame.top_field_first = frame.interlaced && display.top_field_first;
    if (ordered_by_caller_) frame.stream = options_.stream;
    if (options_.sei) frame.sei = sei_waiting_.take(number);
    ready_.push_back(std::move(ready));
  }

  mutable SoleUse use_{"Decoder"};
  DecoderOptions options_;
  GpuContext context_;
  std::string reason_;
  cuda::StreamHandle callers_stream_ = nullptr;
  bool ordered_by_caller_ = false; ///< Frames are complete in the order of the caller's stream.
  StreamInfo stream_;
  cudaVideoCodec codec_ = cudaVideoCodec_H264;
  std::optional<ElementaryStream> elementary_;
  std::optional<PacketScanner> scanner_;
  bool waits_for_entry_ = true; ///< No packet came yet that decoding may begin at.
  SeiScanner sei_scanner_;
  SeiQueue sei_waiting_;
  PacketLog packets_;
  std::int64_t packet_ = -1;                ///< Number of the packet that is parsed.
  int pictures_of_packet_ = 0;              ///< That it has begun.
  std::array<std::int64_t, 128> origins_{}; ///< Packet of each picture that is kept decoded.
  Sequence sequence_;
  Rational first_aspect_{1, 1};
  std::shared_ptr<SessionCache> cache_;
  std::unique_ptr<Session> session_;
  std::optional<PictureCopier> copier_;
  std::unique_ptr<Parser> parser_;
  std::deque<Ready> ready_;
  bool draining_ = false, finished_ = false;
  bool dropping_ = false; ///< Pictures that are told are not wanted.
};

} // namespace

std::unique_ptr<Decoder> create_decoder(const StreamInfo& stream, const DecoderOptions& options,
                                        Device device, std::string reason) {
  static_cast<void>(api());
  return std::make_unique<NvdecDecoder>(stream, options, device, std::move(reason));
}

std::string refusal(const StreamInfo& stream, const DecoderOptions& options, Device device,
                    std::string& kind) {
  static_cast<void>(api());
  const GpuContext context = GpuContext::of(device, options.context);
  const cuda::Current current(context.handle);
  std::string refused = refusal(context, stream);
  if (!refused.empty()) return refused;
  const PictureForm form = *form_of(stream);
  kind = stream.profile.empty()
             ? form.to_string()
             : fmt::format("{} {} {} {} bit", stream.codec, stream.profile, name_of(form.chroma), form.depth);
  return {};
}

Resources resources(const StreamInfo& stream, const DecoderOptions& options, Device device) {
  const GpuContext context = GpuContext::of(device, options.context);
  const cuda::Current current(context.handle);
  Resources found;
  if (const std::optional<PictureForm> form = form_of(stream))
    found.engines = std::max(1, capability(context, *form).engines);
  if (context.primary()) found.sessions = static_cast<int>(SessionCache::of(*context.gpu)->size());
  std::size_t free = 0, total = 0;
  cuda::check(cuda::driver().memory_info(&free, &total), "cuMemGetInfo");
  found.free_bytes = free;
  return found;
}

} // namespace lanner::nvdec
