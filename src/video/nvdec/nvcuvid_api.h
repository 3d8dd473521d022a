#pragma once
// NVIDIA's libnvcuvid: its headers as the nv-codec-headers carry them (version 11.1 and newer), and what
// newer drivers know beyond 11.1. Numbers are the library's ABI.

#include <ffnvcodec/dynlink_cuda.h>
//
#include <ffnvcodec/dynlink_cuviddec.h>
//
#include <ffnvcodec/dynlink_nvcuvid.h>

namespace lanner::nvdec {

/// A cudaVideoSurfaceFormat; as a number, since the header's enumeration ends before the newer ones.
enum class Surface : unsigned { nv12 = 0, p016 = 1, yuv444 = 2, yuv444_16 = 3, nv16 = 4, p216 = 5 };

/// The library's functions. All are set in a table that was opened.
struct Api {
  tcuvidGetDecoderCaps* get_caps;
  tcuvidCreateDecoder* create_decoder;
  tcuvidReconfigureDecoder* reconfigure_decoder;
  tcuvidDestroyDecoder* destroy_decoder;
  tcuvidDecodePicture* decode_picture;
  tcuvidGetDecodeStatus* decode_status;
  tcuvidMapVideoFrame64* map_frame;
  tcuvidUnmapVideoFrame64* unmap_frame;
  tcuvidCreateVideoParser* create_parser;
  tcuvidParseVideoData* parse;
  tcuvidDestroyVideoParser* destroy_parser;
};

} // namespace lanner::nvdec
