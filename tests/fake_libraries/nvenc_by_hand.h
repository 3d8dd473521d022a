#pragma once
// Sessions of the fake libnvidia-encode, driven through its table by hand, as NVIDIA's header says.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/decoder.h>

#include "fake_libraries/fake_nvenc.h"

namespace lanner::test {

/// The library's table, by its entry point.
const nvenc::NV_ENCODE_API_FUNCTION_LIST& nvenc_table();

/// A device as it begins, nothing left and nothing done wrong at the end.
class FakeNvenc : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;
};

/// Misuse since the last call, which forgets it.
std::string take_misuse();

/// Memory of the fake GPU.
class GpuMemory {
public:
  explicit GpuMemory(std::size_t bytes);
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;
  ~GpuMemory();
  void* data() const noexcept { return data_; }

private:
  void* data_ = nullptr;
};

void* fake_context();

struct EncodedPicture {
  std::vector<std::byte> bytes;
  nvenc::NV_ENC_PIC_TYPE type = nvenc::NV_ENC_PIC_TYPE_UNKNOWN;
  std::uint64_t time = 0;
  std::uint32_t frame = 0, display = 0, qp = 0, slices = 0;
};

/// A session whose configuration is a preset's, changed; small pictures of a pattern.
class HandSession {
public:
  nvenc::NV_ENC_INITIALIZE_PARAMS init;
  nvenc::NV_ENC_CONFIG config;
  nvenc::NV_ENC_BUFFER_FORMAT format = nvenc::NV_ENC_BUFFER_FORMAT_NV12;

  /// Opens a session; its configuration is the preset's (1 to 7).
  explicit HandSession(const nvenc::GUID& codec = nvenc::NV_ENC_CODEC_H264_GUID, int preset = 1,
                       nvenc::NV_ENC_TUNING_INFO tuning = nvenc::NV_ENC_TUNING_INFO_HIGH_QUALITY);
  HandSession(const HandSession&) = delete;
  HandSession& operator=(const HandSession&) = delete;
  ~HandSession();

  void* handle() const noexcept { return session_; }
  nvenc::NVENCSTATUS initialise();
  /// Initialises it, with `buffers` bitstream buffers and as many inputs: of the library, or mapped memory of
  /// the GPU.
  void start(std::size_t buffers = 40, bool mapped = false);
  /// Encodes the pattern's picture of `time`; what is encoded by then goes to `encoded`.
  nvenc::NVENCSTATUS encode(int time, const std::function<void(nvenc::NV_ENC_PIC_PARAMS&)>& change = {});
  /// The picture that lies in the `slot`-th input.
  nvenc::NVENCSTATUS encode_again(std::size_t slot,
                                  const std::function<void(nvenc::NV_ENC_PIC_PARAMS&)>& change = {});
  nvenc::NVENCSTATUS end();
  /// Parameters of a picture in the `slot`-th buffers.
  nvenc::NV_ENC_PIC_PARAMS picture(std::size_t slot) const;
  void write_input(std::size_t slot, int time);
  void* output(std::size_t slot) const { return slots_.at(slot).output; }
  void* input(std::size_t slot) const { return slots_.at(slot).input; }
  void* memory(std::size_t slot) const { return slots_.at(slot).memory->data(); }
  /// Gives everything back.
  void close();
  /// Forgets a session that was destroyed.
  void abandon() { session_ = nullptr; }

  std::vector<EncodedPicture> encoded;
  /// Of the encoded pictures one letter each, in the order of the stream: D for IDR, I, P, B.
  std::string types() const;
  std::vector<std::byte> stream() const;

private:
  struct Slot {
    void *input = nullptr, *output = nullptr, *resource = nullptr;
    std::uint32_t pitch = 0;
    std::unique_ptr<GpuMemory> memory;
  };
  void make_input(Slot& slot, bool mapped);
  void take(Slot& slot);
  void* session_ = nullptr;
  std::vector<Slot> slots_;
  std::vector<std::size_t> submitted_;
  std::size_t next_ = 0;
  std::uint32_t frame_ = 0;
  int time_ = 0; ///< Of the input written last.
};

/// Decodes a stream by FFmpeg.
std::vector<Frame> decode_stream(const std::vector<std::byte>& stream, bool sei = false);
/// The pattern at `time` in the planes of a decoded frame.
void expect_pattern(const Frame& frame, int time);

} // namespace lanner::test
