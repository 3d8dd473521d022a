"""What docs/pynvvideocodec.md tells: one row for each name and feature of PyNvVideoCodec, 1.0 and 2.2.

A row: names (several are separated by spaces), on the CPU, on a GPU, the tests, what is different. Names are looked up by
tests/python/compat/test_compat_page.py, which also finds names that have no row.
"""

from typing import NamedTuple


class Row(NamedTuple):
    names: str
    cpu: str
    gpu: str
    tests: str
    difference: str = ""
    is_feature: bool = False  # `names` is a text


def row(names: str, tests: str, difference: str = "", cpu: str = "yes", gpu: str = "yes") -> Row:
    return Row(names, cpu, gpu, tests, difference)


def not_yet(names: str, difference: str = "") -> Row:
    return Row(names, "not yet", "not yet", "test_encoding_names_raise_one_line", difference)


def feature(text: str, tests: str, difference: str = "", cpu: str = "yes", gpu: str = "yes") -> Row:
    return Row(text, cpu, gpu, tests, difference, is_feature=True)


NO_EFFECT = "no effect"
SECTIONS: dict[str, list[Row]] = {
    "Module": [
        row("__version__", "test_a_script_gets_its_arguments_and_its_folder", "the version whose names these are, 2.2.4"),
        row("PyNvVCException PyNvVCExceptionUnsupported", "test_wrong_values_are_refused_in_one_line",
            "the second is one of the first; messages are one line; `__cause__` is Lanner's error. Wrong types are `TypeError`, numbers of frames `IndexError`"),
        row("_PyNvVideoCodec", "test_guide_printed_signature_of_create_decoder", "the module itself"),
    ],
    "Demuxing": [
        row("CreateDemuxer", "test_guide_demux test_defect_13_memory_and_files_without_a_path",
            "a file name, or a callback that fills a bytearray; every container and codec that FFmpeg reads; addresses of a network are refused"),
        row("PyNvDemuxer", "test_demuxer_ends_with_an_empty_packet_again_and_again", "each packet has memory of its own; the last one is empty, as PyNvVideoCodec's is"),
        row("PyNvDemuxer.Demux", "test_demuxer_ends_with_an_empty_packet_again_and_again"),
        row("PyNvDemuxer.DemuxNoSkipAudio", "test_demuxer_ends_with_an_empty_packet_again_and_again"),
        row("PyNvDemuxer.Seek", "test_defect_05_mpeg_ts_seeks_and_has_its_own_times test_defect_06_seeking_lands_on_the_keyframe_of_every_frame",
            "an int is the number of a frame, as in 2.2, a float seconds from the first frame, as in 1.0; gives the keyframe's own packet, with `seek_pts`; works in every container with times"),
        row("PyNvDemuxer.TimestampFromFrame", "test_defect_05_mpeg_ts_seeks_and_has_its_own_times", "seconds, by the frames' own times"),
        row("PyNvDemuxer.isSeekDone", "test_wrong_values_are_refused_in_one_line"),
        row("PyNvDemuxer.Width PyNvDemuxer.Height PyNvDemuxer.FrameRate PyNvDemuxer.FrameSize PyNvDemuxer.BitDepth PyNvDemuxer.ChromaFormat PyNvDemuxer.GetNvCodecId", "test_demuxer_facts"),
        row("PyNvDemuxer.ColorSpace PyNvDemuxer.ColorRange", "test_defect_14_colour_spaces_have_bt_2020", "BT.2020 has a name: `ColorSpace.BT_2020`"),
        row("PyNvDemuxer.AvgFrameRateNum PyNvDemuxer.AvgFrameRateDen", "test_demuxer_facts"),
        row("PyNvDemuxer.RFrameRate PyNvDemuxer.RFrameRateNum PyNvDemuxer.RFrameRateDen", "test_demuxer_facts", "the average rate: Lanner knows one rate of a stream"),
        row("PyNvDemuxer.GetContainerName PyNvDemuxer.GetTimebaseNum PyNvDemuxer.GetTimebaseDen PyNvDemuxer.GetVideoStreamId", "test_demuxer_facts"),
        row("PyNvDemuxer.GetAudioStreamId", "test_demuxer_facts", "-1 without one"),
        row("PyNvDemuxer.GetAVFormatInputContext", "test_demuxer_facts", "raises: no pointer into FFmpeg is given out", "raises", "raises"),
    ],
    "PacketData": [
        row("PacketData", "test_packets_made_by_hand", "constructible; attributes that it does not have raise"),
        row("PacketData.bsl PacketData.bsl_data", "test_packets_are_as_ffmpeg_writes_them test_packets_are_annex_b_and_decode_anywhere",
            "H.264 and HEVC behind start codes, as PyNvVideoCodec's; valid as long as the packet"),
        row("PacketData.key PacketData.pts PacketData.dts PacketData.pos PacketData.duration", "test_packets_made_by_hand test_metadata", "a time that the stream does not give is -2**63"),
        row("PacketData.decode_flag", "test_packets_made_by_hand", "ENDOFSTREAM ends, DISCONTINUITY marks a jump; others have no effect: a packet is decoded when it is given"),
        row("PacketData.bDiscontinuity PacketData.seek_pts PacketData.stream_index PacketData.is_video PacketData.discardable", "test_packet_attributes_take_integers_only"),
    ],
    "Creating a decoder": [
        row("CreateDecoder", "test_guide_printed_signature_of_create_decoder",
            "the defaults are those of the printed signature: `usedevicememory` is False; it begins with the first packet"),
        row("CreateDecoder(gpuid)", "test_device_frames_are_on_the_gpu test_capabilities_of_the_gpu", "without any GPU 0 is the CPU, others raise"),
        row("CreateDecoder(codec)", "test_other_codecs_decode", "every codec of `cudaVideoCodec` that FFmpeg or the GPU decodes; a demuxer's packet of another codec raises"),
        row("CreateDecoder(cudacontext) CreateDecoder(cudastream)", "test_device_frames_are_on_the_gpu test_guide_decode", "", NO_EFFECT),
        row("CreateDecoder(usedevicememory)", "test_output_colors test_host_frames_of_a_gpu", "without a GPU device memory is host memory: [below](#device-memory-without-a-gpu)"),
        row("CreateDecoder(maxwidth) CreateDecoder(maxheight)", "test_reconfigure_between_streams", "sizes are followed by themselves", NO_EFFECT, NO_EFFECT),
        row("CreateDecoder(outputColorType)", "test_output_colors", "matrix and range are those of the stream, BT.2020 too"),
        row("CreateDecoder(enableSEIMessage)", "test_sei_messages"),
        row("CreateDecoder(bWaitForSessionWarmUp)", "test_sessions_wait_for_each_other", "raises after a minute instead of waiting for ever"),
        row("CreateDecoder(latency)", "test_latency", "frames come in presentation order with ZERO too"),
        row("CreateDecoder(enableDecodeStats)", "test_options_without_an_effect_say_so_or_fail", "refused: there are no decode statistics", "raises", "raises"),
        row("CreateDecoder(enableasyncallocations)", "test_guide_decode", "of 1.0; allocations are ordered with the decoder's work anyway", NO_EFFECT, NO_EFFECT),
    ],
    "PyNvDecoder": [
        row("PyNvDecoder", "test_guide_decode", "made by CreateDecoder(); used by one thread at a time; releases the GIL"),
        row("PyNvDecoder.Decode", "test_guide_decode test_packets_made_by_hand", "frames are complete and their own: no clone is needed; a stream that the GPU does not decode is decoded on the CPU, which LOGGER_LEVEL=WARN tells"),
        row("PyNvDecoder.GetWidth PyNvDecoder.GetHeight PyNvDecoder.GetFrameSize PyNvDecoder.GetPixelFormat", "test_decoder_facts_before_the_first_packet", "raise before the first packet; then of the newest frame"),
        row("PyNvDecoder.WaitOnCUStream PyNvDecoder.SyncOnCUStream", "test_decoder_facts_before_the_first_packet", "frames are complete when Decode() gives them", NO_EFFECT, NO_EFFECT),
        row("PyNvDecoder.SetSeekPTS", "test_defect_07_set_seek_pts_drops_the_frames_before"),
        row("PyNvDecoder.setReconfigParams", "test_reconfigure_between_streams", "forgets the stream so far; sizes are followed without it"),
        row("PyNvDecoder.GetNumDecodedFrame PyNvDecoder.GetFrame PyNvDecoder.GetLockedFrame PyNvDecoder.UnlockFrame", "test_frames_one_by_one_and_locked"),
        row("PyNvDecoder.SetSessionCount PyNvDecoder.GetSessionInitTime", "test_sessions_wait_for_each_other"),
        row("PyNvDecoder.setDecoderSessionID PyNvDecoder.getDecoderSessionOverHead", "test_decoder_facts_before_the_first_packet", "the overhead is 0: sessions wait for nothing that they share"),
    ],
    "DecodedFrame": [
        row("DecodedFrame", "test_guide_frame_protocols test_defect_16_frames_are_ones_own_and_follow_the_size", "memory of its own without gaps, valid for as long as the frame is held; `numpy.asarray` takes one in host memory"),
        row("DecodedFrame.cuda CAIMemoryView", "test_output_colors test_guide_frame_protocols", "writable; no `__cuda_array_interface__` of host memory that was asked for"),
        row("CAIMemoryView.shape CAIMemoryView.stride CAIMemoryView.data CAIMemoryView.dataptr", "test_output_colors"),
        row("DecodedFrame.shape DecodedFrame.strides DecodedFrame.dtype", "test_guide_frame_protocols test_native_formats",
            "attributes, as in 2.2, that can be called, as in 1.0's guide; YUV444 and RGBP are [3, height, width]"),
        row("DecodedFrame.__dlpack__ DecodedFrame.__dlpack_device__", "test_guide_decode test_device_frames_are_on_the_gpu", "16-bit samples too"),
        row("DecodedFrame.timestamp DecodedFrame.getPTS", "test_packets_made_by_hand", "-2**63 where the stream gives none"),
        row("DecodedFrame.format", "test_native_formats"),
        row("DecodedFrame.framesize DecodedFrame.GetPtrToPlane", "test_output_colors", "odd sizes are kept: a row of luma has a sample more there"),
        row("DecodedFrame.getSEIMessage", "test_sei_messages", "payloads as they stand in the stream: `sei_uncompressed` is 0"),
        row("DecodedFrame.nvcv_image", "test_nvcv_image_and_nv12_to_rgb", "deprecated there, and here"),
        row("DecodedFrame.nv12_to_rgb", "test_nvcv_image_and_nv12_to_rgb", "gives a `lanner.Tensor` [1, 3, height, width] by the stream's matrix"),
        row("DecodedFrame.decoder_stream_event", "test_guide_frame_protocols", "0: the frame is complete"),
        row("DecodedFrame.decode_stats_size DecodedFrame.decode_stats_ptr DecodedFrame.getRawDecodeStats DecodedFrame.ParseDecodeStats", "test_options_without_an_effect_say_so_or_fail", "empty: there are none", "empty", "empty"),
    ],
    "SimpleDecoder": [
        row("SimpleDecoder CreateSimpleDecoder", "test_defect_13_memory_and_files_without_a_path", "path, bytes or a seekable binary file; every container; threads may share it"),
        row("SimpleDecoder.__getitem__ SimpleDecoder.__len__ SimpleDecoder.__iter__", "test_defect_01_slices_negative_numbers_and_len", "exact number of frames; negative numbers and every slice, as of a list"),
        row("SimpleDecoder.get_batch_frames SimpleDecoder.seek_to_index SimpleDecoder.get_index_from_time_in_seconds", "test_simple_decoder_batches_and_times", "times are from the first frame on; behind the end raises"),
        row("SimpleDecoder.get_batch_frames_by_index", "test_defect_02_a_batch_has_a_frame_for_each_number", "a frame for each number, repeated ones too; IndexError outside of the video"),
        row("SimpleDecoder.get_stream_metadata SimpleDecoder.get_scanned_stream_metadata", "test_metadata"),
        row("SimpleDecoder.reconfigure_decoder", "test_defect_03_a_failed_reconfigure_leaves_the_decoder_usable test_kept_videos_are_used_again", "of `decoder_cache_size` videos readers stay open; a source that fails changes nothing"),
        row("SimpleDecoder.stop", "test_defect_04_stop_ends_decoding_and_keeps_frames"),
        row("SimpleDecoder.get_session_init_time SimpleDecoder.set_session_count", "test_sessions_wait_for_each_other"),
    ],
    "ThreadedDecoder": [
        row("ThreadedDecoder CreateThreadedDecoder", "test_threaded_decoder_from_any_frame"),
        row("ThreadedDecoder.get_batch_frames ThreadedDecoder.__len__ ThreadedDecoder.reconfigure_decoder", "test_threaded_decoder_from_any_frame"),
        row("ThreadedDecoder.end", "test_defect_10_threaded_decoder_ends_and_frames_stay", "may be called at any time and twice"),
        row("ThreadedDecoder.get_stream_metadata ThreadedDecoder.get_scanned_stream_metadata", "test_threaded_decoder_from_any_frame"),
    ],
    "Metadata, capabilities, enumerations": [
        row("StreamMetadata ScannedStreamMetadata", "test_metadata", "`num_frames` is exact; `key_frame_indices` are numbers in presentation order, the other lists are in the order of the file"),
        row("GetDecoderCaps", "test_capabilities test_capabilities_of_the_gpu", "has `supported` too; without a GPU it tells of the CPU, whose engines are its cores"),
        row("cudaVideoCodec cudaVideoChromaFormat cudaVideoSurfaceFormat Pixel_Format OutputColorType DisplayDecodeLatencyType VideoPacketFlag SEI_TYPE ColorRange", "test_enumerations_print_as_theirs"),
        row("ColorSpace", "test_defect_14_colour_spaces_have_bt_2020", "`BT_2020` is added"),
    ],
    "Helpers and features": [
        feature("`Utils.cast_address_to_1d_bytearray`, `Utils.AppFrame`, `Utils.AppCAI`", "test_guide_app_frame test_app_frames_cover_their_memory test_utils_refuse_what_does_not_fit", "a script's own `Utils.py` comes first"),
        feature("`LOGGER_LEVEL`", "test_logger_level", "quiet by default; an unknown level raises"),
        feature("`pycuda.driver`, `pycuda.autoinit`", "test_host_memory_copies test_host_misuse_is_an_error test_device_frames_are_on_the_gpu", "a stand-in where pycuda is not installed: memory, copies, streams, events and contexts; no kernels"),
        feature("Unmodified scripts", "test_a_script_gets_its_arguments_and_its_folder test_processes_that_a_script_starts_have_the_names_too", "`python -m lanner.compat script.py ...`"),
        feature("Native surfaces: NV12, P016, YUV444, YUV444_16Bit, NV16, P216", "test_native_formats", "chosen by the stream; on a CPU each of them"),
        feature("In-memory video, callbacks", "test_defect_13_memory_and_files_without_a_path"),
        feature("GIL", "test_defect_09_decoding_releases_the_gil", "released while packets are read, decoded and converted"),
        feature("Several GPUs", "test_capabilities_of_the_gpu", "by gpuid; the tests have one", "no GPU"),
        feature("Decode statistics", "test_options_without_an_effect_say_so_or_fail", "not there: refused", "raises", "raises"),
    ],
    "Encoding, muxing, transcoding": [
        not_yet("CreateEncoder PyNvEncoder GetEncoderCaps structEncodeReconfigureParams NV_ENC_PIC_PARAMS", "each call raises PyNvVCExceptionUnsupported in one line"),
        not_yet("Transcoder CreateTranscoder FFmpegMuxer GetMediaFormat patch_ivf_frame_count", "the same; `lanner transcode` and `lanner.VideoWriter` write video"),
        row("NV_ENC_PARAMS_RC_MODE NV_ENC_MULTI_PASS NV_ENC_PIC_FLAGS MEDIA_FORMAT", "test_enumerations_print_as_theirs", "the values are there, nothing takes them yet"),
    ],
}

