#pragma once
// libnvidia-encode without a GPU, on the memory of the fake driver. It is written from the comments of
// NVIDIA's nvEncodeAPI.h (12.1) and knows nothing of our encoder. Found by LANNER_LIBRARY_PATH under the name
// libnvidia-encode.so.1. Every call is checked: versions and reserved members of structures, order of calls,
// each member of a configuration against itself and against what the device can do, formats, sizes and
// pitches of buffers, which buffer is whose and in use. What is wrong gives the status that the header has
// for it, and is told in words by fake_nvenc_misuse() and nvEncGetLastErrorString.
//
// Pictures are encoded without loss and without prediction, whatever rate and QP are asked for: H.264 as
// I_PCM macroblocks (CAVLC or CABAC), HEVC as PCM coding units, both in slices of the types that the GOP
// pattern gives, with the parameter sets, VUI, slices and SEI messages of the configuration. Any decoder
// decodes them to the samples that were given. AV1 has real temporal delimiters and sequence headers; its
// frames begin with what tells their type and are opaque behind it: nothing decodes them. A picture's samples
// are read when its bitstream is locked, the latest that hardware could: an input that was changed before
// gives other pictures, and is told as misuse.
//
// What real hardware does that this does not:
// - It compresses: rates, VBV, AQ, multi-pass, minQP and the like show in frameAvgQP at most, which is the
//   constant QP, else the target quality or 28, within minQP and maxQP. The HRD is not written into the VUI;
//   buffering period and picture timing messages, filler data, LTR, SVC, intra refresh, MVC, alpha layers,
//   weighted prediction and tiles are checked where the header says how, and change no bit.
// - It decides: lookahead delays here and changes no picture type; B pictures are never left out.
// - It takes time. Here a call is done when it returns, and NV_ENC_ERR_LOCK_BUSY comes by
//   fake_nvenc_fail_in() alone. nvEncLockBitstream of a picture that waits for more input would block for
//   ever: here it is misuse.
// - It forgives: many real drivers take a wrong pitch, a reserved member, a mapped input that is unmapped
//   early. Where the header says "must", this fails.
// - Its numbers are its own: presets and capabilities here are those of no GPU; only what the header says of
//   them holds (which presets have B pictures, that lossless ones have QP 0).
// - Output to video memory, reconstructed frames, statistics, saved states, external motion hints and
//   motion estimation alone are refused as a device refuses what it does not have.

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
/// What was done wrong since then, one a line: function, status, words. Empty when nothing was. Statuses that
/// a test asked for are not in it.
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
