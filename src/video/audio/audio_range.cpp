#include "video/audio/audio_range.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/limits/limit_error.h"

namespace lanner {

namespace {

/// libswresample's default, at rates that do not fall; see its option filter_size.
constexpr double filter_taps = 32;

__extension__ using Wide = __int128;

std::int64_t scaled(std::int64_t value, std::int64_t by, std::int64_t over) {
  const Wide product = static_cast<Wide>(value) * by / over;
  return product > std::numeric_limits<std::int64_t>::max() ? std::numeric_limits<std::int64_t>::max()
                                                            : static_cast<std::int64_t>(product);
}

/// Collects tensors [channels, any] and joins what lies in a range.
class Parts {
public:
  Parts(std::int64_t begin, std::int64_t end, std::int64_t at, const Limits& limits)
      : begin_(begin), end_(end), at_(at), limits_(limits) {}

  bool full() const noexcept { return at_ >= end_; }

  void add(Tensor part) {
    if (!part.defined()) return;
    const std::int64_t count = part.shape()[1];
    const std::int64_t first = std::clamp<std::int64_t>(begin_ - at_, 0, count);
    const std::int64_t last = std::clamp<std::int64_t>(end_ - at_, first, count);
    at_ += count;
    if (first == last) return;
    samples_ += last - first;
    const std::uint64_t row = static_cast<std::uint64_t>(part.shape()[0]) * (bit_width(part.dtype()) / 8);
    const std::uint64_t bytes =
        limited_product("tensor_bytes", limits_.tensor_bytes, row, static_cast<std::uint64_t>(samples_),
                        "bytes of samples of audio");
    // Once in parts, and once joined.
    check_limit("total_bytes", 2 * bytes, limits_.total_bytes, "{} bytes of audio in one range", bytes);
    parts_.push_back({std::move(part), first, last - first});
  }

  Tensor join(std::int64_t channels, DType dtype) {
    if (parts_.size() == 1 && parts_[0].count == parts_[0].samples.shape()[1])
      return std::move(parts_[0].samples);
    Tensor joined = Tensor::allocate(dtype, {channels, samples_}, {}, {}, limits_);
    const std::size_t size = bit_width(dtype) / 8;
    std::int64_t at = 0;
    for (Part& part : parts_) {
      copy(part, at, size, joined);
      at += part.count;
      part.samples = {};
    }
    return joined;
  }

private:
  struct Part {
    Tensor samples;
    std::int64_t first, count;
  };
  void copy(const Part& part, std::int64_t at, std::size_t size, Tensor& to) const {
    const auto* from = static_cast<const std::byte*>(std::as_const(part.samples).data());
    auto* into = static_cast<std::byte*>(to.data());
    const std::int64_t row = part.samples.shape()[1];
    check(part.samples.shape()[0] == to.shape()[0], ErrorCode::internal, "audio: {} channels, expected {}",
          part.samples.shape()[0], to.shape()[0]);
    for (std::int64_t channel = 0; channel < to.shape()[0]; ++channel)
      std::memcpy(into + static_cast<std::size_t>(channel * samples_ + at) * size,
                  from + static_cast<std::size_t>(channel * row + part.first) * size,
                  static_cast<std::size_t>(part.count) * size);
  }

  std::int64_t begin_, end_, at_; ///< `at_`: number of the next sample that comes.
  Limits limits_;
  std::vector<Part> parts_;
  std::int64_t samples_ = 0;
};

/// Converts blocks as they come. Where their format changes, a resampler goes on, as it would in the whole
/// stream; without one the next block begins anew.
class Conversion {
public:
  Conversion(const AudioBlock& first, const AudioTarget& target, bool resamples, Parts& parts)
      : target_(target), resamples_(resamples), parts_(parts), format_(first.format),
        converter_(create_audio_converter(first, target)) {}

  void take(const AudioBlock& block, std::int64_t first, std::int64_t count) {
    if (!resamples_ && block.format != format_) {
      converter_ = create_audio_converter(block, target_);
      format_ = block.format;
    }
    parts_.add(converter_->convert(block, first, count));
  }
  void finish() { parts_.add(converter_->finish()); }

private:
  AudioTarget target_;
  bool resamples_;
  Parts& parts_;
  AudioFormat format_;
  std::unique_ptr<AudioConverter> converter_;
};

} // namespace

RateChange::RateChange(std::int32_t from, std::int32_t to) : in_(from), out_(to) {
  const std::int64_t common = std::gcd(in_, out_);
  in_period_ = in_ / common;
  out_period_ = out_ / common;
  const double widened = std::max(1.0, static_cast<double>(in_) / static_cast<double>(out_) / 0.9);
  margin_ = static_cast<std::int64_t>(2 * filter_taps * widened) + 64;
}

std::int64_t RateChange::begin_for(std::int64_t first) const {
  if (none()) return first;
  const std::int64_t ahead = scaled(margin_, out_, in_) + 1;
  return std::max<std::int64_t>(0, first - ahead) / out_period_ * out_period_;
}

std::int64_t RateChange::source_of(std::int64_t begin) const {
  return none() ? begin : scaled(begin / out_period_, in_period_, 1);
}

std::int64_t RateChange::source_end(std::int64_t end) const {
  if (none()) return end;
  const std::int64_t exact = scaled(end, in_, out_);
  return exact > std::numeric_limits<std::int64_t>::max() - margin_ ? std::numeric_limits<std::int64_t>::max()
                                                                    : exact + margin_;
}

double RateChange::to_new(double sample) const {
  return none() ? sample : sample * static_cast<double>(out_) / static_cast<double>(in_);
}
double RateChange::to_old(double sample) const {
  return none() ? sample : sample * static_cast<double>(in_) / static_cast<double>(out_);
}

Tensor read_range(AudioTrack& track, const AudioTarget& target, std::int64_t begin, std::int64_t end,
                  const Limits& limits) {
  const AudioBlock* first_block = track.first_block();
  if (!first_block || begin >= end) return Tensor::allocate(target.dtype, {target.channels, 0});
  const RateChange rates(first_block->format.sample_rate, target.sample_rate);
  const std::int64_t start = rates.begin_for(begin);
  Parts parts(begin, end, start, limits);
  Conversion conversion(*first_block, target, !rates.none(), parts);
  const auto take = [&](const AudioBlock& block, std::int64_t first, std::int64_t count) {
    conversion.take(block, first, count);
    return !parts.full();
  };
  const bool ended = track.read(rates.source_of(start), rates.source_end(end), take);
  if (ended) conversion.finish();
  return parts.join(target.channels, target.dtype);
}

} // namespace lanner
