#pragma once
// A fake libnvidia-encode on the memory of the fake CUDA driver, written from the comments of NVIDIA's
// nvEncodeAPI.h (12.1), independent of our encoder. Found through LANNER_LIBRARY_PATH as
// libnvidia-encode.so.1. Every call is checked: structure versions and reserved members, call order, every
// member of a configuration for consistency and against the capabilities, formats, sizes and pitches,
// ownership and reuse of buffers. A misuse returns the status that the header documents for it;
// fake_nvenc_misuse() and nvEncGetLastErrorString say in words what was wrong.
//
// Pictures are coded losslessly without prediction, whatever the rate and QP: H.264 as I_PCM macroblocks
// (CAVLC or CABAC), HEVC as PCM coding units, in slices of the types that the GOP pattern gives, with the
// parameter sets, VUI, slices and SEI messages of the configuration. Any decoder returns the input samples
// exactly. AV1 has real temporal delimiters, sequence headers and metadata OBUs; a frame OBU starts with
// show_existing_frame, frame_type and show_frame, the rest is opaque and no decoder can decode it. Input is
// read when its bitstream is locked, when the input is locked again or unmapped, or at the end of the stream:
// the latest time that real hardware could read it. Input that changed since nvEncEncodePicture is recorded
// as misuse.
//
// What real hardware does and this fake does not:
// - Compression: bit rate, VBV, AQ, multi-pass and QP bounds only affect frameAvgQP, which is constQP, else
// the
//   target quality or 28, clamped to minQP and maxQP. No HRD in the VUI. Buffering period, picture timing and
//   recovery point SEI, filler data, LTR, temporal SVC, intra refresh, film grain and tiles are checked as
//   far as the header states rules, but do not change the stream.
// - Decisions: lookahead delays output and never changes a picture type; B-frames are never dropped.
// - Asynchronous work: a call has finished when it returns. NV_ENC_ERR_LOCK_BUSY only comes from doNotWait on
// a
//   picture that needs more input, or from fake_nvenc_fail_in(). A waiting lock of such a picture would block
//   forever and is a misuse.
// - Tolerance: real drivers accept some wrong pitches, non-zero reserved members or early unmapping. Where
// the
//   header says "must", the fake refuses. It does not check that 4 more buffers than B-frames were created.
// - Real numbers: presets and capabilities are invented, except for what the header states (which presets use
//   B-frames; lossless tuning means constant QP 0). Encoding after the end of the stream starts with an IDR
//   picture; the header does not say what a driver does.
// - Output to video memory, reconstructed frames, statistics, saved states, external hints, MVC, alpha layers
// and
//   motion estimation only mode are refused as unsupported.

#include <cstddef>
#include <cstdint>

#include "video/nvenc/nvenc_api.h"

extern "C" {

/// Calls so far that may fail, all threads together. nvEncDestroyEncoder, those that give back, and
/// nvEncGetLastErrorString are calls too; only the last cannot fail.
std::size_t fake_nvenc_calls();
/// The `number`-th call from now on (1 is the next) gives `status` and does nothing; 0 gives none. What gives
/// back has given back all the same.
void fake_nvenc_fail(std::size_t number, int status);
/// The same of the `number`-th call of one function, by its name in the table ("nvEncLockBitstream").
void fake_nvenc_fail_in(const char* function, std::size_t number, int status);

/// Names of the calls since the last fake_nvenc_forget(), one a line. Valid until the next call of this.
const char* fake_nvenc_log();
/// Misuses since then, one a line: function, status, explanation. Empty when there were none. Injected
/// failures are not listed.
const char* fake_nvenc_misuse();
/// Forgets the log, the misuse and the pictures, not what fails or what the device can do.
void fake_nvenc_forget();

/// What is not given back: sessions, input and bitstream buffers, registered resources, mappings.
long fake_nvenc_sessions();
long fake_nvenc_buffers();
long fake_nvenc_resources();
long fake_nvenc_mapped();
/// Buffers, resources and mappings that were left when their session was destroyed, so far; pictures that
/// were never flushed out of one.
long fake_nvenc_leaked();
long fake_nvenc_unflushed();

/// The device: what NvEncodeAPIGetMaxSupportedVersion tells, how many sessions it opens at a time, whether it
/// has a codec (0: H.264, 1: HEVC, 2: AV1), and values of capabilities (an NV_ENC_CAPS).
void fake_nvenc_set_version(std::uint32_t version);
void fake_nvenc_limit_sessions(std::size_t most);
void fake_nvenc_offer_codec(int codec, bool offered);
void fake_nvenc_set_capability(int codec, int capability, int value);
/// All codecs, all sessions and the capabilities that it began with; no call fails.
void fake_nvenc_reset_device();

/// What the last session was configured with that was initialised or reconfigured; its encodeConfig points to
/// a copy too, of the preset where the caller gave none. Null before the first.
const lanner::nvenc::NV_ENC_INITIALIZE_PARAMS* fake_nvenc_configuration();
/// Pictures since the last fake_nvenc_forget() that nvEncEncodePicture took, the end of a stream included, as
/// they were given. Pointers in them may lead nowhere by now.
std::size_t fake_nvenc_pictures();
const lanner::nvenc::NV_ENC_PIC_PARAMS* fake_nvenc_picture(std::size_t number);
}
