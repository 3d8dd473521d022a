// The order of pictures in the stream, by the GOP pattern.

#include <algorithm>

#include "fake_libraries/nvenc/functions.h"

namespace lanner::fake_nvenc {

using namespace nvenc;

namespace {

bool intra(NV_ENC_PIC_TYPE type) {
  return type == NV_ENC_PIC_TYPE_I || type == NV_ENC_PIC_TYPE_IDR;
}

/// The QP that is told: the constant one, else the target or 28, within the bounds.
int qp_of(const Settings& settings, NV_ENC_PIC_TYPE type) {
  const NV_ENC_RC_PARAMS& rate = settings.config.rcParams;
  const auto of = [type](const NV_ENC_QP& qp) {
    return static_cast<int>(intra(type) ? qp.qpIntra : type == NV_ENC_PIC_TYPE_B ? qp.qpInterB : qp.qpInterP);
  };
  if (rate.rateControlMode == NV_ENC_PARAMS_RC_CONSTQP) return of(rate.constQP);
  int qp = rate.targetQuality > 0 ? rate.targetQuality : 28;
  if (rate.enableMinQP) qp = std::max(qp, of(rate.minQP));
  if (rate.enableMaxQP) qp = std::min(qp, of(rate.maxQP));
  return qp;
}

void begin_idr(Session& session) {
  ++session.idr_number;
  session.reference_number = 0;
  session.kept.clear();
  session.reference_times.clear();
}

void keep_reference(Session& session, const Submitted& source) {
  const std::size_t most = source.settings->references();
  ++session.reference_number;
  session.kept.push_back(source.order);
  if (session.kept.size() > most)
    session.kept.erase(std::min_element(session.kept.begin(), session.kept.end()));
  session.reference_times.push_back(source.parameters.inputTimeStamp);
  if (session.reference_times.size() > most) session.reference_times.erase(session.reference_times.begin());
}

bool wants_headers(Session& session, const Submitted& source) {
  const Settings& settings = *source.settings;
  if (source.parameters.encodePicFlags & NV_ENC_PIC_FLAG_OUTPUT_SPSPPS) return true;
  if (source.type != NV_ENC_PIC_TYPE_IDR || !settings.writes_headers()) return false;
  return std::exchange(session.headers_due, false) || settings.repeats_headers();
}

/// The next picture of the stream, into the output that waits longest.
void emit(Session& session, Submitted source, bool reference) {
  CodedPicture picture;
  picture.type = source.type;
  picture.reference = reference;
  if (source.type == NV_ENC_PIC_TYPE_IDR) begin_idr(session);
  picture.headers = wants_headers(session, source);
  picture.order = source.order;
  picture.reference_number = session.reference_number;
  picture.idr_number = session.idr_number;
  picture.kept = session.kept;
  picture.messages = source.messages;
  picture.qp = qp_of(*source.settings, source.type);
  if (reference) keep_reference(session, source);
  if (session.waiting.empty()) return; // its output was destroyed
  BitstreamBuffer& output = session.outputs.at(session.waiting.front());
  session.waiting.pop_front();
  output.state = BufferState::ready;
  output.content = Placed{std::move(source), std::move(picture), {}};
}

/// B pictures between the last anchor and the one behind them.
void emit_held(Session& session) {
  auto held = std::exchange(session.held, {});
  if (held.empty()) return;
  const NV_ENC_BFRAME_REF_MODE mode = held.front().settings->b_references();
  std::size_t middle = SIZE_MAX;
  if (mode == NV_ENC_BFRAME_REF_MODE_MIDDLE && held.size() > 1) {
    middle = 0;
    std::rotate(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(held.size() / 2),
                held.begin() + static_cast<std::ptrdiff_t>(held.size() / 2) + 1);
  }
  for (std::size_t i = 0; i < held.size(); ++i)
    emit(session, std::move(held[i]), mode == NV_ENC_BFRAME_REF_MODE_EACH || i == middle);
}

/// A picture that B pictures before it may refer to. AV1 hands out a shown picture at a time, in display
/// order, with those that are not shown before it.
void emit_anchor(Session& session, Submitted anchor) {
  if (anchor.settings->codec() == Codec::av1) {
    emit_held(session);
    return emit(session, std::move(anchor), true);
  }
  emit(session, std::move(anchor), true);
  emit_held(session);
}

/// Without a picture behind them the last of those that wait becomes a P picture.
void close(Session& session) {
  if (session.held.empty()) return;
  Submitted last = std::move(session.held.back());
  session.held.pop_back();
  last.type = NV_ENC_PIC_TYPE_P;
  emit_anchor(session, std::move(last));
}

NV_ENC_PIC_TYPE decide(Session& session, const Submitted& picture) {
  const Settings& settings = *picture.settings;
  const std::uint32_t flags = picture.parameters.encodePicFlags, period = settings.idr_period(),
                      length = settings.config.gopLength;
  const bool idr = std::exchange(session.force_idr, false) || (flags & NV_ENC_PIC_FLAG_FORCEIDR) ||
                   (period != infinite_gop_length && session.since_idr >= period);
  if (idr) {
    session.since_idr = session.since_intra = 0;
    session.force_intra = false;
    return NV_ENC_PIC_TYPE_IDR;
  }
  const bool forced = std::exchange(session.force_intra, false) || (flags & NV_ENC_PIC_FLAG_FORCEINTRA);
  if (forced || settings.config.frameIntervalP == 0 ||
      (length != infinite_gop_length && session.since_intra >= length)) {
    session.since_intra = 0;
    return NV_ENC_PIC_TYPE_I;
  }
  const auto interval = static_cast<std::uint32_t>(settings.config.frameIntervalP);
  return session.since_intra % interval == 0 ? NV_ENC_PIC_TYPE_P : NV_ENC_PIC_TYPE_B;
}

/// The caller decides, and gives pictures in the order of the stream.
void place_decided(Session& session, Submitted picture) {
  const auto& codec = picture.parameters.codecPicParams;
  const bool h264 = picture.settings->codec() == Codec::h264, av1 = picture.settings->codec() == Codec::av1;
  picture.type = picture.parameters.pictureType;
  picture.order = h264  ? codec.h264PicParams.displayPOCSyntax
                  : av1 ? codec.av1PicParams.displayPOCSyntax
                        : codec.hevcPicParams.displayPOCSyntax;
  const std::uint32_t reference = h264  ? codec.h264PicParams.refPicFlag
                                  : av1 ? codec.av1PicParams.refPicFlag
                                        : codec.hevcPicParams.refPicFlag;
  session.force_idr = false;
  const bool refers = picture.type == NV_ENC_PIC_TYPE_IDR || reference != 0;
  emit(session, std::move(picture), refers);
}

} // namespace

void place(Session& session, Submitted picture) {
  if (!picture.settings->init.enablePTD) return place_decided(session, std::move(picture));
  picture.type = decide(session, picture);
  picture.order = session.since_idr++;
  ++session.since_intra;
  if (picture.type == NV_ENC_PIC_TYPE_B) return session.held.push_back(std::move(picture));
  if (picture.type == NV_ENC_PIC_TYPE_IDR) close(session);
  emit_anchor(session, std::move(picture));
}

void flush(Session& session) {
  while (!session.lookahead.empty()) {
    Submitted next = std::move(session.lookahead.front());
    session.lookahead.pop_front();
    place(session, std::move(next));
  }
  close(session);
}

void write(Call& call, Placed& placed) {
  if (placed.written) return;
  const Submitted& source = placed.source;
  if (hash_of(source.view) != source.hash)
    call.note(fmt::format("the input of picture {} was changed before it was encoded", source.number));
  placed.written =
      write_picture(*source.settings, placed.picture, read_samples(source.view, source.settings->form()));
}

void write_placed(Call& call, const void* input) {
  for (auto& [handle, output] : call.session().outputs)
    if (output.content && (!input || output.content->source.parameters.inputBuffer == input))
      write(call, *output.content);
}

bool Session::waits(const void* input) const {
  const auto from = [input](const Submitted& picture) { return picture.parameters.inputBuffer == input; };
  return std::ranges::any_of(lookahead, from) || std::ranges::any_of(held, from);
}

bool Session::busy(const void* input) const {
  const auto unlocked = [&](const Submitted& picture) {
    return picture.parameters.inputBuffer == input &&
           std::ranges::any_of(to_lock, [&](const auto& output) { return output.second == picture.number; });
  };
  if (waits(input)) return true;
  return std::ranges::any_of(outputs, [&](const auto& entry) {
    const auto& content = entry.second.content;
    return content && !content->written && unlocked(content->source);
  });
}

} // namespace lanner::fake_nvenc