# Where an example of the guide cannot run as it is printed.
REPAIRS = [
    ("every example", "is printed on one line", "line breaks and indentation"),
    ("decoding into device memory", "`luma_base_addr` is never set; `GetNvCodecId()` has no object; device memory is read as if it were the host's",
     "`decoded_frame.GetPtrToPlane(0)`; `demuxer.GetNvCodecId()`; the cast is run where device memory is host memory, a copy by `memcpy_dtoh` on a GPU"),
    ("decoding into host memory", "`nv_dec` is never made; `np` is not imported; `luma_base_addr` is never set; pycuda is not initialized", "`decoder`; `import numpy as np`; `GetPtrToPlane(0)`; `cuda.init()`"),
    ("context and stream of the application", "`nv_dec`, `np` and `luma_base_addr` as above", "the same"),
    ("asynchronous allocations", "the demuxer and `np` are never made", "`nvc.CreateDemuxer(...)`; `import numpy as np`"),
    ("PyTorch", "the decoder is never made; it needs CUDA", "runs where torch is installed, on the CPU without a GPU; the same loop runs by `numpy.from_dlpack`"),
    ("`print(nvc.DecodedFrame)`", "prints the class, the text below it is a frame's", "`print(frame)`"),
    ("`decodedFrame.shape()` under \"Stride\"", "names the shape twice", "`strides`"),
    ("`decodedFrame.__dlpack_device___`", "has an underscore too many and is not called", "`__dlpack_device__()`"),
]

