#include "video/nvenc/pipeline.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace lanner::nvenc {

// Note [When a packet is certain]
// To lock the buffer of a packet that waits for later pictures would wait for ever. nvEncEncodePicture tells:
// after NV_ENC_SUCCESS all packets up to that picture's are on their way, after NV_ENC_ERR_NEED_MORE_INPUT
// none new is. That does not hold with a lookahead, which keeps as many pictures as it is deep; there, and
// wherever low latency was not asked for, packets are read late: so many pictures behind that B-frames and
// lookahead cannot hold them, and three more, which the hardware works on while the next are copied.
constexpr uint32_t overlapped_pictures = 3;

namespace {

cuda::ContextHandle context_of(const EncoderOptions& options) {
  return options.context ? static_cast<cuda::ContextHandle>(options.context)
                         : cuda::Gpu::get(options.device).context();
}

bool same_colors(const Image& image, const ColorInfo& written) {
  if (!format_info(image.format).yuv) return true;
  const ColorInfo given = complete_color(image.color, image.height);
  return given.matrix == written.matrix && given.range == written.range;
}

std::vector<NV_ENC_SEI_PAYLOAD> payloads_of(std::span<const SeiMessage> messages) {
  std::vector<NV_ENC_SEI_PAYLOAD> payloads;
  for (const SeiMessage& message : messages) {
    auto* bytes = reinterpret_cast<const uint8_t*>(message.bytes.data());
    payloads.push_back({static_cast<uint32_t>(message.bytes.size()), static_cast<uint32_t>(message.type),
                        const_cast<uint8_t*>(bytes)});
  }
  return payloads;
}

void set_payloads(Codec codec, std::vector<NV_ENC_SEI_PAYLOAD>& payloads, NV_ENC_CODEC_PIC_PARAMS& to) {
  const auto count = static_cast<uint32_t>(payloads.size());
  if (count == 0) return;
  switch (codec) {
  case Codec::h264:
    to.h264PicParams.seiPayloadArray = payloads.data(), to.h264PicParams.seiPayloadArrayCnt = count;
    return;
  case Codec::hevc:
    to.hevcPicParams.seiPayloadArray = payloads.data(), to.hevcPicParams.seiPayloadArrayCnt = count;
    return;
  case Codec::av1:
    to.av1PicParams.obuPayloadArray = payloads.data(), to.av1PicParams.obuPayloadArrayCnt = count;
  }
}

} // namespace

Pipeline::Pipeline(const EncoderOptions& options) : Pipeline(options, cuda::Current(context_of(options))) {}

Pipeline::Pipeline(const EncoderOptions& options, const cuda::Current&)
    : options_(options), session_(cuda::Gpu::get(options.device), context_of(options)),
      configuration_(configure(session_, options)),
      stream_(static_cast<cuda::StreamHandle>(options.stream.handle)) {
  initialise();
  make_buffers();
}

Pipeline::~Pipeline() {
  try {
    const cuda::Current current(session_.context());
    give_back_all();
  } catch (const Error&) { // A driver that is gone has freed everything itself.
    give_back_all();
  }
}

void Pipeline::give_back_all() noexcept {
  if (!in_flight_.empty() && !flushed_) {
    auto end = versioned<NV_ENC_PIC_PARAMS>();
    end.encodePicFlags = NV_ENC_PIC_FLAG_EOS;
    flushed_ = session_.encode(end) == NV_ENC_SUCCESS;
  }
  for (const OutputBuffer* output : in_flight_) {
    auto lock = versioned<NV_ENC_LOCK_BITSTREAM>();
    lock.outputBitstream = output->handle();
    if (flushed_ && session_.lock(lock) == NV_ENC_SUCCESS)
      session_.release(&Api::nvEncUnlockBitstream, lock.outputBitstream);
  }
  inputs_.clear();
  outputs_.clear();
}

void Pipeline::initialise() {
  NV_ENC_INITIALIZE_PARAMS init = configuration_.init;
  init.encodeConfig = &configuration_.config;
  session_.call(&Api::nvEncInitializeEncoder, "nvEncInitializeEncoder", &init);
  if (!stream_) return;
  session_.call(&Api::nvEncSetIOCudaStreams, "nvEncSetIOCudaStreams", static_cast<void*>(&stream_),
                static_cast<void*>(&stream_));
}

