#pragma once
/* Lanner for C and for every language that calls C: running networks and reading videos. Needs only C99.

   Versions. Symbols and their meaning stay as long as LANNER_C_ABI_VERSION is the same. Additions are new
   functions, new numbers of an enumeration and new members at the end of the structures that begin with
   `struct_size`. Set `struct_size = sizeof(the structure)` and zero the rest: zero
   is every member's default. A structure of an older header is accepted; a newer one too, unless a member
   that this library does not know is set.

   Errors. A function that can fail returns a lanner_status. Where the last argument, `error`, is not null,
   *error becomes null on success, else an object that the caller must pass to lanner_error_destroy and whose
   message is one line: what, where, expected, got, what to do. The library throws no exceptions, raises no
   signals and prints nothing. On failure outputs are set to null or left unchanged, as documented.

   Ownership. The caller owns each returned handle until it calls its destroy function, which accepts null
   too. Contexts keep their engine alive, images the video's memory: handles may be destroyed in any order.
   Strings, arrays and structures that are passed in are read during the call only. Texts are UTF-8 and end
   with 0; paths are the system's bytes.

   Threads. An engine, an image and an error may be used by many threads at once, a context and a video by one
   at a time. Every call runs on the caller's thread.

   Tensors are DLPack's DLManagedTensorVersioned (https://dmlc.github.io/dlpack/latest/), of major version 1:
   the same memory goes to and from NumPy, PyTorch, CuPy and others without a copy. One that Lanner returns is
   row-major, in host memory unless the engine's device is another, and the receiver must call
   `tensor->deleter(tensor)` once. Lanner takes ownership of tensors passed to it, also on failure: it calls
   the deleter when it no longer needs the memory. The structure is declared by <lanner/dlpack_structs.h> or
   by DLPack's own <dlpack/dlpack.h>.

   The conversion of pictures to tensors is given by a `preprocess` text: the name of a preset (`imagenet`,
   `yolo` and others of lanner::Preprocess::preset), or JSON with the fields of lanner::Preprocess, for
   example

       {"preset": "imagenet", "width": 224, "height": 224, "fit": "crop"}
*/

#include <stddef.h>
#include <stdint.h>

#include <lanner/allocator.h>
#include <lanner/c_options.h>
#include <lanner/c_types.h>
#include <lanner/operator.h>