# Where the guide, or the guide and the library, say two things.
CHOICES = [
    ("defaults of CreateDecoder", "an example passes `usedevicememory=True`, the signature has 0", "the signature"),
    ("`enableasyncallocations`", "in examples of 1.0, not in the printed signature, nor in 2.2", "taken by name, no effect"),
    ("`shape`, `strides`, `dtype`", "methods in the guide, attributes in 2.2", "attributes that can be called"),
    ("`Seek`", "seconds in 1.0, a frame's number in 2.2", "float and int"),
    ("`nv12_to_rgb`", "signature: None; text: an RGB tensor", "the tensor"),
    ("surfaces \"in host memory\" of the first decoding example", "the example asks for device memory", "what `usedevicememory` says"),
]

# Decoding samples of the 2.2.4 wheel, and what they are run with.
SAMPLES = [
    ("advanced/decode.py", "-d 0, -d 1"),
    ("advanced/decode_from_memory_buffer.py", ""),
    ("advanced/decode_reconfigure.py", "two streams of different sizes"),
    ("advanced/decode_sei_msg.py", "its messages are raw payloads, `sei_uncompressed` is 0"),
    ("advanced/decode_with_cuda_control.py", ""),
    ("advanced/decode_with_low_latency.py", "-dl 0, -dl 1, -dl 2"),
    ("advanced/simple_decode_from_memory.py", ""),
    ("advanced/simple_decode_stats.py", "tells that statistics are not supported, as it does on older drivers"),
    ("advanced/decode_perf.py", "-m thread, -m process"),
]

DEFECTS = [
    "`dec[a:b]` raises, stop = len raises, negative numbers are refused",
    "`get_batch_frames_by_index` drops repeated and outside numbers",
    "a failed reconfigure poisons the decoder",
    "`SimpleDecoder.stop()` calls a method that is not there",
    "MPEG-TS: seeking fails, times are made up",
    "the demuxer's Seek crashes, edit lists are mishandled",
    "SetSeekPTS has no effect",
    "open GOPs give IndexError",
    "calls take turns under the GIL",
    "`ThreadedDecoder.end()` crashes, frames dangle",
    "capabilities leak a session, asynchronous frames leak",
    "RTSP crashes the demuxer",
    "1.8 GiB of a GPU for each process; paths only",
    "no profile, level, packet times, BT.2020",
    "import needs NVENC's library",
    "frames have to be cloned; a change of size needs host memory",
]
DEFECT_NOTES = {
    11: "decoding's half: no encoder is there yet",
    12: "refused in one line: FFmpeg's network is not used",
    13: "memory of a GPU is measured on hardware, not here",
    14: "decoding's half: BT.2020",
}
