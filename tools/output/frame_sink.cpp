#include "output/frame_sink.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include <lanner/error.h>
#include <lanner/image.h>
#include <lanner/upright.h>

#include "check.h"
#include "output/console.h"
#include "output/outputs.h"

namespace lanner::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view written_pictures[] = {".png", ".jpg", ".jpeg"};
constexpr std::string_view other_pictures[] = {".bmp", ".gif",  ".tif",  ".tiff", ".webp",
                                               ".ppm", ".pgm",  ".pbm",  ".pam",  ".jp2",
                                               ".jxl", ".avif", ".heic", ".exr",  ".tga"};
constexpr std::string_view clips[] = {".mp4", ".m4v", ".mov",  ".mkv", ".webm", ".avi",
                                      ".ts",  ".mts", ".m2ts", ".flv", ".mpg",  ".mpeg",
                                      ".ogv", ".wmv", ".3gp",  ".y4m", ".ivf",  ".mxf"};

std::string ending_of(const std::string& path) {
  std::string text = fs::path(path).extension().string();
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool is_one_of(std::string_view ending, std::span<const std::string_view> endings) {
  return std::ranges::find(endings, ending) != endings.end();
}

EVP_MD_CTX* context_of(void* context) {
  return static_cast<EVP_MD_CTX*>(context);
}

} // namespace

PictureName::PictureName(const std::string& text) : before_(text) {
  for (std::size_t start = text.find('%'); start != std::string::npos; start = text.find('%', start + 1)) {
    std::size_t at = start + 1;
    const bool zeros = at < text.size() && text[at] == '0';
    int digits = 0;
    for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) && digits < 100; ++at)
      digits = digits * 10 + (text[at] - '0');
    if (at >= text.size() || text[at] != 'd' || digits > 18) continue;
    before_ = text.substr(0, start);
    after_ = text.substr(at + 1);
    digits_ = digits;
    zeros_ = zeros;
    numbered_ = true;
    return;
  }
}

std::string PictureName::of(std::int64_t frame) const {
  if (!numbered_) return before_;
  const std::string number =
      zeros_ ? fmt::format("{:0{}}", frame, digits_) : fmt::format("{:{}}", frame, digits_);
  return before_ + number + after_;
}

FrameOutput frame_output(const std::string& output) {
  if (output.empty()) return FrameOutput::none;
  if (output == "-") return FrameOutput::standard_output;
  const std::string ending = ending_of(output);
  check(!is_one_of(ending, other_pictures), ErrorCode::invalid_argument,
        "-o {}: pictures are written as .png or .jpg; name one of these, or a name like frames.rgb for raw "
        "pixels",
        output);
  check(!is_one_of(ending, clips), ErrorCode::invalid_argument,
        "-o {}: decode writes raw pixels, no {} file; lanner transcode makes a clip, and a name like "
        "frames.yuv takes the pixels",
        output, ending);
  return is_one_of(ending, written_pictures) ? FrameOutput::pictures : FrameOutput::raw;
}

Md5::Md5() : context_(EVP_MD_CTX_new()) {
  check(context_ && EVP_DigestInit_ex(context_of(context_.get()), EVP_md5(), nullptr) == 1,
        ErrorCode::unsupported, "MD5 is switched off in this system's OpenSSL");
}

void Md5::Free::operator()(void* context) const {
  EVP_MD_CTX_free(context_of(context));
}

void Md5::update(std::string_view bytes) {
  EVP_DigestUpdate(context_of(context_.get()), bytes.data(), bytes.size());
}

std::string Md5::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(context_of(context_.get()), digest, &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

FrameSink::FrameSink(const std::string& output, bool md5, Files& files, std::optional<FrameSize> size)
    : output_(output), kind_(frame_output(output)), name_(output), files_(files), size_(size) {
  const bool several = kind_ == FrameOutput::pictures && name_.numbered();
  if (!several) files.writes("-o", output);
  const bool to_stdout = kind_ == FrameOutput::standard_output;
  check(!to_stdout || isatty(STDOUT_FILENO) == 0, ErrorCode::invalid_argument,
        "-o -: standard output is a terminal; send raw frames into a pipe or a file");
  check(!to_stdout || !md5, ErrorCode::invalid_argument,
        "-o - and --md5 would both write to standard output; give one");
  if (kind_ == FrameOutput::raw) file_.emplace(output);
  if (kind_ == FrameOutput::pictures) {
    const fs::path folder = fs::path(output).parent_path();
    std::error_code ignored;
    check(folder.empty() || fs::is_directory(folder, ignored), ErrorCode::not_found,
          "-o {}: its folder does not exist; create it first", output);
  }
  if (md5) md5_.emplace();
}

void FrameSink::expect(std::int64_t frames) const {
  check(kind_ != FrameOutput::pictures || name_.numbered() || frames <= 1, ErrorCode::invalid_argument,
        "-o {}: is one picture for several frames; choose one with --frames N, or number them, like "
        "frame%03d.png",
        output_);
}

Image FrameSink::write(const Frame& frame) {
  Image image = frame.image;
  const bool pictures = kind_ == FrameOutput::pictures;
  if (!pictures || md5_) {
    if (size_) image = scaled_image(image, *size_, image.format);
    write_rows(image);
  }
  if (!pictures) return image;
  Image picture = upright_image(frame);
  if (size_) image = picture = scaled_image(picture, *size_, picture_format(picture));
  write_picture(frame.index, std::move(picture));
  return image;
}

// Rows without their padding, plane by plane.
void FrameSink::write_rows(const Image& image) {
  if (!file_ && !md5_ && kind_ != FrameOutput::standard_output) return;
  for (int p = 0; p < plane_count(image.format); ++p) {
    const Plane& plane = plane_at(image, p);
    const auto row = static_cast<std::size_t>(plane_row_bytes(image, p));
    for (std::int32_t y = 0; y < plane.height; ++y)
      write(std::string_view(reinterpret_cast<const char*>(plane.data + y * plane.pitch), row));
  }
}

void FrameSink::write(std::string_view bytes) {
  if (md5_) md5_->update(bytes);
  if (file_) file_->write(bytes);
  if (kind_ == FrameOutput::standard_output) print_out(bytes);
}

// That there is but one frame is known at the end: until then nothing is written.
void FrameSink::write_picture(std::int64_t frame, Image image) {
  if (!name_.numbered()) {
    expect(only_ ? 2 : 1);
    only_ = std::move(image);
    return;
  }
  const std::string path = name_.of(frame);
  Files(files_).writes("-o", path); // Against what is read; a frame may be asked for twice.
  save_picture(path, image);
}

void FrameSink::finish() {
  if (file_) file_->commit();
  if (only_) save_image(output_, *only_);
  if (md5_) print_text(md5_->hex() + "\n");
  flush_out();
}

} // namespace lanner::tool
