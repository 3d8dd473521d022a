#pragma once
// Compressed streams as Python has them: demuxers, packets, decoders, and what a container says of a stream.

#include <functional>

#include <lanner/decoder.h>
#include <lanner/demuxer.h>
#include <lanner/packet.h>

#include "calls/bindings.h"

namespace lanner::python {

void register_packet(nb::module_& module);
void register_demuxer(nb::module_& module);
void register_decoder(nb::module_& module);
void register_muxer(nb::module_& module);
void register_audio_reader(nb::module_& module);
/// What is for those who demux and decode themselves: a constructor, and facts of the stream.
void register_description(nb::class_<StreamInfo>& stream);
/// Frame.contiguous().
void register_contiguous(nb::class_<Frame>& frame);
/// Image.contiguous() and Image.from_contiguous().
void register_contiguous(nb::class_<Image>& image);

/// Calls `body` with the demuxer that an object of Python's is, without the GIL. TypeError where it is none.
void with_demuxer(nb::handle object, const std::function<void(Demuxer&)>& body);

/// A time as Python has it: None where there is none.
std::optional<std::int64_t> time_of(std::int64_t ticks) noexcept;
/// Ticks of a time of Python's.
std::int64_t ticks_of(std::optional<std::int64_t> time) noexcept;
/// A fraction of anything that Fraction takes.
Rational to_rational(std::string_view name, nb::handle value);

} // namespace lanner::python
