#include "output/outputs.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "check.h"
#include "input/padding.h"
#include "interrupt.h"
#include "options/limit_option.h"
#include "output/console.h"
#include "output/frame_sink.h"

namespace lanner::tool {
namespace {

namespace fs = std::filesystem;

std::string ending_of(const std::string& path) {
  std::string ending = fs::path(path).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending;
}

bool is_picture_name(const std::string& path) {
  const std::string ending = ending_of(path);
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

/// png and jpg are not containers of clips.
bool is_picture_format(const std::string& format) {
  return format == "png" || format == "jpg" || format == "jpeg";
}

std::string first_ending(const Container& container) {
  return std::string(container.endings.substr(0, container.endings.find(' ')));
}

/// Suffix after the stem of a file in a folder.
std::string ending_for(const RunInput& input, const std::string& format) {
  if (input.still) return is_picture_format(format) ? "." + format : ".png";
  return format.empty() || is_picture_format(format) ? ".mp4" : first_ending(container_named(format));
}

/// One file for each input, with its name; equal names are numbered.
void place_in_folder(const std::string& folder, const std::string& format, std::vector<RunInput>& inputs) {
  std::set<std::string> taken;
  for (RunInput& input : inputs) {
    const std::string stem = fs::path(input.path).stem().string(), ending = ending_for(input, format);
    std::string name = stem + ending;
    for (int number = 2; !taken.insert(name).second; ++number)
      name = fmt::format("{}_{}{}", stem, number, ending);
    input.output = (fs::path(folder) / name).string();
    input.form = input.still ? OutputForm::picture : OutputForm::clip;
    input.format = input.still || is_picture_format(format) ? std::string() : format;
  }
}

void place_numbered(const std::string& output, std::vector<RunInput>& inputs) {
  const PictureName name(output);
  const bool stills = std::ranges::all_of(inputs, &RunInput::still);
  check(stills || inputs.size() == 1, ErrorCode::invalid_argument,
        "-o {}: the number is of one clip's frames, or of images; for {} inputs name a folder, with / at its "
        "end",
        output, inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].form = stills ? OutputForm::picture : OutputForm::numbered;
    inputs[i].output = stills ? name.of(static_cast<std::int64_t>(i)) : output;
  }
}

/// Checks an output that is a stream: standard output, a pipe or a device.
void place_direct(const std::string& output, const std::string& format, RunInput& input) {
  check(!names_stdout(output) || ::isatty(STDOUT_FILENO) == 0, ErrorCode::invalid_argument,
        "-o -: standard output is a terminal; redirect it to a pipe or a file");
  input.output = names_stdout(output) ? "-" : output;
  input.form = input.still ? OutputForm::picture : OutputForm::clip;
  input.format = !format.empty() ? format : input.still ? "png" : "matroska";
  check(is_picture_format(input.format) == input.still, ErrorCode::invalid_argument, "--format {}: {} is {}",
        input.format, input.path,
        input.still ? "an image; expected png or jpg" : "a clip; expected mkv, ts, mp4, y4m");
}

void place_file(const std::string& output, const std::string& format, RunInput& input) {
  const bool animation = is_animation(format); // Of any name: an APNG may be called .png.
  const bool picture = (is_picture_name(output) && !animation) || is_picture_format(format);
  check(picture == input.still, ErrorCode::invalid_argument, "-o {}: {} is {}; name {}", output, input.path,
        input.still ? "an image" : "a video",
        input.still ? "a .png or .jpg" : "a video file, like marked.mp4, or images, like marked_%05d.png");
  check(!input.still || is_picture_name(output), ErrorCode::invalid_argument,
        "-o {}: the extension chooses the image format; name a .png or .jpg", output);
  input.output = output;
  input.form = picture ? OutputForm::picture : OutputForm::clip;
  input.format = input.still ? std::string() : format;
}

void require_folder_of(const std::string& output) {
  const fs::path parent = fs::path(output).parent_path();
  std::error_code ignored;
  check(parent.empty() || fs::is_directory(parent, ignored), ErrorCode::not_found,
        "-o {}: no such folder: {}", output, parent.string());
}

/// Whether the pictures are stored in 4:2:0 or 4:2:2. GIF and APNG have no YUV, and WebP takes odd sizes.
bool halves_chroma(const EncoderOptions& options) {
  const PixelFormatInfo& facts = format_info(options.format);
  return !is_animation(options.codec) && facts.yuv && (facts.chroma_x > 0 || facts.chroma_y > 0);
}

/// A frame of any format, stretched to the first one's size, as FFmpeg's players show such a clip.
Image scaled(const Image& image, std::int32_t width, std::int32_t height) {
  Preprocess spec;
  spec.width = width;
  spec.height = height;
  spec.dtype = DType::u8;
  spec.channels_last = true;
  spec.resize = Resize::antialias;
  const Tensor pixels = to_tensor(image, spec);
  const Shape shape{height, width, 3};
  return Image::from_tensor(Tensor::wrap(const_cast<void*>(pixels.data()), DType::u8, shape, pixels.owner()),
                            PixelFormat::rgb24);
}

} // namespace

void place_outputs(const std::string& output, const std::string& format, std::vector<RunInput>& inputs) {
  check(format.empty() || !output.empty(), ErrorCode::invalid_argument,
        "--format {}: needs an output; give -o", format);
  if (!format.empty() && !is_picture_format(format)) container_named(format); // Checked before the work.
  if (output.empty()) return;
  std::error_code ignored;
  if (output.ends_with('/') || fs::is_directory(output, ignored))
    return place_in_folder(output, format, inputs);
  const bool direct = is_direct(output);
  if (!direct) require_folder_of(output);
  const bool numbered = PictureName(output).numbered() && is_picture_name(output);
  if (numbered && !direct) return place_numbered(output, inputs);
  check(inputs.size() == 1, ErrorCode::invalid_argument,
        "-o {}: is one file for {} inputs; name a folder, with / at its end{}", output, inputs.size(),
        is_picture_name(output) ? ", or images, like marked_%05d.png" : "");
  direct ? place_direct(output, format, inputs[0]) : place_file(output, format, inputs[0]);
}

void declare_outputs(const std::vector<RunInput>& inputs, Files& files) {
  for (const RunInput& input : inputs) {
    const std::string role = inputs.size() > 1 ? fmt::format("-o of {}", input.path) : "-o";
    if (input.form != OutputForm::numbered) {
      files.writes(role, input.output);
      continue;
    }
    const fs::path folder = fs::path(input.output).parent_path();
    files.writes_into(role, folder.empty() ? "." : folder.string(),
                      fs::path(input.output).extension().string());
  }
}

void save_picture(const std::string& path, const Image& image) {
  std::string kind = ending_of(path);
  kind.erase(0, 1);
  OutputFile file(path);
  file.write(encode_image(image, kind));
  file.commit(false);
}

void write_picture(const RunInput& input, const Image& marked, bool to_disk) {
  if (input.format.empty())
    return to_disk ? save_image(input.output, marked) : save_picture(input.output, marked);
  const std::vector<std::byte> bytes = encode_image(marked, input.format);
  ByteOutput output("-o", input.output);
  output.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  output.commit();
}

MarkedClip::MarkedClip(const RunInput& input, const StreamInfo& stream, const FrameRange& range)
    : input_(input), stream_(stream), range_(range) {
  if (input_.form == OutputForm::clip) open_clip();
}

bool MarkedClip::is_raw() const {
  return container_ && container_->codecs.empty();
}

void MarkedClip::open_clip() {
  container_ = input_.format.empty() ? container_of(input_.output) : &container_named(input_.format);
  const bool direct = is_direct(input_.output);
  if (direct || is_raw()) bytes_ = std::make_unique<ByteOutput>("-o", input_.output);
  if (is_raw()) return;
  if (!direct) { // What is wrong with the place is told now, though the file begins with the first picture.
    MuxerOptions options = input_.writing->muxer;
    options.format = format();
    create_muxer(input_.output, options);
    return;
  }
  const auto take = [this](std::span<const std::byte> bytes) {
    bytes_->write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    bytes_->commit();
  };
  check(!input_.writing->muxer.fragmented, ErrorCode::invalid_argument,
        "--fragmented: is of files; MP4 in a pipe is in fragments always");
  muxer_ = create_muxer(take, format(), "-o " + input_.output);
}

std::string MarkedClip::format() const {
  return container_ ? std::string(container_->format) : std::string();
}

EncoderOptions annotated_encoder(std::string_view container, const TranscodeOptions& writing) {
  EncoderOptions options = encoder_for_format(container, writing.encoder);
  const bool open = !writing.format && !is_animation(container); // Which may have alpha.
  if (open && is_lossless(options)) options.format = PixelFormat::rgb24;
  return options;
}

EncoderOptions MarkedClip::encoder() const {
  EncoderOptions options = annotated_encoder(format(), *input_.writing);
  options.rate = rate_;
  const bool turned = std::lround(stream_.rotation / 90) % 2 != 0;
  const Rational& aspect = stream_.sample_aspect;
  if (aspect.den > 0 && aspect.num > 0)
    options.sample_aspect = turned ? Rational{aspect.den, aspect.num} : aspect;
  if (turned || stream_.mirror || stream_.rotation != 0) options.color = stream_.color;
  // Animations end in a long picture as a rule, and MP4 has the length of the one that is decoded last.
  if (is_animation(stream_.codec) && options.b_frames < 0) options.b_frames = 0;
  return options;
}

/// What lies beside the pictures comes along, of a clip that can be opened again.
CopiedStreams MarkedClip::copied(const Frame& first) const {
  CopiedStreams streams;
  if (input_.source) return streams;
  streams.source = open_path(input_.path, given_limits());
  const TranscodeOptions& writing = *input_.writing;
  streams.audio = writing.audio;
  streams.subtitles = writing.subtitles;
  streams.attachments = writing.attachments;
  streams.chapters = writing.chapters;
  streams.tags = writing.tags;
  streams.demuxer.limits = given_limits();
  streams.demuxer.cancel = interrupt_token();
  if (range_.start > 0) streams.begin = first.seconds();
  streams.end = range_.end < std::numeric_limits<double>::infinity()
                    ? first.seconds() + range_.end - range_.start
                    : range_.end;
  return streams;
}

void MarkedClip::begin(const Image& first, const Frame& frame) {
  begun_ = true;
  width_ = first.width;
  height_ = first.height;
  if (input_.form != OutputForm::clip) return;
  rate_ = stream_.average_rate;
  if (rate_.num <= 0 || rate_.den <= 0) rate_ = {25, 1};
  if (range_.rate > 0 && range_.rate < rate_.to_double())
    rate_ = {std::max<std::int64_t>(1, std::llround(range_.rate * 1000)), 1000};
  rate_.den *= range_.stride;
  if (is_raw()) {
    raw_.emplace(*bytes_, rate_, stream_.sample_aspect);
    return;
  }
  VideoWriterOptions options(encoder());
  halves_chroma_ = halves_chroma(options.encoder);
  options.on_size_change = input_.writing->on_size_change;
  options.muxer = input_.writing->muxer;
  options.copied = copied(frame);
  if (range_.start > 0) options.begin = frame.seconds(); // A part that begins late in its clip begins at 0.
  options.note = [this](const std::string& line) {
    print_note(fmt::format("note: -o {}: {}", input_.output, line));
  };
  if (bytes_) {
    writer_.emplace(std::move(muxer_), options);
  } else {
    options.muxer.format = format();
    writer_.emplace(input_.output, options);
  }
}

/// Even sizes, and of what is no container one size.
Image MarkedClip::fitted(const Image& marked, std::int64_t frame) {
  Image image = marked;
  if (is_raw()) {
    if (image.width == width_ && image.height == height_) return image;
    if (!std::exchange(scaled_, true))
      print_note(
          fmt::format("{}: its size changes from {}x{} to {}x{} at frame {}; the output keeps the first",
                      input_.path, width_, height_, image.width, image.height, frame));
    return scaled(image, width_, height_);
  }
  if (!halves_chroma_) return image;
  const std::int32_t width = image.width + image.width % 2, height = image.height + image.height % 2;
  if (width == image.width && height == image.height) return image;
  if (!std::exchange(padded_, true))
    print_note(fmt::format("-o {}: {}x{} was padded to {}x{}: 4:2:0 needs even sizes", input_.output,
                           image.width, image.height, width, height));
  return padded_even(image);
}

/// How long this output shows the frame, in ticks of its clip: until the next selected frame.
std::int64_t MarkedClip::length_of(const Frame& frame) const {
  const double tick = frame.time_base.to_double();
  const double each = range_.rate > 0 && tick > 0
                          ? std::max(static_cast<double>(frame.duration), 1 / range_.rate / tick)
                          : static_cast<double>(frame.duration);
  const double length = each * static_cast<double>(range_.stride);
  return length < 9e18 ? std::llround(length) : 0;
}

void MarkedClip::write(const Image& marked, const Frame& frame) {
  if (!begun_) begin(marked, frame);
  if (input_.form == OutputForm::numbered)
    save_picture(PictureName(input_.output).of(frame.index), marked);
  else if (raw_)
    raw_->write(fitted(marked, frame.index));
  else {
    Frame written = frame;
    written.image = fitted(marked, frame.index);
    written.duration = length_of(frame);
    writer_->write(written);
  }
}

void MarkedClip::finish() {
  if (writer_) writer_->finish();
  if (bytes_) bytes_->commit();
}

} // namespace lanner::tool