#ifdef __cplusplus
#define LANNER_NOEXCEPT noexcept
extern "C" {
#else
#define LANNER_NOEXCEPT
#endif
#if defined(__GNUC__)
#define LANNER_SHOWN __attribute__((visibility("default")))
#else
#define LANNER_SHOWN
#endif

struct DLManagedTensorVersioned;

/* ---- Versions ---- */

/* Version of this header; equal to the result of lanner_c_abi_version() of a matching library. */
#define LANNER_C_ABI_VERSION 1

uint32_t lanner_c_abi_version(void) LANNER_NOEXCEPT;
/* `major.minor.patch` of the loaded library; static. */
const char* lanner_version(void) LANNER_NOEXCEPT;

/* ---- Errors ---- */

/* `ok`, `bad_data`; static. `unknown` for other numbers. */
const char* lanner_status_name(lanner_status status) LANNER_NOEXCEPT;

typedef struct lanner_error lanner_error;
/* The status that was returned with it; LANNER_OK for null. */
lanner_status lanner_error_status(const lanner_error* error) LANNER_NOEXCEPT;
/* Its message, valid as long as the error; empty for null. */
const char* lanner_error_message(const lanner_error* error) LANNER_NOEXCEPT;
void lanner_error_destroy(lanner_error* error) LANNER_NOEXCEPT;

/* ---- Threads ---- */

/* Threads of every engine and video that is made without an explicit number: the number of
   lanner_set_threads(), else LANNER_THREADS, else the number of cores that this process may use now. */
int32_t lanner_default_threads(void) LANNER_NOEXCEPT;
/* For objects made from now on; 0 undoes an earlier setting. */
lanner_status lanner_set_threads(int32_t count, lanner_error** error) LANNER_NOEXCEPT;

/* A thread pool of the program, for Lanner's loops to run on. */
typedef struct lanner_executor {
  void* user;
  /* Calls piece(argument, i) once for each i from 0 to count - 1, in any order, on the calling thread, on
     others or on both, and returns when all have returned. Pieces do not wait. Called by every thread that
     runs a context or converts pictures, also concurrently. */
  void (*run)(void* user, int32_t count, void (*piece)(void* argument, int32_t number), void* argument);
} lanner_executor;
/* Null: Lanner's own threads again. The caller owns the executor and must keep it until another is set.
   Must not be called while anything runs. Kernels whose threads synchronise with each other (oneDNN's matrix
   products) still use Lanner's own threads. */
lanner_status lanner_set_executor(const lanner_executor* executor, lanner_error** error) LANNER_NOEXCEPT;

/* ---- Tensors ---- */

/* A zeroed tensor in host memory, aligned to 64 bytes, for the caller to fill. *tensor is null on failure. */
lanner_status lanner_tensor_create(lanner_dtype dtype, const int64_t* shape, size_t rank,
                                   struct DLManagedTensorVersioned** tensor,
                                   lanner_error** error) LANNER_NOEXCEPT;

/* ---- Environments ---- */

/* *environment is null on failure. */
lanner_status lanner_environment_create(lanner_environment** environment,
                                        lanner_error** error) LANNER_NOEXCEPT;
void lanner_environment_destroy(lanner_environment* environment) LANNER_NOEXCEPT;
/* Adds an operator to Lanner's own; `op` is copied. */
lanner_status lanner_environment_add_operator(lanner_environment* environment, const lanner_operator* op,
                                              lanner_error** error) LANNER_NOEXCEPT;
/* Opens a library and calls its function lanner_plugin(), which may call the functions here; its
   additions take effect when it succeeds. The library stays open for as long as the process lives. */
lanner_status lanner_environment_load_plugin(lanner_environment* environment, const char* path,
                                             lanner_error** error) LANNER_NOEXCEPT;
/* Defined by plug-ins, not by Lanner; the caller owns *error. */
LANNER_SHOWN lanner_status lanner_plugin(lanner_environment* environment,
                                         lanner_error** error) LANNER_NOEXCEPT;

/* Where timings are stored, and measured machine limits are looked for first; null: the user's folder. */
lanner_status lanner_environment_set_cache_folder(lanner_environment* environment, const char* path,
                                                  lanner_error** error) LANNER_NOEXCEPT;
/* Receives messages, one line each, from any thread: `level` is 0 for debugging, 1 for information, 2 for
   warnings. */
typedef void (*lanner_log)(void* user, int32_t level, const char* message);
/* Receives messages while engines are built, loaded or run with this environment. Null: the process's
   callback; a C program has none, so that messages are dropped. */
lanner_status lanner_environment_set_log(lanner_environment* environment, lanner_log log, void* user,
                                         lanner_error** error) LANNER_NOEXCEPT;
/* For the memory of its engines and contexts, while they are built too: weights, scratch memory, results,
   copies. Null: Lanner's own again. */
lanner_status lanner_environment_set_allocator(lanner_environment* environment,
                                               const lanner_allocator* allocator,
                                               lanner_error** error) LANNER_NOEXCEPT;
/* Restricts kernels to these backends: `cpu,onednn`, of `cuda`, `onednn`, `cpu` and `reference`, which is
   used in addition where no other has a kernel. Null: all. */
lanner_status lanner_environment_set_backends(lanner_environment* environment, const char* names,
                                              lanner_error** error) LANNER_NOEXCEPT;
/* Replaces the executor of lanner_set_executor(), by its rules, but copied; null: the process's again. */
lanner_status lanner_environment_set_executor(lanner_environment* environment,
                                              const lanner_executor* executor,
                                              lanner_error** error) LANNER_NOEXCEPT;
/* Threads of engines that are made without an explicit number; 0: lanner_default_threads(). */
lanner_status lanner_environment_set_threads(lanner_environment* environment, int32_t count,
                                             lanner_error** error) LANNER_NOEXCEPT;
/* Limits on every build, load and run, in addition to those of its options and in the same form.
   `total_bytes` bounds all its engines together, on the host and on GPUs. Null: no further limits. */
lanner_status lanner_environment_set_limits(lanner_environment* environment, const char* limits,
                                            lanner_error** error) LANNER_NOEXCEPT;

/* ---- Engines ---- */

/* An immutable network ready to run. */
typedef struct lanner_engine lanner_engine;

/* Imports, optimises and tunes a model, from a file or from bytes, which are copied. `options` may be null.
   `*engine` is null on failure. */
lanner_status lanner_engine_build(const char* path, const lanner_build_options* options,
                                  lanner_engine** engine, lanner_error** error) LANNER_NOEXCEPT;
lanner_status lanner_engine_build_bytes(const void* model, size_t bytes, const lanner_build_options* options,
                                        lanner_engine** engine, lanner_error** error) LANNER_NOEXCEPT;
/* Opens a plan that lanner_engine_save wrote; every byte is validated. */
lanner_status lanner_engine_load(const char* path, const lanner_load_options* options, lanner_engine** engine,
                                 lanner_error** error) LANNER_NOEXCEPT;
lanner_status lanner_engine_load_bytes(const void* plan, size_t bytes, const lanner_load_options* options,
                                       lanner_engine** engine, lanner_error** error) LANNER_NOEXCEPT;
/* Writes a plan to a temporary file and renames it to `path`. */
lanner_status lanner_engine_save(const lanner_engine* engine, const char* path,
                                 lanner_error** error) LANNER_NOEXCEPT;
void lanner_engine_destroy(lanner_engine* engine) LANNER_NOEXCEPT;

/* Compares every node's kernel with the node's definition, and several concurrent contexts with each other.
   LANNER_INTERNAL with the first node that differs, its kernel and how, or with how the network as a whole
   differs. `options` may be null. */
lanner_status lanner_engine_verify(const lanner_engine* engine, const lanner_verify_options* options,
                                   lanner_error** error) LANNER_NOEXCEPT;

/* 0 for null. */
size_t lanner_engine_input_count(const lanner_engine* engine) LANNER_NOEXCEPT;
size_t lanner_engine_output_count(const lanner_engine* engine) LANNER_NOEXCEPT;
lanner_status lanner_engine_input(const lanner_engine* engine, size_t index, lanner_binding* binding,
                                  lanner_error** error) LANNER_NOEXCEPT;
lanner_status lanner_engine_output(const lanner_engine* engine, size_t index, lanner_binding* binding,
                                   lanner_error** error) LANNER_NOEXCEPT;
/* Initialisers that the build made constants but that may still be bound: see lanner::Engine::overridable. */
size_t lanner_engine_overridable_count(const lanner_engine* engine) LANNER_NOEXCEPT;
lanner_status lanner_engine_overridable(const lanner_engine* engine, size_t index, lanner_binding* binding,
                                        lanner_error** error) LANNER_NOEXCEPT;
/* The engine's metadata under a key; null when there is none. Valid as long as the engine. */
const char* lanner_engine_metadata(const lanner_engine* engine, const char* key) LANNER_NOEXCEPT;
/* All of it, in the order of keys; 0 for null. */
size_t lanner_engine_metadata_count(const lanner_engine* engine) LANNER_NOEXCEPT;
/* Both texts are valid as long as the engine. */
lanner_status lanner_engine_metadata_entry(const lanner_engine* engine, size_t index, lanner_metadata* entry,
                                           lanner_error** error) LANNER_NOEXCEPT;

/* ---- Images ---- */

/* Pixels of one picture. */
typedef struct lanner_image lanner_image;

typedef struct lanner_image_info {
  size_t struct_size; /* As in lanner_binding. */
  int32_t width;      /* Pixels. */
  int32_t height;
  const char* format; /* FFmpeg's name, such as `rgb24`, `nv12`, `yuv420p`; static. */
} lanner_image_info;

/* Reads a still picture: PNG, JPEG and other formats of FFmpeg. *image is null on failure. */
lanner_status lanner_image_load(const char* path, lanner_image** image, lanner_error** error) LANNER_NOEXCEPT;
/* Copies the caller's pixels. `format` is a name as in lanner_image_info; `planes` and `pitches` (bytes from
   row to row) have one entry for each plane of the format: 1 for interleaved ones, 2 for nv12 and similar
   ones, else 3, and one more for opacity (yuva420p). */
lanner_status lanner_image_create(const char* format, int32_t width, int32_t height,
                                  const void* const* planes, const int64_t* pitches, lanner_image** image,
                                  lanner_error** error) LANNER_NOEXCEPT;
lanner_status lanner_image_describe(const lanner_image* image, lanner_image_info* info,
                                    lanner_error** error) LANNER_NOEXCEPT;
/* One batch element, [1, channels, height, width] or [1, height, width, channels].
   `*tensor` is null on failure. */
lanner_status lanner_image_to_tensor(const lanner_image* image, const char* preprocess,
                                     struct DLManagedTensorVersioned** tensor,
                                     lanner_error** error) LANNER_NOEXCEPT;
/* Writes PNG or JPEG, by the path's extension. */
lanner_status lanner_image_save(const lanner_image* image, const char* path,
                                lanner_error** error) LANNER_NOEXCEPT;
void lanner_image_destroy(lanner_image* image) LANNER_NOEXCEPT;

/* ---- Contexts ---- */

/* One caller's state to run an engine: memory, bindings, threads. */
typedef struct lanner_context lanner_context;

/* `options` may be null. *context is null on failure. */
lanner_status lanner_context_create(const lanner_engine* engine, const lanner_context_options* options,
                                    lanner_context** context, lanner_error** error) LANNER_NOEXCEPT;
/* Binds an input until the next bind. A tensor with the storage of lanner_binding's `storage` is read in
   place by every run; others are copied, and so are tensors bound to a state, for one run. */
lanner_status lanner_context_bind(lanner_context* context, const char* input,
                                  struct DLManagedTensorVersioned* tensor,
                                  lanner_error** error) LANNER_NOEXCEPT;
/* Binds pictures as a batch, with `preprocess`, or, when it is null, the engine's own. Inputs of
   lanner_image_input read them at each run; then only region and quarter turns may differ. */
lanner_status lanner_context_bind_images(lanner_context* context, const char* input,
                                         const lanner_image* const* images, size_t count,
                                         const char* preprocess, lanner_error** error) LANNER_NOEXCEPT;
/* Provides the caller's memory for an output, of the output's type and shape, until the next bind; null
   ends that. */
lanner_status lanner_context_bind_output(lanner_context* context, const char* output,
                                         struct DLManagedTensorVersioned* tensor,
                                         lanner_error** error) LANNER_NOEXCEPT;
/* Runs the network once; the outputs are there when it returns. */
lanner_status lanner_context_run(lanner_context* context, lanner_error** error) LANNER_NOEXCEPT;
/* An output of the last run. Later runs do not change it, unless it is memory of lanner_context_bind_output
   or of an alias, or of a state that is overwritable, which the next run updates in place. A blocked layout,
   which strides cannot describe, is copied. `*tensor` is null on failure. */
lanner_status lanner_context_output(lanner_context* context, const char* output,
                                    struct DLManagedTensorVersioned** tensor,
                                    lanner_error** error) LANNER_NOEXCEPT;
/* Resets states to zeros for the next run. */
lanner_status lanner_context_reset_states(lanner_context* context, lanner_error** error) LANNER_NOEXCEPT;
/* A copy in host memory of the state that the next run reads for this input. *tensor is null where there is
   none yet, with LANNER_OK, and on failure. */
lanner_status lanner_context_state(lanner_context* context, const char* input,
                                   struct DLManagedTensorVersioned** tensor,
                                   lanner_error** error) LANNER_NOEXCEPT;
void lanner_context_destroy(lanner_context* context) LANNER_NOEXCEPT;

/* ---- Videos ---- */

/* Frames of a file's video stream, by number and in order. */
typedef struct lanner_video lanner_video;

typedef struct lanner_video_info {
  size_t struct_size; /* As in lanner_binding. */
  int32_t width;      /* Size of a frame returned by lanner_video_read. */
  int32_t height;
  const char* codec; /* FFmpeg's name, such as `h264`; valid as long as the video. */
  int64_t rate_num;  /* Frames per second according to the container, a fraction. */
  int64_t rate_den;  /* 0 when unknown. */
  double duration;   /* Seconds according to the container, 0 when unknown. */
} lanner_video_info;

typedef struct lanner_frame_info {
  size_t struct_size; /* As in lanner_binding. */
  int64_t index;      /* Number of the frame, from 0. */
  int64_t pts;        /* Ticks; INT64_MIN where the stream gives none. */
  int64_t duration;   /* Ticks. */
  int64_t tick_num;   /* Seconds of one tick, a fraction. */
  int64_t tick_den;
  int32_t key;     /* Not 0: decodes by itself. */
  int32_t corrupt; /* Not 0: the decoder concealed damage. */
} lanner_frame_info;

/* Opens the stream that a player would show. `options` may be null. *video is null on failure. */
lanner_status lanner_video_open(const char* path, const lanner_video_options* options, lanner_video** video,
                                lanner_error** error) LANNER_NOEXCEPT;
lanner_status lanner_video_describe(const lanner_video* video, lanner_video_info* info,
                                    lanner_error** error) LANNER_NOEXCEPT;
/* The exact number of decoded frames; the first call reads the file once, without decoding. */
lanner_status lanner_video_frame_count(lanner_video* video, int64_t* count,
                                       lanner_error** error) LANNER_NOEXCEPT;
/* Frame `index`, rotated for display; the next lanner_video_next continues after it. `info` may be null.
 *image is null on failure. */
lanner_status lanner_video_read(lanner_video* video, int64_t index, lanner_image** image,
                                lanner_frame_info* info, lanner_error** error) LANNER_NOEXCEPT;
/* The next frame in order; *image is null at the end, with LANNER_OK, and on failure. */
lanner_status lanner_video_next(lanner_video* video, lanner_image** image, lanner_frame_info* info,
                                lanner_error** error) LANNER_NOEXCEPT;
void lanner_video_destroy(lanner_video* video) LANNER_NOEXCEPT;

/* ---- Weights ---- */

typedef struct lanner_save_options {
  size_t struct_size;
  int32_t strip_weights; /* Not 0: without the model's weights, which the loader must then supply. */
  int32_t reserved;      /* 0. */
} lanner_save_options;

/* As lanner_engine_save; `options` may be null. */
lanner_status lanner_engine_save_with(const lanner_engine* engine, const char* path,
                                      const lanner_save_options* options,
                                      lanner_error** error) LANNER_NOEXCEPT;
/* An engine whose `count` weights of these names have other values, of the same type and shape; others keep
   theirs. Kernels and shapes stay, `engine` and its contexts are not affected. Takes ownership of the
   tensors, also on failure. *refitted is null on failure: LANNER_NOT_FOUND for an unknown name,
   LANNER_INVALID_ARGUMENT for a wrong type or shape, and where a weight was merged into one constant with
   others, which the message names and which must be given too. */
lanner_status lanner_engine_refit(const lanner_engine* engine, const char* const* names,
                                  struct DLManagedTensorVersioned* const* tensors, size_t count,
                                  lanner_engine** refitted, lanner_error** error) LANNER_NOEXCEPT;

/* Weights on the engine's GPU, in bytes. */
typedef struct lanner_weight_memory {
  size_t struct_size;
  uint64_t streamable; /* Bytes that a budget may keep off the GPU. */
  uint64_t least;      /* The smallest valid budget. */
  uint64_t budget;     /* 0: there is none. */
} lanner_weight_memory;

/* Zeros for an engine on a CPU. */
lanner_status lanner_engine_weight_memory(const lanner_engine* engine, lanner_weight_memory* memory,
                                          lanner_error** error) LANNER_NOEXCEPT;
/* Bytes of the GPU that weights may take, 0 for all: those that do not fit are copied ahead of the steps that
   read them. Contexts apply it at their next run. LANNER_INVALID_ARGUMENT below the smallest budget,
   LANNER_UNSUPPORTED on a CPU: the budget then stays as it was. */
lanner_status lanner_engine_set_weight_budget(const lanner_engine* engine, uint64_t bytes,
                                              lanner_error** error) LANNER_NOEXCEPT;

/* ---- Runs ---- */

typedef struct lanner_run_options {
  size_t struct_size;
  /* For an engine on a GPU: a CUstream; null: CUDA's legacy default stream. */
  void* stream;
  /* Not 0: returns when the work is queued on the stream; on the CPU when it is done. Tensors involved must
     live until the stream has been synchronised, and results may be read only then. */
  int32_t enqueue;
  int32_t reserved; /* 0. */
  /* Runs the loops of this run; null: the environment's. */
  const lanner_executor* executor;
  /* Allocates the results of this run, which the context holds until its next run; null: the
     environment's. */
  const lanner_allocator* allocator;
} lanner_run_options;

/* As lanner_context_run; `options` may be null. */
lanner_status lanner_context_run_with(lanner_context* context, const lanner_run_options* options,
                                      lanner_error** error) LANNER_NOEXCEPT;

#ifdef __cplusplus
}
#endif
