#pragma once
// What the fake device can do, and the record of what was asked of it.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fake_libraries/nvenc/stream.h"
#include "video/nvenc/nvenc_api.h"

namespace lanner::fake_nvenc {

struct Session;

struct Capabilities {
  std::array<bool, 3> offered{true, true, true};
  std::map<std::pair<Codec, nvenc::NV_ENC_CAPS>, int> set; ///< By a test.
  std::uint32_t version = nvenc::needed_version;
  std::size_t most_sessions = SIZE_MAX;
};

/// One call that a test wants to fail.
struct Failure {
  std::string function; ///< Empty: any.
  std::size_t number = 0;
  int status = 0;
};

/// A configuration with a place of its own for encodeConfig.
struct KeptConfiguration {
  nvenc::NV_ENC_INITIALIZE_PARAMS init;
  nvenc::NV_ENC_CONFIG config;
};

struct World {
  std::recursive_mutex mutex;
  Capabilities device;
  std::map<void*, std::unique_ptr<Session>> sessions;
  std::size_t calls = 0;
  std::vector<Failure> failures;
  std::string log, misuse, shown_log, shown_misuse;
  std::deque<nvenc::NV_ENC_PIC_PARAMS> pictures;
  std::optional<KeptConfiguration> configuration;
  long leaked = 0, unflushed = 0;
};
World& world();

/// Codecs by GUID, and what each offers.
std::optional<Codec> codec_of(const nvenc::GUID& guid);
std::vector<nvenc::GUID> offered_codecs();
std::vector<nvenc::GUID> profiles_of(Codec codec);
std::vector<nvenc::GUID> presets();
/// Of 0 for P1 on; nothing of an unknown one.
std::optional<int> preset_number(const nvenc::GUID& guid);
std::vector<nvenc::NV_ENC_BUFFER_FORMAT> formats_of(Codec codec);
int capability(Codec codec, nvenc::NV_ENC_CAPS which);

/// The configuration of a preset.
nvenc::NV_ENC_CONFIG preset_config(Codec codec, int preset, nvenc::NV_ENC_TUNING_INFO tuning);

const char* name_of(nvenc::NVENCSTATUS status);

} // namespace lanner::fake_nvenc