void Pipeline::make_buffers() {
  const NV_ENC_INITIALIZE_PARAMS& init = configuration_.init;
  const BufferSize size{std::max(init.encodeWidth, init.maxEncodeWidth),
                        std::max(init.encodeHeight, init.maxEncodeHeight)};
  const std::size_t count = held() + overlapped_pictures + 2;
  for (std::size_t i = 0; i < count; ++i) {
    inputs_.push_back(std::make_unique<InputBuffer>(session_, configuration_.stored, size));
    outputs_.push_back(std::make_unique<OutputBuffer>(session_));
    free_inputs_.push_back(inputs_.back().get());
    free_outputs_.push_back(outputs_.back().get());
  }
}

std::vector<std::byte> Pipeline::headers() const {
  const cuda::Current current(session_.context());
  return session_.headers();
}

/// Pictures that the encoder keeps until later ones come.
uint32_t Pipeline::held() const noexcept {
  return configuration_.b_frames() + configuration_.lookahead();
}

std::size_t Pipeline::certain() const noexcept { // See Note [When a packet is certain].
  if (flushed_) return in_flight_.size();
  const std::size_t behind = held() + overlapped_pictures;
  const std::size_t late = in_flight_.size() > behind ? in_flight_.size() - behind : 0;
  return configuration_.low_latency && configuration_.lookahead() == 0 ? std::max(complete_, late) : late;
}

void Pipeline::fill(const InputBuffer& input, const Image& image) const {
  Image to = input.view(image.width, image.height);
  to.color = options_.color;
  if (image.format == to.format && same_colors(image, to.color))
    return copy_samples(session_, image, to, stream_);
  if (image.device.is_host()) {
    Image converted = Image::allocate(to.format, image.width, image.height);
    converted.color = to.color;
    convert_image(image, converted);
    return copy_samples(session_, converted, to, stream_);
  }
  check(session_.in_primary_context(), ErrorCode::unsupported,
        "encode: picture of {} {} {}, which is not converted in a CUDA context of the caller's; expected {} "
        "{} {}",
        to_string(image.format), to_string(image.color.matrix), to_string(image.color.range),
        to_string(to.format), to_string(to.color.matrix), to_string(to.color.range));
  convert_image(image, to, {stream_});
}

void Pipeline::encode(const Image& image, const PictureTask& task) {
  const cuda::Current current(session_.context());
  InputBuffer* input = free_inputs_.back();
  fill(*input, image);
  pictures_.emplace(task.pts, input);
  try {
    in_flight_.push_back(free_outputs_.front());
    try {
      if (submit(*input, task) == NV_ENC_SUCCESS && configuration_.lookahead() == 0)
        complete_ = in_flight_.size();
    } catch (...) {
      in_flight_.pop_back();
      throw;
    }
  } catch (...) {
    pictures_.erase(task.pts);
    throw;
  }
  free_inputs_.pop_back();
  free_outputs_.pop_front();
  ++number_;
}

NVENCSTATUS Pipeline::submit(InputBuffer& input, const PictureTask& task) {
  std::vector<NV_ENC_SEI_PAYLOAD> payloads = payloads_of(task.messages);
  auto picture = versioned<NV_ENC_PIC_PARAMS>();
  picture.inputWidth = configuration_.init.encodeWidth;
  picture.inputHeight = configuration_.init.encodeHeight;
  picture.inputPitch = input.pitch();
  if (task.force_idr) picture.encodePicFlags |= NV_ENC_PIC_FLAG_FORCEIDR;
  if (task.headers) picture.encodePicFlags |= NV_ENC_PIC_FLAG_OUTPUT_SPSPPS;
  picture.frameIdx = number_;
  picture.inputTimeStamp = static_cast<uint64_t>(task.pts);
  picture.outputBitstream = in_flight_.back()->handle();
  picture.bufferFmt = configuration_.stored.buffer_format;
  picture.pictureStruct = NV_ENC_PIC_STRUCT_FRAME;
  set_payloads(configuration_.codec, payloads, picture.codecPicParams);
  picture.inputBuffer = input.map();
  const NVENCSTATUS status = session_.encode(picture);
  if (status == NV_ENC_SUCCESS || status == NV_ENC_ERR_NEED_MORE_INPUT) {
    flushed_ = false;
    return status;
  }
  try {
    session_.check(status, "nvEncEncodePicture");
  } catch (...) {
    input.unmap_quietly();
    throw;
  }
  return status;
}

