#pragma once
// How EncoderOptions are spelled for each of FFmpeg's encoders.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/encoder.h>

#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

/// One encoder before it opens: what was asked for, and what becomes of it.
class EncoderSettings {
public:
  /// `stored` is the encoder's own pixel format. All of them outlive it.
  EncoderSettings(const AVCodec& codec, const EncoderOptions& options, PixelFormat stored,
                  AVCodecContext& context);

  /// Fills the context and the dictionary. Throws Error{invalid_argument, unsupported} for what the encoder
  /// cannot do.
  void fill(Dictionary& settings);

  std::string_view encoder() const { return codec_.name; }
  const EncoderOptions& options() const { return options_; }
  PixelFormat stored() const { return stored_; }
  AVCodecContext& context() { return context_; }
  /// An option of FFmpeg's encoder, or of the library behind it. A text of codec_options stays where the
  /// option comes of a tuning or a preset; where it was asked for too, the two exclude each other.
  void set(const std::string& key, const std::string& value, bool asked = true);
  void drop(const std::string& key) { values_.erase(key); }
  /// One number for all types of pictures. Throws where they differ, and outside of the bounds.
  int single_qp(std::string_view name, const QpByType& qp, int least, int most) const;
  /// Rate, bound and buffer as the context has them, in whole thousands of bits.
  void set_rates();
  void set_period();
  void refuse(bool condition, std::string_view line) const;
  template<typename... Arguments>
  void require(bool condition, fmt::format_string<Arguments...> line, Arguments&&... arguments) const {
    if (!condition) refuse(true, fmt::format(line, std::forward<Arguments>(arguments)...));
  }

private:
  struct Value {
    std::string text;
    bool asked;
  };
  bool is_own_option(const std::string& key) const;
  void check_refusals() const;
  void set_preset();
  void set_tuning();
  void set_quality();
  void put_parameters(Dictionary& settings) const;

  const AVCodec& codec_;
  const EncoderOptions& options_;
  PixelFormat stored_;
  AVCodecContext& context_;
  std::map<std::string, Value> values_;
};

/// Those of each family, called by fill().
void set_x264(EncoderSettings& settings);
void set_x265(EncoderSettings& settings);
void set_svt_av1(EncoderSettings& settings);
void set_aom(EncoderSettings& settings);
void set_other(EncoderSettings& settings);

/// The option of FFmpeg's encoder that takes settings of the library behind it; null where there is none.
const char* parameters_option(std::string_view encoder);

} // namespace lanner::ffmpeg
