#pragma once
// When the frames of a clip are shown in a file that is written of them.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/packet.h>
#include <lanner/video_writer.h>

namespace lanner {

/// Nearest tick of another time base. Throws Error{bad_data} beyond 64 bits.
std::int64_t rescaled(std::int64_t ticks, const Rational& from, const Rational& to);
/// Whether the container shows its frames evenly spaced and begins at 0, whatever their times are.
bool is_steady(std::string_view format) noexcept;

/// Turns the times of a clip's frames into those of a file: they grow, they go on where the clip's own begin
/// anew (files that were joined), and they are counted in ticks that codec and container can hold.
class ClipTimes {
public:
  struct Target {
    std::string format; ///< FFmpeg's name of the container.
    std::string codec;  ///< EncoderOptions::codec.
    Rational rate;      ///< Nominal frames a second.
    std::optional<double>
        begin; ///< Seconds of the clip's clock that become 0; nothing: see VideoWriterOptions.
  };
  /// `source`: the ticks in which the clip's times come.
  ClipTimes(Rational source, Target target, NoteCallback note);

  /// The ticks that next() counts in, and those that it takes.
  Rational time_base() const noexcept { return base_; }
  Rational source() const noexcept { return source_; }
  /// Whether the time fits behind the last one. Else next() has to know the time of the frame that follows,
  /// which tells a single wrong time from a clock that begins anew.
  bool fits(std::int64_t pts) const noexcept;
  /// The tick of the next frame, which the clip shows at `pts` for `duration` (no_pts and 0 where it does not
  /// say); `following` is the time of the frame behind it, asked for where the time does not fit. Throws
  /// Error{bad_data} for times that no file can hold.
  std::int64_t next(std::int64_t pts, std::int64_t duration, std::int64_t following = no_pts);
  /// For how many ticks the frame of the last next() is shown; 0 where the clip does not say.
  std::int64_t length() const;
  /// Seconds of the clip's clock at the file's 0; of use after the first next().
  double origin() const noexcept { return seconds_of(begin_, source_); }
  /// Says what was not said one by one.
  void finish() const;

private:
  std::int64_t placed(std::int64_t pts, std::int64_t following);
  std::int64_t moved(std::int64_t pts, std::int64_t following);
  void set_begin(std::int64_t first);
  void tell(std::int64_t pts, std::int64_t time, const char* why);

  Rational source_, base_;
  Target target_;
  NoteCallback note_;
  std::int64_t step_ = 1;                   ///< Of a frame without a duration, in the clip's ticks.
  std::int64_t begin_ = 0;                  ///< Where the file's times begin in those of the clip.
  std::int64_t last_ = no_pts, length_ = 0; ///< Of the frame before, in the clip's ticks.
  std::int64_t shown_ = 0;                  ///< What of `length_` lies behind `begin_`.
  std::int64_t shift_ = 0;                  ///< Of the part that is being read.
  std::int64_t written_ = no_pts;           ///< The last time that was given.
  std::int64_t frames_ = 0, moves_ = 0;
};

} // namespace lanner