void Pipeline::flush() {
  const cuda::Current current(session_.context());
  auto end = versioned<NV_ENC_PIC_PARAMS>();
  end.encodePicFlags = NV_ENC_PIC_FLAG_EOS;
  const NVENCSTATUS status = session_.encode(end);
  if (status != NV_ENC_ERR_NEED_MORE_INPUT) session_.check(status, "nvEncEncodePicture at the end");
  flushed_ = true;
}

EncodedPicture Pipeline::read(const OutputBuffer& output, NVENCSTATUS& unlocked) const {
  auto lock = versioned<NV_ENC_LOCK_BITSTREAM>();
  lock.outputBitstream = output.handle();
  session_.check(session_.lock(lock), "nvEncLockBitstream");
  EncodedPicture picture;
  try {
    const auto* first = static_cast<const std::byte*>(lock.bitstreamBufferPtr);
    picture.bytes.assign(first, first + lock.bitstreamSizeInBytes);
  } catch (...) {
    session_.release(&Api::nvEncUnlockBitstream, lock.outputBitstream);
    throw;
  }
  picture.pts = static_cast<std::int64_t>(lock.outputTimeStamp);
  picture.type = lock.pictureType;
  picture.average_qp = lock.frameAvgQP;
  unlocked = session_.unlock(lock.outputBitstream);
  return picture;
}

std::optional<EncodedPicture> Pipeline::take() {
  if (certain() == 0) return std::nullopt;
  const cuda::Current current(session_.context());
  OutputBuffer* output = in_flight_.front();
  NVENCSTATUS unlocked = NV_ENC_SUCCESS;
  EncodedPicture picture = read(*output, unlocked);
  in_flight_.pop_front();
  free_outputs_.push_back(output);
  if (complete_ > 0) --complete_;
  const auto sent = pictures_.find(picture.pts);
  check(sent != pictures_.end(), ErrorCode::device,
        "nvenc: {}: the driver gave a packet of time {}, which no picture on its way has",
        session_.gpu().device().to_string(), picture.pts);
  InputBuffer* input = sent->second;
  pictures_.erase(sent);
  free_inputs_.push_back(input);
  input->unmap();
  session_.check(unlocked, "nvEncUnlockBitstream");
  return picture;
}

bool Pipeline::can_become(const EncoderOptions& changed) const {
  const cuda::Current current(session_.context());
  const Configuration next = configure(session_, changed);
  const NV_ENC_RC_PARAMS &now = configuration_.config.rcParams, &then = next.config.rcParams;
  const auto can = [&](NV_ENC_CAPS which) { return session_.capability(next.codec, which) != 0; };
  const bool new_rate = now.averageBitRate != then.averageBitRate || now.maxBitRate != then.maxBitRate;
  if (new_rate && !can(NV_ENC_CAPS_SUPPORT_DYN_BITRATE_CHANGE)) return false;
  if (now.rateControlMode == then.rateControlMode || can(NV_ENC_CAPS_SUPPORT_DYN_RCMODE_CHANGE)) return true;
  return then.rateControlMode == NV_ENC_PARAMS_RC_CONSTQP && can(NV_ENC_CAPS_SUPPORT_DYN_FORCE_CONSTQP);
}

void Pipeline::become(const EncoderOptions& changed) {
  const cuda::Current current(session_.context());
  Configuration next = configure(session_, changed);
  const bool resized = next.init.encodeWidth != configuration_.init.encodeWidth ||
                       next.init.encodeHeight != configuration_.init.encodeHeight;
  auto parameters = versioned<NV_ENC_RECONFIGURE_PARAMS>();
  parameters.reInitEncodeParams = next.init;
  parameters.reInitEncodeParams.encodeConfig = &next.config;
  parameters.resetEncoder = parameters.forceIDR = resized;
  session_.call(&Api::nvEncReconfigureEncoder, "nvEncReconfigureEncoder", &parameters);
  configuration_ = next;
  options_ = changed;
}

} // namespace lanner::nvenc
