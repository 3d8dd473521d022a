"""The rows of docs/pynvvideocodec.md: one for each name and feature of PyNvVideoCodec, 1.0 and 2.2.

A row: names, separated by spaces; whether they work on the CPU, and on a GPU; the tests; what is different. Names are looked up by
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


def keyword(text: str, tests: str, difference: str = "", cpu: str = "yes", gpu: str = "by NVENC or in software") -> Row:
    """Keywords of CreateEncoder, of which most are Transcoder's too."""
    return Row(text, cpu, gpu, tests, difference, is_feature=True)


def refused(text: str, why: str) -> Row:
    return Row(text, "raises", "raises", "test_refused_keywords_say_why", why, is_feature=True)


def nvenc_alone(text: str, difference: str = "") -> Row:
    return Row(text, "raises", "by NVENC", "test_refused_keywords_say_why test_an_encoder_by_nvenc", difference, is_feature=True)


def encoding(names: str, tests: str, difference: str = "", gpu: str = "by NVENC or in software") -> Row:
    return Row(names, "yes", gpu, tests, difference)


def feature(text: str, tests: str, difference: str = "", cpu: str = "yes", gpu: str = "yes") -> Row:
    return Row(text, cpu, gpu, tests, difference, is_feature=True)


NO_EFFECT = "no effect"
SECTIONS: dict[str, list[Row]] = {
    "Module": [
        row("__version__", "test_a_script_gets_its_arguments_and_its_folder", "2.2.4, the version whose names are implemented"),
        row("PyNvVCException PyNvVCExceptionUnsupported", "test_wrong_values_are_refused_in_one_line",
            "the second is a subclass of the first; messages have one line; `__cause__` is Lanner's error. Wrong types raise `TypeError`, frame numbers out of range `IndexError`"),
        row("_PyNvVideoCodec", "test_guide_printed_signature_of_create_decoder", "the module itself"),
    ],
    "Demuxing": [
        row("CreateDemuxer", "test_guide_demux test_defect_13_memory_and_files_without_a_path",
            "a file name, or a callback that fills a bytearray; every container and codec that FFmpeg reads; network addresses raise"),
        row("PyNvDemuxer", "test_demuxer_ends_with_an_empty_packet_again_and_again", "each packet has its own memory; the last one is empty, as in PyNvVideoCodec"),
        row("PyNvDemuxer.Demux", "test_demuxer_ends_with_an_empty_packet_again_and_again"),
        row("PyNvDemuxer.DemuxNoSkipAudio", "test_demuxer_ends_with_an_empty_packet_again_and_again"),
        row("PyNvDemuxer.Seek", "test_defect_05_mpeg_ts_seeks_and_has_its_own_times test_defect_06_seeking_lands_on_the_keyframe_of_every_frame",
            "an int is a frame number, as in 2.2, a float is seconds from the first frame, as in 1.0; returns the keyframe's packet, with `seek_pts`; works in every container with timestamps"),
        row("PyNvDemuxer.TimestampFromFrame", "test_defect_05_mpeg_ts_seeks_and_has_its_own_times", "in seconds, from the frame's timestamp"),
        row("PyNvDemuxer.isSeekDone", "test_wrong_values_are_refused_in_one_line"),
        row("PyNvDemuxer.Width PyNvDemuxer.Height PyNvDemuxer.FrameRate PyNvDemuxer.FrameSize PyNvDemuxer.BitDepth PyNvDemuxer.ChromaFormat PyNvDemuxer.GetNvCodecId", "test_demuxer_facts"),
        row("PyNvDemuxer.ColorSpace PyNvDemuxer.ColorRange", "test_defect_14_colour_spaces_have_bt_2020", "BT.2020 has a name: `ColorSpace.BT_2020`"),
        row("PyNvDemuxer.AvgFrameRateNum PyNvDemuxer.AvgFrameRateDen", "test_demuxer_facts"),
        row("PyNvDemuxer.RFrameRate PyNvDemuxer.RFrameRateNum PyNvDemuxer.RFrameRateDen", "test_demuxer_facts", "the average rate, the only one that Lanner knows"),
        row("PyNvDemuxer.GetContainerName PyNvDemuxer.GetTimebaseNum PyNvDemuxer.GetTimebaseDen PyNvDemuxer.GetVideoStreamId", "test_demuxer_facts"),
        row("PyNvDemuxer.GetAudioStreamId", "test_demuxer_facts", "-1 without one"),
        row("PyNvDemuxer.GetAVFormatInputContext", "test_demuxer_facts test_a_transcoding_loop_keeps_times_and_sound",
            "a number that FFmpegMuxer and CreateEncoder take for this demuxer, no pointer into FFmpeg"),
    ],
    "PacketData": [
        row("PacketData", "test_packets_made_by_hand", "can be constructed; setting an unknown attribute raises"),
        row("PacketData.bsl PacketData.bsl_data", "test_packets_are_as_ffmpeg_writes_them test_packets_are_annex_b_and_decode_anywhere",
            "H.264 and HEVC with start codes (Annex B), as in PyNvVideoCodec; valid as long as the packet"),
        row("PacketData.key PacketData.pts PacketData.dts PacketData.pos PacketData.duration", "test_packets_made_by_hand test_metadata", "an unknown time is -2**63"),
        row("PacketData.decode_flag", "test_packets_made_by_hand", "ENDOFSTREAM ends the stream, DISCONTINUITY marks a jump; other flags have no effect, as packets are decoded at once"),
        row("PacketData.bDiscontinuity PacketData.seek_pts PacketData.stream_index PacketData.is_video PacketData.discardable", "test_packet_attributes_take_integers_only"),
    ],
    "Creating a decoder": [
        row("CreateDecoder", "test_guide_printed_signature_of_create_decoder",
            "the defaults are those of the printed signature: `usedevicememory` is False; the decoder is set up by the first packet"),
        row("CreateDecoder(gpuid)", "test_device_frames_are_on_the_gpu test_capabilities_of_the_gpu", "without any GPU, 0 means the CPU, and other numbers raise"),
        row("CreateDecoder(codec)", "test_other_codecs_decode", "every codec of `cudaVideoCodec` that FFmpeg or the GPU decodes; a demuxer's packet of another codec raises"),
        row("CreateDecoder(cudacontext) CreateDecoder(cudastream)", "test_device_frames_are_on_the_gpu test_guide_decode", "", NO_EFFECT),
        row("CreateDecoder(usedevicememory)", "test_output_colors test_host_frames_of_a_gpu", "without a GPU, device memory is host memory: [above](#device-memory-without-a-gpu)"),
        row("CreateDecoder(maxwidth) CreateDecoder(maxheight)", "test_reconfigure_between_streams", "changes of size are handled automatically", NO_EFFECT, NO_EFFECT),
        row("CreateDecoder(outputColorType)", "test_output_colors", "matrix and range are those of the stream, BT.2020 too"),
        row("CreateDecoder(enableSEIMessage)", "test_sei_messages"),
        row("CreateDecoder(bWaitForSessionWarmUp)", "test_sessions_wait_for_each_other", "raises after a minute instead of waiting for ever"),
        row("CreateDecoder(latency)", "test_latency", "frames are returned in presentation order, with ZERO too"),
        row("CreateDecoder(enableDecodeStats)", "test_options_without_an_effect_say_so_or_fail", "raises: there are no decode statistics", "raises", "raises"),
        row("CreateDecoder(enableasyncallocations)", "test_guide_decode", "a keyword of 1.0; allocations are always ordered with the decoder's work", NO_EFFECT, NO_EFFECT),
    ],
    "PyNvDecoder": [
        row("PyNvDecoder", "test_guide_decode", "made by CreateDecoder(); used by one thread at a time; releases the GIL"),
        row("PyNvDecoder.Decode", "test_guide_decode test_packets_made_by_hand", "frames are complete and have their own memory: no clone is needed; a stream that the GPU does not support is decoded on the CPU, which LOGGER_LEVEL=WARN reports"),
        row("PyNvDecoder.GetWidth PyNvDecoder.GetHeight PyNvDecoder.GetFrameSize PyNvDecoder.GetPixelFormat", "test_decoder_facts_before_the_first_packet", "raise before the first packet; then describe the newest frame"),
        row("PyNvDecoder.WaitOnCUStream PyNvDecoder.SyncOnCUStream", "test_decoder_facts_before_the_first_packet", "frames are complete when Decode() returns them", NO_EFFECT, NO_EFFECT),
        row("PyNvDecoder.SetSeekPTS", "test_defect_07_set_seek_pts_drops_the_frames_before"),
        row("PyNvDecoder.setReconfigParams", "test_reconfigure_between_streams", "drops the state of the stream so far; not needed for changes of size"),
        row("PyNvDecoder.GetNumDecodedFrame PyNvDecoder.GetFrame PyNvDecoder.GetLockedFrame PyNvDecoder.UnlockFrame", "test_frames_one_by_one_and_locked"),
        row("PyNvDecoder.SetSessionCount PyNvDecoder.GetSessionInitTime", "test_sessions_wait_for_each_other"),
        row("PyNvDecoder.setDecoderSessionID PyNvDecoder.getDecoderSessionOverHead", "test_decoder_facts_before_the_first_packet", "the overhead is 0: sessions share nothing that they would wait for"),
    ],
    "DecodedFrame": [
        row("DecodedFrame", "test_guide_frame_protocols test_defect_16_frames_are_ones_own_and_follow_the_size", "has its own memory, without gaps, valid as long as the frame is held; `numpy.asarray` accepts a frame in host memory"),
        row("DecodedFrame.cuda CAIMemoryView", "test_output_colors test_guide_frame_protocols", "writable; with `usedevicememory=False` there is no `__cuda_array_interface__`"),
        row("CAIMemoryView.shape CAIMemoryView.stride CAIMemoryView.data CAIMemoryView.dataptr", "test_output_colors"),
        row("DecodedFrame.shape DecodedFrame.strides DecodedFrame.dtype", "test_guide_frame_protocols test_native_formats",
            "attributes, as in 2.2, that can also be called, as in the guide of 1.0; YUV444 and RGBP are [3, height, width]"),
        row("DecodedFrame.__dlpack__ DecodedFrame.__dlpack_device__", "test_guide_decode test_device_frames_are_on_the_gpu", "also for 16-bit samples"),
        row("DecodedFrame.timestamp DecodedFrame.getPTS", "test_packets_made_by_hand", "-2**63 if unknown"),
        row("DecodedFrame.format", "test_native_formats"),
        row("DecodedFrame.framesize DecodedFrame.GetPtrToPlane", "test_output_colors", "odd sizes are kept: rows of luma then have one sample more"),
        row("DecodedFrame.getSEIMessage", "test_sei_messages", "raw payloads: `sei_uncompressed` is 0"),
        row("DecodedFrame.nvcv_image", "test_nvcv_image_and_nv12_to_rgb", "deprecated, as in PyNvVideoCodec"),
        row("DecodedFrame.nv12_to_rgb", "test_nvcv_image_and_nv12_to_rgb", "returns a `lanner.Tensor` [1, 3, height, width], converted with the stream's matrix"),
        row("DecodedFrame.decoder_stream_event", "test_guide_frame_protocols", "0: the frame is complete"),
        row("DecodedFrame.decode_stats_size DecodedFrame.decode_stats_ptr DecodedFrame.getRawDecodeStats DecodedFrame.ParseDecodeStats", "test_options_without_an_effect_say_so_or_fail", "empty: there are no decode statistics", "empty", "empty"),
    ],
    "SimpleDecoder": [
        row("SimpleDecoder CreateSimpleDecoder", "test_defect_13_memory_and_files_without_a_path", "path, bytes or a seekable binary file; every container; threads may share it"),
        row("SimpleDecoder.__getitem__ SimpleDecoder.__len__ SimpleDecoder.__iter__", "test_defect_01_slices_negative_numbers_and_len", "exact number of frames; negative numbers and all slices work as for a list"),
        row("SimpleDecoder.get_batch_frames SimpleDecoder.seek_to_index SimpleDecoder.get_index_from_time_in_seconds", "test_simple_decoder_batches_and_times", "times count from the first frame; beyond the end raises"),
        row("SimpleDecoder.get_batch_frames_by_index", "test_defect_02_a_batch_has_a_frame_for_each_number", "a frame for each number, also for repeated ones; IndexError outside of the video"),
        row("SimpleDecoder.get_stream_metadata SimpleDecoder.get_scanned_stream_metadata", "test_metadata"),
        row("SimpleDecoder.reconfigure_decoder", "test_defect_03_a_failed_reconfigure_leaves_the_decoder_usable test_kept_videos_are_used_again", "readers of the last `decoder_cache_size` videos stay open; a source that cannot be opened changes nothing"),
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
        row("StreamMetadata ScannedStreamMetadata", "test_metadata", "`num_frames` is exact; `key_frame_indices` are frame numbers in presentation order, the other lists are in file order"),
        row("GetDecoderCaps", "test_capabilities test_capabilities_of_the_gpu", "also has `supported`; without a GPU it describes the CPU, with its cores as engines"),
        row("cudaVideoCodec cudaVideoChromaFormat cudaVideoSurfaceFormat Pixel_Format OutputColorType DisplayDecodeLatencyType VideoPacketFlag SEI_TYPE ColorRange", "test_enumerations_print_as_theirs"),
        row("ColorSpace", "test_defect_14_colour_spaces_have_bt_2020", "`BT_2020` is added"),
    ],
    "Helpers and features": [
        feature("`Utils.cast_address_to_1d_bytearray`, `Utils.AppFrame`, `Utils.AppCAI`", "test_guide_app_frame test_app_frames_cover_their_memory test_utils_refuse_what_does_not_fit", "a script's own `Utils.py` takes precedence"),
        feature("`LOGGER_LEVEL`", "test_logger_level", "quiet by default; an unknown level raises"),
        feature("`pycuda.driver`, `pycuda.autoinit`", "test_host_memory_copies test_host_misuse_is_an_error test_device_frames_are_on_the_gpu", "a stand-in if pycuda is not installed: memory, copies, streams, events and contexts; no kernels"),
        feature("Unmodified scripts", "test_a_script_gets_its_arguments_and_its_folder test_processes_that_a_script_starts_have_the_names_too", "`python -m lanner.compat script.py ...`"),
        feature("Native surfaces: NV12, P016, YUV444, YUV444_16Bit, NV16, P216", "test_native_formats", "the stream decides which; on a CPU all of them occur"),
        feature("In-memory video, callbacks", "test_defect_13_memory_and_files_without_a_path"),
        feature("GIL", "test_defect_09_decoding_releases_the_gil", "released while packets are read, decoded and converted"),
        feature("Several GPUs", "test_capabilities_of_the_gpu", "by gpuid; tested with one GPU only", "no GPU"),
        feature("Decode statistics", "test_options_without_an_effect_say_so_or_fail", "not available", "raises", "raises"),
    ],
    "Encoding": [
        encoding("CreateEncoder", "test_create_encoder_takes_its_arguments_by_name test_encoding_by_software_is_told_once test_an_encoder_by_nvenc test_what_nvenc_does_not_encode_is_encoded_by_software",
            "by NVENC where the GPU has it, else by FFmpeg's software encoders: [above](#encoding-on-a-gpu-and-in-software). `format` is taken for `fmt`; keywords and their words in any case, numbers as text too; unknown ones raise, with those that there are"),
        encoding("CreateEncoder(width) CreateEncoder(height)", "test_create_encoder_takes_its_arguments_by_name"),
        encoding("CreateEncoder(fmt)", "test_every_surface_format test_app_frames_of_each_format",
            "NV12, YV12, IYUV (YUV420, YUV420P), YUV444, YUV444_10BIT, YUV444_16BIT, NV16, P010 (YUV420_10BIT), P016, P210, ARGB, ABGR, ARGB10, ABGR10 of every codec; 10 and 16 bits are encoded as 10. NVENC takes no 4:2:2 and of H.264 8 bits alone, which software encodes then"),
        encoding("CreateEncoder(usecpuinputbuffer)", "test_inputs_in_host_memory_give_the_same_stream test_inputs_in_device_memory_give_the_same_stream test_what_is_no_picture_there_raises",
            "pictures in the other kind of memory raise. Without a GPU, device memory means AppFrames and frames of `usedevicememory=True`; an array or tensor in host memory raises there too"),
        encoding("PyNvEncoder", "test_create_encoder_takes_its_arguments_by_name", "used by one thread at a time; releases the GIL"),
        encoding("PyNvEncoder.Encode", "test_inputs_in_host_memory_give_the_same_stream test_inputs_in_device_memory_give_the_same_stream test_decoded_frames_where_they_were_asked_for test_pictures_on_the_gpu_are_encoded test_pictures_are_encoded_by_nvenc_where_they_lie test_sei_messages",
            "bytes, arrays of any shape, AppFrame, DecodedFrame, objects with `cuda()`, `__cuda_array_interface__` or DLPack; rows may have gaps between them; other sizes and types raise; SEI of any type, of AV1 as metadata"),
        encoding("PyNvEncoder.EndEncode", "test_packets_are_dicts_in_order_and_bytes_in_a_row", "a second call returns nothing; Encode() after it raises"),
        encoding("EncodedPackets", "test_packets_are_dicts_in_order_and_bytes_in_a_row test_profile_level_and_times_of_packets",
            "serves both versions: as a sequence it is 2.2's list of dicts, as bytes (`bytearray(x)`, `file.write(x)`) it is what 1.0 returns. `timestamp` is inputTimeStamp, else the picture's number; `pts`, `dts` and `key` are additions"),
        encoding("PyNvEncoder.GetEncodeReconfigureParams PyNvEncoder.Reconfigure", "test_reconfigure_changes_the_eight_fields test_times_follow_the_rate_that_holds test_a_bound_that_was_not_asked_for_follows_the_rate test_what_cannot_be_reconfigured test_an_encoder_by_nvenc",
            "NVENC changes what its GPU can as it runs, libx264 averageBitrate, maxBitRate and vbvBufferSize; for other fields, and other codecs, the encoder starts anew at an IDR, and times go on at the new rate. A bound that was not asked for (maxbitrate) rises with averageBitrate"),
        encoding("structEncodeReconfigureParams structEncodeReconfigureParams.rateControlMode structEncodeReconfigureParams.multiPass structEncodeReconfigureParams.averageBitrate structEncodeReconfigureParams.vbvBufferSize structEncodeReconfigureParams.maxBitRate structEncodeReconfigureParams.vbvInitialDelay structEncodeReconfigureParams.frameRateNum structEncodeReconfigureParams.frameRateDen",
            "test_reconfigure_changes_the_eight_fields test_what_cannot_be_reconfigured", "the eight fields of the guide; others raise, also 2.2's targetQuality"),
        encoding("PyNvEncoder.GetSequenceParams", "test_create_encoder_takes_its_arguments_by_name test_headers_apart_are_those_of_the_stream_after_a_change"),
        encoding("PyNvEncoder.GetNumBFrames", "test_structure_of_pictures test_b_frames_of_presets", "where the preset decides, one more encoder of the same options is opened, which tells"),
        row("PyNvEncoder.CopyToDeviceMemory", "test_create_encoder_takes_its_arguments_by_name", "raises: there is no encoder on the GPU", "raises", "raises"),
        encoding("NV_ENC_PIC_FLAGS", "test_picture_flags", "FORCEIDR, OUTPUT_SPSPPS; FORCEINTRA gives an IDR; EOS raises (use EndEncode()), and so do flags that only NVENC supports"),
        encoding("NV_ENC_PIC_PARAMS NV_ENC_PIC_PARAMS.encodePicFlags NV_ENC_PIC_PARAMS.inputTimeStamp", "test_picture_params test_packets_are_dicts_in_order_and_bytes_in_a_row"),
        encoding("NV_ENC_PIC_PARAMS.inputWidth NV_ENC_PIC_PARAMS.inputHeight NV_ENC_PIC_PARAMS.pictureStruct", "test_picture_params", "checked: must be the encoder's size and whole frames"),
        row("NV_ENC_PIC_PARAMS.frameIdx NV_ENC_PIC_PARAMS.inputDuration NV_ENC_PIC_PARAMS.inputPitch NV_ENC_PIC_PARAMS.pictureType", "test_picture_params", "the encoder decides on picture types, and the pitch is taken from the pictures", NO_EFFECT, NO_EFFECT),
        encoding("NV_ENC_PARAMS_RC_MODE NV_ENC_MULTI_PASS", "test_reconfigure_changes_the_eight_fields test_enumerations_print_as_theirs"),
        encoding("GetEncoderCaps", "test_capabilities_of_encoders test_an_encoder_by_nvenc", "NVENC's own answers; of the software encoder, asked for by opening one where it can be; the largest sizes are those of the codec's levels; what software has not is 0"),
    ],
    "Keywords of CreateEncoder and Transcoder": [
        keyword("`codec`", "test_codecs"),
        keyword("`bitrate`, `maxbitrate`, `vbvbufsize`, `vbvinit`", "test_rates_and_buffers", "in bits; the suffixes K and M mean 1024 and 1024 * 1024, as in PyNvVideoCodec; with cbr, `maxbitrate` must equal `bitrate`; for AV1 there is no buffer"),
        keyword("`rc`", "test_rates_and_buffers test_quantisers_are_of_p_b_and_i_pictures", "default: cbr, as in Table 1; constqp with `constqp`, vbr with `cq`"),
        keyword("`cq`", "test_rates_and_buffers", "constant quality: NVENC's target quality, of software the encoder's own scale (`crf`)"),
        keyword("`constqp`, `qmin`, `qmax`", "test_quantisers_are_of_p_b_and_i_pictures", "three numbers are for P, B and I pictures, in NVENC's order; software encoders take one number for `qmin` and one for `qmax`; for AV1 the scale is 0 to 63"),
        keyword("`fps`", "test_slices_headers_and_timing", "also `'29.97'` and `'30000/1001'`; raises in a Transcoder, where frames keep their times"),
        keyword("`gop`, `idrperiod`", "test_structure_of_pictures", "exact, as NVENC keeps them: no keyframes at changes of scene; both differing are of NVENC alone, which has I pictures between IDRs"),
        keyword("`bf`", "test_structure_of_pictures", "[as in the guide](#contradictions-in-nvidias-guide): 0 I, 1 IPP, 2 IBP, 3 IBBP; software encoders may use fewer B pictures"),
        keyword("`preset`, `tuning_info`", "test_presets_and_tunings test_lossless_gives_every_sample_back", "what P1 to P7 and the tunings set: [encoder-presets.md](encoder-presets.md); uhq raises"),
        keyword("`lookahead`, `aq`, `temporalaq`", "test_lookahead_aq_and_references", "`aq` is 0 or 1, as in Table 1, not a strength; unset, the preset decides"),
        keyword("`numrefl0`", "test_lookahead_aq_and_references"),
        keyword("`slice` (`slice_mode`, `slice_data`)", "test_slices_headers_and_timing", "of H.264, by NVENC of HEVC too; mode 1, of bytes, too"),
        keyword("`timinginfo` (`num_unit_in_ticks`, `timescale`)", "test_slices_headers_and_timing"),
        keyword("`repeatspspps`", "test_slices_headers_and_timing", "0 by default, as in Table 1: parameter sets are written before the first IDR only, and after a restart of the encoder"),
        keyword("`colorspace`", "test_colorspace_is_told_and_samples_stay", "RGB is converted with it; for YUV it is written into the stream, and samples are unchanged"),
        keyword("`profile`, `level`, `tier`", "test_profile_level_and_times_of_packets", "`profile` is an addition"),
        keyword("`max_res`, `s`", "test_another_size_within_max_res test_create_encoder_takes_its_arguments_by_name test_refused_keywords_say_why", "`max_res` is the largest size for `Reconfigure(params, width=, height=)`, an addition: in PyNvVideoCodec no field changes the size. Not for a Transcoder"),
        keyword("`use_ivf_container`", "test_codecs", "AV1 is written as IVF unless it is 0, as in PyNvVideoCodec"),
        keyword("`global_header`", "test_create_encoder_takes_its_arguments_by_name", "headers are only in GetSequenceParams()"),
        keyword("`source_av_format_context`", "test_a_transcoding_loop_keeps_times_and_sound test_refused_keywords_say_why",
            "of a demuxer's GetAVFormatInputContext(): its rate, and its matrix and range unless `colorspace` is given; not of a Transcoder"),
        keyword("`gpu_id`", "test_create_encoder_takes_its_arguments_by_name test_an_encoder_by_nvenc", "the GPU whose NVENC encodes", NO_EFFECT),
        keyword("`cudacontext`, `cudastream`", "test_create_encoder_takes_its_arguments_by_name", "pictures on a GPU are read in the order of `cudastream`", NO_EFFECT, "yes"),
        nvenc_alone("`multipass` fullres, qres", "`disabled` is taken by software too"),
        nvenc_alone("`initqp`, `ldkfs` above 0, `numrefl1`"),
        refused("`tuning_info` uhq", "of a later version of NVENC than Lanner asks for; HQ with P7 is the best"),
    ],
    "Transcoding and muxing": [
        encoding("Transcoder CreateTranscoder", "test_transcode_with_mux test_quality_is_constant_unless_a_rate_is_given test_what_does_not_fit_raises_in_one_line",
            "uses [`lanner.transcode()`](transcode.md): every container, with or without audio; without a rate the quality is constant, in PyNvVideoCodec the QP; with a GPU, NVDEC decodes and NVENC encodes"),
        encoding("Transcoder.transcode_with_mux", "test_transcode_with_mux test_a_transcoder_encodes_by_nvenc", "audio, subtitles, chapters and tags are copied, frames keep their times; the file appears when it is complete; LOGGER_LEVEL=WARN reports what was changed"),
        encoding("Transcoder.segmented_transcode", "test_segments_begin_with_an_idr_and_have_names_of_their_own", "`out_0.5_2.mp4` for `out.mp4`; the first frame is the one shown at `start`, audio begins with its first packet after it"),
        row("FFmpegMuxer", "test_packets_of_an_encoder_in_a_file test_by_place_and_without_an_increment test_what_does_not_fit_raises_in_one_line",
            "over [`lanner.Muxer`](writing-video.md#muxers), with both constructors; the file appears with Finalize(), and codec headers that are not given are those of the first keyframe; a source's rotation and shape of pixels are kept"),
        row("FFmpegMuxer.MuxVideoPacket FFmpegMuxer.SetUniformPtsIncrement", "test_packets_of_an_encoder_in_a_file test_times_of_its_own",
            "shown at input_timestamp times the increment, else by the rate; a non-IDR I picture is a keyframe only where decoding may begin at it"),
        row("FFmpegMuxer.RecordSourceVideoPacket", "test_a_transcoding_loop_keeps_times_and_sound test_other_counts_than_the_source_get_a_uniform_rate",
            "where counts differ the rate is uniform, which LOGGER_LEVEL=WARN tells"),
        row("FFmpegMuxer.MuxPassthroughPacket FFmpegMuxer.PreparePassthroughPacket", "test_a_transcoding_loop_keeps_times_and_sound test_passthrough_packets_that_are_left_out",
            "every audio stream that the container can hold"),
        row("FFmpegMuxer.Mux", "test_mux_writes_what_it_is_told", "`numb` has no effect"),
        row("FFmpegMuxer.Finalize", "test_packets_of_an_encoder_in_a_file test_a_forgotten_finalize_loses_nothing", "after an error there is no file"),
        row("GetMediaFormat MEDIA_FORMAT", "test_media_formats", "an extension without a MEDIA_FORMAT raises"),
        row("patch_ivf_frame_count", "test_codecs"),
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
    ("CreateEncoder's formats", "\"ARBG\" is none", "`ARGB`"),
    ("encoding of 1-D bytes", "`dec_file` is never opened; `frame_size` is a float, which `np.fromfile` refuses; the encoder is called `nvenc`", "`open(...)`; `int(...)`; `encoder`"),
    ("encoding of an AppFrame", "AppCAI is never imported; `input_gpu_frame` is `input_frame`; pycuda is not initialized", "`from Utils import AppCAI`; `input_frame`; `import pycuda.autoinit`"),
    ("encoding of a tensor", "needs CUDA", "runs where torch has CUDA; elsewhere the same tensor is memory of `pycuda.driver` with `__cuda_array_interface__`"),
    ("EndEncode", "`width`, `height`, `fmt`, `use_cpu_memory` and `config_params` are never set, the encoder is made twice; `dec_file` and `frame_size` as above; each `bitstream` is overwritten",
     "the values of its first line; the second encoder; as above; each is written to a file"),
]

# Where the guide contradicts itself or the library.
CHOICES = [
    ("defaults of CreateDecoder", "an example passes `usedevicememory=True`, the signature has 0", "the signature"),
    ("`enableasyncallocations`", "in examples of 1.0, not in the printed signature, nor in 2.2", "accepted by name, no effect"),
    ("`shape`, `strides`, `dtype`", "methods in the guide, attributes in 2.2", "attributes that can be called"),
    ("`Seek`", "seconds in 1.0, a frame's number in 2.2", "float and int"),
    ("`nv12_to_rgb`", "signature: None; text: an RGB tensor", "the tensor"),
    ("`bf`", "Table 1: 0 is I, 1 IPP, 2 IBP, 3 IBBP; its name and PyNvVideoCodec's sources: the number of B pictures, so that 0 is IPP", "Table 1. Scripts that mean a number and write 0 for IPP must pass 1"),
    ("rate control without any keyword", "Table 1: cbr of 10,000,000; PyNvVideoCodec's sources: constant QP 28, 31, 25", "Table 1"),
    ("what Encode() gives", "1.0: an array of bytes; 2.2: a list of dicts", "both: [EncodedPackets](#encoding)"),
    ("`aq`", "Table 1: 0 or 1; PyNvVideoCodec's sources: a strength", "Table 1"),
    ("`gop`: \"integer or list of 3 integers\"", "a list of different lengths has no meaning", "one number, or the same three times"),
    ("surfaces \"in host memory\" of the first decoding example", "the example asks for device memory", "what `usedevicememory` says"),
]

# Samples of the 2.2.4 wheel, and what they are run with.
SAMPLES = [
    ("advanced/decode.py", "-d 0, -d 1"),
    ("advanced/decode_from_memory_buffer.py", ""),
    ("advanced/decode_reconfigure.py", "two streams of different sizes"),
    ("advanced/decode_sei_msg.py", "its messages are raw payloads, `sei_uncompressed` is 0"),
    ("advanced/decode_with_cuda_control.py", ""),
    ("advanced/decode_with_low_latency.py", "-dl 0, -dl 1, -dl 2"),
    ("advanced/simple_decode_from_memory.py", ""),
    ("advanced/simple_decode_stats.py", "says that statistics are not supported, as it does with older drivers"),
    ("advanced/decode_perf.py", "-m thread, -m process"),
    ("basic/encode.py", "-m cpu, -m gpu, H.264, HEVC, AV1, into bare streams and MP4"),
    ("advanced/transcode.py", ""),
    ("advanced/encode_reconfigure.py", "-json with a file without `multipass`; with the wheel's file it prints the error"),
    ("advanced/encode_sei_msg.py", ""),
    ("advanced/encode_perf.py", "-m thread"),
    ("basic/create_video_segments.py", "without audio"),
]

DEFECTS = [
    "`dec[a:b]` raises, stop = len raises, negative numbers are refused",
    "`get_batch_frames_by_index` drops repeated numbers and numbers out of range",
    "after a failed reconfigure the decoder is unusable",
    "`SimpleDecoder.stop()` calls a method that does not exist",
    "MPEG-TS: seeking fails, times are invented",
    "the demuxer's Seek crashes, edit lists are mishandled",
    "SetSeekPTS has no effect",
    "open GOPs give IndexError",
    "calls hold the GIL, so that threads wait for each other",
    "`ThreadedDecoder.end()` crashes, frames dangle",
    "capabilities leak a session, asynchronous frames leak",
    "RTSP crashes the demuxer",
    "1.8 GiB of a GPU for each process; paths only",
    "no profile, level, packet times, BT.2020",
    "import needs NVENC's library",
    "frames have to be cloned; a change of size needs host memory",
]
DEFECT_NOTES = {
    12: "raises with a one-line message: network protocols are not supported",
    13: "GPU memory can be measured on hardware only",
    14: "for decoding: BT.2020; for encoding (`profile`, `level`, `pts` of packets): `test_profile_level_and_times_of_packets`",
}
