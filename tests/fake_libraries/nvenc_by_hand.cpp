#include "fake_libraries/nvenc_by_hand.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <lanner/video_reader.h>

#include "fake_driver/fake_cuda.h"

extern "C" {
lanner::nvenc::NVENCSTATUS NvEncodeAPICreateInstance(lanner::nvenc::NV_ENCODE_API_FUNCTION_LIST*);
int cuDevicePrimaryCtxRetain(void**, int);
int cuCtxPushCurrent_v2(void*);
int cuCtxPopCurrent_v2(void**);
int cuMemAlloc_v2(std::uint64_t*, std::size_t);
int cuMemFree_v2(std::uint64_t);
}

namespace lanner::test {

using namespace nvenc;

namespace {

constexpr std::uint32_t picture_width = 162, picture_height = 66; // no multiples of 16

unsigned pattern_sample(unsigned plane, unsigned x, unsigned y, int time, unsigned depth) {
  const unsigned value = x * 3 + y * 5 + (x * y >> 3) + plane * 40 + static_cast<unsigned>(time) * 13;
  return x % 9 == 0 ? 0 : value & ((1u << depth) - 1);
}

struct Form {
  unsigned depth = 8, chroma = 1;
  bool interleaved = true;
};
Form form_of(NV_ENC_BUFFER_FORMAT format) {
  switch (format) {
  case NV_ENC_BUFFER_FORMAT_IYUV:
    return {8, 1, false};
  case NV_ENC_BUFFER_FORMAT_YUV444:
    return {8, 3, false};
  case NV_ENC_BUFFER_FORMAT_YUV420_10BIT:
    return {10, 1, true};
  case NV_ENC_BUFFER_FORMAT_YUV444_10BIT:
    return {10, 3, false};
  default:
    return {};
  }
}

void write_pattern(std::uint8_t* to, std::uint32_t pitch, NV_ENC_BUFFER_FORMAT format, int time) {
  const Form form = form_of(format);
  const unsigned bytes = form.depth > 8 ? 2 : 1;
  for (unsigned plane = 0; plane < 3; ++plane) {
    const unsigned half = plane > 0 && form.chroma == 1, width = picture_width >> half,
                   height = picture_height >> half;
    const bool pairs = half && form.interleaved;
    const std::size_t row = half && !pairs ? pitch / 2 : pitch;
    std::uint8_t* first = to;
    if (plane > 0) first += std::size_t{pitch} * picture_height;
    if (plane == 2 && !pairs) first += row * height;
    for (unsigned y = 0; y < height; ++y)
      for (unsigned x = 0; x < width; ++x) {
        const unsigned value = pattern_sample(plane, x, y, time, form.depth) << (bytes == 2 ? 6 : 0);
        std::memcpy(first + y * row + (pairs ? 2 * x + plane - 1 : x) * bytes, &value, bytes);
      }
  }
}

GUID preset_guid(int number) {
  const GUID all[] = {NV_ENC_PRESET_P1_GUID, NV_ENC_PRESET_P2_GUID, NV_ENC_PRESET_P3_GUID,
                      NV_ENC_PRESET_P4_GUID, NV_ENC_PRESET_P5_GUID, NV_ENC_PRESET_P6_GUID,
                      NV_ENC_PRESET_P7_GUID};
  return all[number - 1];
}

} // namespace

const NV_ENCODE_API_FUNCTION_LIST& nvenc_table() {
  static const auto table = [] {
    auto made = versioned<NV_ENCODE_API_FUNCTION_LIST>();
    EXPECT_EQ(NvEncodeAPICreateInstance(&made), NV_ENC_SUCCESS);
    return made;
  }();
  return table;
}

void FakeNvenc::SetUp() {
  fake_nvenc_reset_device();
  fake_nvenc_forget();
}

void FakeNvenc::TearDown() {
  EXPECT_STREQ(fake_nvenc_misuse(), "");
  EXPECT_EQ(fake_nvenc_sessions(), 0);
  fake_nvenc_reset_device();
}

std::string take_misuse() {
  const std::string words = fake_nvenc_misuse();
  fake_nvenc_forget();
  return words;
}

void* fake_context() {
  void* context = nullptr;
  cuDevicePrimaryCtxRetain(&context, 0);
  return context;
}

GpuMemory::GpuMemory(std::size_t bytes) {
  std::uint64_t made = 0;
  void* popped = nullptr;
  cuCtxPushCurrent_v2(fake_context());
  EXPECT_EQ(cuMemAlloc_v2(&made, bytes), 0);
  cuCtxPopCurrent_v2(&popped);
  data_ = reinterpret_cast<void*>(made);
}
GpuMemory::~GpuMemory() {
  cuMemFree_v2(reinterpret_cast<std::uint64_t>(data_));
}

HandSession::HandSession(const GUID& codec, int preset, NV_ENC_TUNING_INFO tuning) {
  auto open = versioned<NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS>();
  open.deviceType = NV_ENC_DEVICE_TYPE_CUDA;
  open.device = fake_context();
  open.apiVersion = api_version;
  EXPECT_EQ(nvenc_table().nvEncOpenEncodeSessionEx(&open, &session_), NV_ENC_SUCCESS);
  auto made = versioned<NV_ENC_PRESET_CONFIG>();
  EXPECT_EQ(nvenc_table().nvEncGetEncodePresetConfigEx(session_, codec, preset_guid(preset), tuning, &made),
            NV_ENC_SUCCESS);
  config = made.presetCfg;
  init = versioned<NV_ENC_INITIALIZE_PARAMS>();
  init.encodeGUID = codec;
  init.presetGUID = preset_guid(preset);
  init.tuningInfo = tuning;
  init.encodeWidth = picture_width, init.encodeHeight = picture_height;
  init.frameRateNum = 25, init.frameRateDen = 1;
  init.enablePTD = 1;
}

HandSession::~HandSession() {
  close();
}

NVENCSTATUS HandSession::initialise() {
  init.encodeConfig = &config;
  return nvenc_table().nvEncInitializeEncoder(session_, &init);
}

void HandSession::make_input(Slot& slot, bool mapped) {
  const std::uint32_t bytes = form_of(format).depth > 8 ? 2 : 1;
  if (!mapped) {
    auto made = versioned<NV_ENC_CREATE_INPUT_BUFFER>();
    made.width = init.encodeWidth, made.height = init.encodeHeight;
    made.bufferFmt = format;
    ASSERT_EQ(nvenc_table().nvEncCreateInputBuffer(session_, &made), NV_ENC_SUCCESS);
    slot.input = made.inputBuffer;
    return;
  }
  slot.pitch = (init.encodeWidth * bytes + 63) / 64 * 64;
  slot.memory = std::make_unique<GpuMemory>(std::size_t{slot.pitch} * init.encodeHeight * 3);
  auto made = versioned<NV_ENC_REGISTER_RESOURCE>();
  made.resourceType = NV_ENC_INPUT_RESOURCE_TYPE_CUDADEVICEPTR;
  made.resourceToRegister = slot.memory->data();
  made.width = init.encodeWidth, made.height = init.encodeHeight, made.pitch = slot.pitch;
  made.bufferFormat = format;
  ASSERT_EQ(nvenc_table().nvEncRegisterResource(session_, &made), NV_ENC_SUCCESS);
  slot.resource = made.registeredResource;
}

void HandSession::start(std::size_t buffers, bool mapped) {
  ASSERT_EQ(initialise(), NV_ENC_SUCCESS) << fake_nvenc_misuse();
  for (std::size_t i = 0; i < buffers; ++i) {
    Slot& slot = slots_.emplace_back();
    make_input(slot, mapped);
    auto made = versioned<NV_ENC_CREATE_BITSTREAM_BUFFER>();
    ASSERT_EQ(nvenc_table().nvEncCreateBitstreamBuffer(session_, &made), NV_ENC_SUCCESS);
    slot.output = made.bitstreamBuffer;
  }
}

void HandSession::write_input(std::size_t number, int time) {
  Slot& slot = slots_.at(number);
  time_ = time;
  if (slot.memory) {
    write_pattern(static_cast<std::uint8_t*>(slot.memory->data()), slot.pitch, format, time);
    auto map = versioned<NV_ENC_MAP_INPUT_RESOURCE>();
    map.registeredResource = slot.resource;
    ASSERT_EQ(nvenc_table().nvEncMapInputResource(session_, &map), NV_ENC_SUCCESS);
    ASSERT_EQ(map.mappedBufferFmt, format);
    slot.input = map.mappedResource;
    return;
  }
  auto lock = versioned<NV_ENC_LOCK_INPUT_BUFFER>();
  lock.inputBuffer = slot.input;
  ASSERT_EQ(nvenc_table().nvEncLockInputBuffer(session_, &lock), NV_ENC_SUCCESS) << fake_nvenc_misuse();
  slot.pitch = lock.pitch;
  write_pattern(static_cast<std::uint8_t*>(lock.bufferDataPtr), lock.pitch, format, time);
  ASSERT_EQ(nvenc_table().nvEncUnlockInputBuffer(session_, slot.input), NV_ENC_SUCCESS);
}

NV_ENC_PIC_PARAMS HandSession::picture(std::size_t number) const {
  auto made = versioned<NV_ENC_PIC_PARAMS>();
  const Slot& slot = slots_.at(number);
  made.inputWidth = init.encodeWidth, made.inputHeight = init.encodeHeight, made.inputPitch = slot.pitch;
  made.inputBuffer = slot.input;
  made.outputBitstream = slot.output;
  made.bufferFmt = format;
  made.pictureStruct = NV_ENC_PIC_STRUCT_FRAME;
  return made;
}

NVENCSTATUS HandSession::encode(int time, const std::function<void(NV_ENC_PIC_PARAMS&)>& change) {
  const std::size_t slot = next_;
  next_ = (next_ + 1) % slots_.size();
  write_input(slot, time);
  return encode_again(slot, change);
}

NVENCSTATUS HandSession::encode_again(std::size_t slot,
                                      const std::function<void(NV_ENC_PIC_PARAMS&)>& change) {
  NV_ENC_PIC_PARAMS parameters = picture(slot);
  parameters.frameIdx = frame_++;
  parameters.inputTimeStamp = static_cast<std::uint64_t>(time_) * 1000;
  if (change) change(parameters);
  const NVENCSTATUS status = nvenc_table().nvEncEncodePicture(session_, &parameters);
  if (status != NV_ENC_SUCCESS && status != NV_ENC_ERR_NEED_MORE_INPUT) return status;
  submitted_.push_back(slot);
  // The oldest is certainly there when as many are on their way as B pictures and the lookahead can hold.
  const std::size_t held = static_cast<std::size_t>(std::max(config.frameIntervalP, 1)) +
                           (config.rcParams.enableLookahead ? config.rcParams.lookaheadDepth : 0u);
  while (submitted_.size() > held) {
    take(slots_[submitted_.front()]);
    submitted_.erase(submitted_.begin());
  }
  return status;
}

NVENCSTATUS HandSession::end() {
  auto last = versioned<NV_ENC_PIC_PARAMS>();
  last.encodePicFlags = NV_ENC_PIC_FLAG_EOS;
  const NVENCSTATUS status = nvenc_table().nvEncEncodePicture(session_, &last);
  for (const std::size_t slot : submitted_) take(slots_[slot]);
  submitted_.clear();
  return status;
}

void HandSession::take(Slot& slot) {
  auto lock = versioned<NV_ENC_LOCK_BITSTREAM>();
  lock.outputBitstream = slot.output;
  ASSERT_EQ(nvenc_table().nvEncLockBitstream(session_, &lock), NV_ENC_SUCCESS) << fake_nvenc_misuse();
  const auto* first = static_cast<const std::byte*>(lock.bitstreamBufferPtr);
  encoded.push_back({{first, first + lock.bitstreamSizeInBytes},
                     lock.pictureType,
                     lock.outputTimeStamp,
                     lock.frameIdx,
                     lock.frameIdxDisplay,
                     lock.frameAvgQP,
                     lock.numSlices});
  ASSERT_EQ(nvenc_table().nvEncUnlockBitstream(session_, slot.output), NV_ENC_SUCCESS);
  if (!slot.resource) return;
  EXPECT_EQ(nvenc_table().nvEncUnmapInputResource(session_, slot.input), NV_ENC_SUCCESS);
  slot.input = nullptr;
}

void HandSession::close() {
  if (!session_) return;
  const auto& api = nvenc_table();
  const auto give_back = [this](auto* function, void* what) {
    if (!what) return;
    EXPECT_EQ(function(session_, what), NV_ENC_SUCCESS) << fake_nvenc_misuse();
  };
  for (Slot& slot : slots_) {
    give_back(slot.resource ? api.nvEncUnmapInputResource : api.nvEncDestroyInputBuffer, slot.input);
    give_back(api.nvEncUnregisterResource, slot.resource);
    give_back(api.nvEncDestroyBitstreamBuffer, slot.output);
  }
  slots_.clear();
  EXPECT_EQ(api.nvEncDestroyEncoder(session_), NV_ENC_SUCCESS);
  session_ = nullptr;
}

std::string HandSession::types() const {
  std::string letters;
  for (const EncodedPicture& picture : encoded) letters += "PBID"[picture.type];
  return letters;
}

std::vector<std::byte> HandSession::stream() const {
  std::vector<std::byte> all;
  for (const EncodedPicture& picture : encoded)
    all.insert(all.end(), picture.bytes.begin(), picture.bytes.end());
  return all;
}

std::vector<Frame> decode_stream(const std::vector<std::byte>& stream, bool sei) {
  VideoReaderOptions options;
  options.cache_index = false;
  options.decoder.sei = sei;
  VideoReader reader(open_bytes(stream), options);
  std::vector<Frame> frames;
  while (auto frame = reader.next()) frames.push_back(std::move(*frame));
  return frames;
}

void expect_pattern(const Frame& frame, int time) {
  ASSERT_EQ(frame.image.width, static_cast<int>(picture_width));
  ASSERT_EQ(frame.image.height, static_cast<int>(picture_height));
  const PixelFormatInfo& facts = format_info(frame.image.format);
  ASSERT_EQ(facts.planes, 3) << facts.name;
  const unsigned depth = facts.bytes_per_sample == 2 ? 10 : 8;
  for (unsigned p = 0; p < 3; ++p) {
    const Plane& plane = frame.image.planes[p];
    for (std::int32_t y = 0; y < plane.height; ++y)
      for (std::int32_t x = 0; x < plane.width; ++x) {
        std::uint16_t value = 0;
        std::memcpy(&value, plane.data + y * plane.pitch + x * static_cast<int>(facts.bytes_per_sample),
                    facts.bytes_per_sample);
        ASSERT_EQ(unsigned{value},
                  pattern_sample(p, static_cast<unsigned>(x), static_cast<unsigned>(y), time, depth))
            << facts.name << " at " << time << ", plane " << p << ": " << x << ", " << y;
      }
  }
}

} // namespace lanner::test
