#include <algorithm>

#include "fake_libraries/nvenc/checks.h"
#include "fake_libraries/nvenc/functions.h"
#include "fake_libraries/nvenc/reserved.h"

extern "C" int cuStreamSynchronize(void*);

namespace lanner::fake_nvenc {

using namespace nvenc;

namespace {

/// Where a picture lies: in a buffer of the library that is not locked, or in a mapped resource.
Status find_input(Call& call, const NV_ENC_PIC_PARAMS& picture, PictureView& view) {
  Session& session = call.session();
  if (!picture.inputBuffer) return call.refuse(NV_ENC_ERR_INVALID_PTR, "inputBuffer is null");
  if (const auto buffer = session.inputs.find(picture.inputBuffer); buffer != session.inputs.end()) {
    if (buffer->second.locked) return call.refuse(NV_ENC_ERR_INVALID_CALL, "inputBuffer is locked");
    view = buffer->second.view;
  } else if (const auto mapping = session.mappings.find(picture.inputBuffer);
             mapping != session.mappings.end()) {
    view = session.resources.at(mapping->second).view;
  } else if (session.resources.contains(picture.inputBuffer)) {
    return call.refuse(NV_ENC_ERR_RESOURCE_NOT_MAPPED,
                       "inputBuffer is a registered resource, not its mapping");
  } else {
    return call.refuse(NV_ENC_ERR_INVALID_PARAM, "inputBuffer is no buffer and no mapping of this session");
  }
  return NV_ENC_SUCCESS;
}

/// What the picture says of its input is what the input is; what the stream needs it to be, too.
Status check_input(Call& call, const NV_ENC_PIC_PARAMS& picture, const PictureView& view) {
  const Settings& s = call.settings();
  const FormatFacts facts = facts_of(view.format);
  const unsigned depth = s.codec() == Codec::av1 ? 8 + s.av1().inputPixelBitDepthMinus8 : s.depth();
  Checker check(call);
  check.require(picture.bufferFmt == view.format, NV_ENC_ERR_INVALID_PARAM,
                "bufferFmt is {:#x}, the buffer's format {:#x}", unsigned{picture.bufferFmt},
                unsigned{view.format});
  check.require(picture.inputWidth <= view.width && picture.inputHeight <= view.height,
                NV_ENC_ERR_INVALID_PARAM, "the picture is {}x{}, the buffer {}x{}", picture.inputWidth,
                picture.inputHeight, view.width, view.height);
  check.require(picture.inputPitch == view.pitch || picture.inputPitch == picture.inputWidth,
                NV_ENC_ERR_INVALID_PARAM, "inputPitch is {}, the buffer's pitch {}", picture.inputPitch,
                view.pitch);
  check.require(facts.packed || facts.chroma == s.chroma(), NV_ENC_ERR_INVALID_PARAM,
                "bufferFmt has chroma_format_idc {}, chromaFormatIDC is {}", facts.chroma, s.chroma());
  check.require(facts.depth == depth, NV_ENC_ERR_INVALID_PARAM, "bufferFmt has {} bits, the session takes {}",
                facts.depth, depth);
  return check.status();
}

Status check_output(Call& call, void* buffer) {
  Session& session = call.session();
  if (!buffer) return call.refuse(NV_ENC_ERR_INVALID_PTR, "outputBitstream is null");
  const auto found = session.outputs.find(buffer);
  if (found == session.outputs.end())
    return call.refuse(NV_ENC_ERR_INVALID_PARAM, "outputBitstream is no bitstream buffer of this session");
  switch (found->second.state) {
  case BufferState::idle:
    return NV_ENC_SUCCESS;
  case BufferState::locked:
    return call.refuse(NV_ENC_ERR_INVALID_CALL, "outputBitstream is locked");
  default:
    return call.refuse(NV_ENC_ERR_INVALID_CALL,
                       "outputBitstream is in use: its picture was not locked and unlocked");
  }
}

/// What was queued in the stream that pictures are made in is done before they are read.
Status wait_for_input(Call& call) {
  const InContext context(call.session());
  const int status = cuStreamSynchronize(call.session().input_stream);
  if (status == 0) return NV_ENC_SUCCESS;
  return call.tell(NV_ENC_ERR_GENERIC, fmt::format("the input's stream: CUDA error {}", status));
}

Status end_stream(Call& call, const NV_ENC_PIC_PARAMS& picture) {
  Session& session = call.session();
  if (picture.inputBuffer || picture.outputBitstream)
    return call.refuse(NV_ENC_ERR_INVALID_PARAM, "NV_ENC_PIC_FLAG_EOS comes without buffers");
  world().pictures.push_back(picture);
  flush(session);
  write_placed(call);
  session.force_idr = true;
  return NV_ENC_SUCCESS;
}

/// Through the lookahead into the stream.
Status take(Call& call, Submitted picture) {
  Session& session = call.session();
  void* output = picture.parameters.outputBitstream;
  const NV_ENC_RC_PARAMS& rate = picture.settings->config.rcParams;
  const std::size_t depth =
      rate.enableLookahead && picture.settings->init.enablePTD ? rate.lookaheadDepth : 0;
  session.outputs.at(output).state = BufferState::waiting;
  session.waiting.push_back(output);
  session.to_lock.emplace_back(output, picture.number);
  const std::size_t waiting = session.waiting.size();
  session.lookahead.push_back(std::move(picture));
  while (session.lookahead.size() > depth) {
    Submitted next = std::move(session.lookahead.front());
    session.lookahead.pop_front();
    place(session, std::move(next));
  }
  if (session.waiting.size() < waiting) return NV_ENC_SUCCESS;
  return call.tell(NV_ENC_ERR_NEED_MORE_INPUT, "the picture waits for those behind it");
}

void give_statistics(const Placed& placed, NV_ENC_LOCK_BITSTREAM& p) {
  const Settings& settings = *placed.source.settings;
  const BlockGrid grid = blocks_of(settings);
  if (settings.init.reportSliceOffsets) {
    p.numSlices = static_cast<std::uint32_t>(placed.written->slices.size());
    if (p.sliceOffsets) std::ranges::copy(placed.written->slices, p.sliceOffsets);
  }
  if (p.getRCStats) {
    p.intraMBCount = grid.columns * grid.rows;
    p.interMBCount = 0;
    p.averageMVX = p.averageMVY = 0;
  }
}

void give_picture(const Placed& placed, NV_ENC_LOCK_BITSTREAM& p) {
  const NV_ENC_PIC_PARAMS& given = placed.source.parameters;
  p.bitstreamBufferPtr = const_cast<std::uint8_t*>(placed.written->bytes.data());
  p.bitstreamSizeInBytes = static_cast<std::uint32_t>(placed.written->bytes.size());
  p.frameIdx = given.frameIdx;
  p.frameIdxDisplay = placed.source.number;
  p.outputTimeStamp = given.inputTimeStamp;
  p.outputDuration = given.inputDuration;
  p.pictureType = placed.picture.type;
  p.pictureStruct = given.pictureStruct;
  p.frameAvgQP = static_cast<std::uint32_t>(placed.picture.qp);
  p.hwEncodeStatus = p.frameSatd = p.ltrFrameIdx = p.ltrFrameBitmap = p.temporalId = p.alphaLayerSizeInBytes =
      0;
  p.ltrFrame = 0;
}

} // namespace

Status encode(Call& call, NV_ENC_PIC_PARAMS* picture) {
  Session& session = call.session();
  session.encoding_thread = std::this_thread::get_id();
  if (picture->encodePicFlags & NV_ENC_PIC_FLAG_EOS) return end_stream(call, *picture);
  Submitted made{*picture, session.settings, {}, 0, {}, session.number, 0, NV_ENC_PIC_TYPE_P};
  if (const Status status = check_picture(call, *picture); status != NV_ENC_SUCCESS) return status;
  if (const Status status = find_input(call, *picture, made.view); status != NV_ENC_SUCCESS) return status;
  if (const Status status = check_input(call, *picture, made.view); status != NV_ENC_SUCCESS) return status;
  if (const Status status = check_output(call, picture->outputBitstream); status != NV_ENC_SUCCESS)
    return status;
  if (const Status status = read_messages(call, *picture, made.messages); status != NV_ENC_SUCCESS)
    return status;
  if (const Status status = wait_for_input(call); status != NV_ENC_SUCCESS) return status;
  made.view.width = picture->inputWidth, made.view.height = picture->inputHeight;
  made.hash = hash_of(made.view);
  ++session.number;
  world().pictures.push_back(*picture);
  return take(call, std::move(made));
}

Status lock_bitstream(Call& call, NV_ENC_LOCK_BITSTREAM* p) {
  Session& session = call.session();
  if (!reserved_clear(*p))
    return call.refuse(NV_ENC_ERR_INVALID_PARAM, "a reserved member of NV_ENC_LOCK_BITSTREAM is not 0");
  const auto found = session.outputs.find(p->outputBitstream);
  if (found == session.outputs.end())
    return call.refuse(NV_ENC_ERR_INVALID_PARAM, "outputBitstream is no bitstream buffer of this session");
  BitstreamBuffer& buffer = found->second;
  switch (buffer.state) {
  case BufferState::idle:
    return call.refuse(NV_ENC_ERR_INVALID_PARAM, "the bitstream buffer has no picture");
  case BufferState::locked:
    return call.refuse(NV_ENC_ERR_INVALID_CALL, "the bitstream buffer is locked already");
  case BufferState::waiting:
    if (p->doNotWait) return call.tell(NV_ENC_ERR_LOCK_BUSY, "the picture is not encoded yet");
    return call.refuse(
        NV_ENC_ERR_INVALID_CALL,
        "the picture waits for those behind it (NV_ENC_ERR_NEED_MORE_INPUT): this would wait for ever");
  case BufferState::ready:
    break;
  }
  if (session.to_lock.front().first != p->outputBitstream)
    return call.refuse(NV_ENC_ERR_INVALID_CALL,
                       "bitstream buffers are locked in the order that they were given in");
  write(call, *buffer.content);
  give_picture(*buffer.content, *p);
  give_statistics(*buffer.content, *p);
  session.to_lock.pop_front();
  buffer.state = BufferState::locked;
  return NV_ENC_SUCCESS;
}

Status unlock_bitstream(Call& call, void* buffer) {
  const auto found = call.session().outputs.find(buffer);
  if (found == call.session().outputs.end())
    return call.refuse(NV_ENC_ERR_INVALID_PARAM, "there is no such bitstream buffer");
  if (found->second.state != BufferState::locked)
    return call.refuse(NV_ENC_ERR_INVALID_CALL, "the bitstream buffer is not locked");
  found->second.state = BufferState::idle;
  std::ranges::fill(found->second.content->written->bytes, std::uint8_t{0xee}); // reading it later is seen
  return NV_ENC_SUCCESS;
}

} // namespace lanner::fake_nvenc
