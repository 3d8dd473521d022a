#pragma once
// The library's functions behind what they all check: no pointer is null, versions are right, and there is a
// session.

#include "fake_libraries/nvenc/call.h"

namespace lanner::fake_nvenc {

using Status = nvenc::NVENCSTATUS;

// capability_functions.cpp
Status get_codec_count(Call& call, std::uint32_t* count);
Status get_codecs(Call& call, nvenc::GUID* guids, std::uint32_t size, std::uint32_t* count);
Status get_profile_count(Call& call, nvenc::GUID codec, std::uint32_t* count);
Status get_profiles(Call& call, nvenc::GUID codec, nvenc::GUID* guids, std::uint32_t size,
                    std::uint32_t* count);
Status get_preset_count(Call& call, nvenc::GUID codec, std::uint32_t* count);
Status get_presets(Call& call, nvenc::GUID codec, nvenc::GUID* guids, std::uint32_t size,
                   std::uint32_t* count);
Status get_format_count(Call& call, nvenc::GUID codec, std::uint32_t* count);
Status get_formats(Call& call, nvenc::GUID codec, nvenc::NV_ENC_BUFFER_FORMAT* formats, std::uint32_t size,
                   std::uint32_t* count);
Status get_capability(Call& call, nvenc::GUID codec, nvenc::NV_ENC_CAPS_PARAM* asked, int* value);
Status get_preset_config(Call& call, nvenc::GUID codec, nvenc::GUID preset,
                         nvenc::NV_ENC_PRESET_CONFIG* config);
Status get_preset_config_ex(Call& call, nvenc::GUID codec, nvenc::GUID preset,
                            nvenc::NV_ENC_TUNING_INFO tuning, nvenc::NV_ENC_PRESET_CONFIG* config);

// session_functions.cpp
Status open_session(Call& call, nvenc::NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS* parameters, void** encoder);
Status initialize(Call& call, nvenc::NV_ENC_INITIALIZE_PARAMS* parameters);
Status reconfigure(Call& call, nvenc::NV_ENC_RECONFIGURE_PARAMS* parameters);
Status set_streams(Call& call, void* input, void* output);
Status get_headers(Call& call, nvenc::NV_ENC_SEQUENCE_PARAM_PAYLOAD* payload);
Status get_headers_ex(Call& call, nvenc::NV_ENC_INITIALIZE_PARAMS* parameters,
                      nvenc::NV_ENC_SEQUENCE_PARAM_PAYLOAD* payload);
Status invalidate_references(Call& call, std::uint64_t time);
Status destroy_session(Call& call);

// buffer_functions.cpp
Status create_input(Call& call, nvenc::NV_ENC_CREATE_INPUT_BUFFER* parameters);
Status destroy_input(Call& call, void* buffer);
Status lock_input(Call& call, nvenc::NV_ENC_LOCK_INPUT_BUFFER* parameters);
Status unlock_input(Call& call, void* buffer);
Status create_bitstream(Call& call, nvenc::NV_ENC_CREATE_BITSTREAM_BUFFER* parameters);
Status destroy_bitstream(Call& call, void* buffer);
Status register_resource(Call& call, nvenc::NV_ENC_REGISTER_RESOURCE* parameters);
Status unregister_resource(Call& call, void* resource);
Status map_resource(Call& call, nvenc::NV_ENC_MAP_INPUT_RESOURCE* parameters);
Status unmap_resource(Call& call, void* mapping);

// picture_functions.cpp
Status encode(Call& call, nvenc::NV_ENC_PIC_PARAMS* picture);
Status lock_bitstream(Call& call, nvenc::NV_ENC_LOCK_BITSTREAM* parameters);
Status unlock_bitstream(Call& call, void* buffer);

// placing.cpp
/// Gives a picture its type and, as far as it can be, pictures their places: in waiting outputs.
void place(Session& session, Submitted picture);
/// What waits is placed without more input.
void flush(Session& session);
/// Writes what is placed and not yet written; of one input alone where one is given.
void write_placed(Call& call, const void* input = nullptr);
void write(Call& call, Placed& placed);

} // namespace lanner::fake_nvenc
