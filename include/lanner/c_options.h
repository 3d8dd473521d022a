#pragma once
/* Options of builds, loads, contexts and videos, and descriptions of an engine's inputs and outputs. C99; see
 * <lanner/c.h> for its rules. */

#include <stddef.h>
#include <stdint.h>

#include <lanner/c_types.h>

/* Sizes that one input may have: `rank` numbers each. `opt`, which kernels are timed for, and `max` may be
   null: they are then `min`. The structure never grows. */
typedef struct lanner_shape_range {
  const char* input;
  size_t rank;
  const int64_t* min;
  const int64_t* opt;
  const int64_t* max;
} lanner_shape_range;

/* How pictures that are bound to one input become tensors. The structure never grows. */
typedef struct lanner_input_preprocess {
  const char* input;
  const char* preprocess;
} lanner_input_preprocess;

/* An input that takes images, which the engine's device reads in place. The structure never grows. */
typedef struct lanner_image_input {
  const char* input;
  const char* format;     /* Format of all its images, as in lanner_image_info; null: any. */
  const char* preprocess; /* Omitted sizes are the model's. */
} lanner_image_input;

/* Ranges of shapes to prepare the engine for. The structure never grows. */
typedef struct lanner_profile {
  const lanner_shape_range* shapes; /* By input; others may have any sizes. */
  size_t shape_count;
} lanner_profile;

/* A compute type for certain nodes. The structure never grows. */
typedef struct lanner_precision_pin {
  const char* pattern; /* Matches names of the model's nodes; `*` matches any characters, `?` one. */
  const char* type;    /* `fp32`, `fp16`, `bf16`. */
} lanner_precision_pin;

/* A device for certain nodes. The structure never grows. */
typedef struct lanner_placed_nodes {
  const char* pattern; /* As in lanner_precision_pin. */
  const char* device;  /* `cpu`, or a GPU of lanner_build_options.device. */
} lanner_placed_nodes;

/* Input and output of a state or an alias. The structure never grows. */
typedef struct lanner_pair {
  const char* input;
  const char* output;
} lanner_pair;

/* An entry of an engine's metadata. The structure never grows. */
typedef struct lanner_metadata {
  const char* key;
  const char* value;
} lanner_metadata;

/* Storage of an input or output on the caller's side: `acdb:f16`, `row:u8:pitch=640`, `any`. The structure
   never grows. */
typedef struct lanner_binding_storage {
  const char* name;
  const char* storage;
} lanner_binding_storage;

/* An input or output. Pointers are valid as long as the engine. */
typedef struct lanner_binding {
  size_t struct_size; /* Set by the caller; members unknown to the library are zeroed. */
  const char* name;
  lanner_dtype dtype;
  int32_t sequence; /* Not 0: a sequence or optional, which this interface can neither bind nor return. */
  int32_t ranked;   /* 0: any number of dims, `rank` is 0. */
  size_t rank;
  const int64_t* dims; /* -1 where the size is open. */
  const char* storage; /* Storage of tensors: `row`, `acdb`, `f16 aBcd16b`; `dtype` is their type. */
  int32_t state;       /* Not 0: part of a state; as an input it need not be bound. */
  int32_t overwritten; /* Not 0: a run may overwrite the memory bound to this input. */
  const char* image;   /* For an input that takes images: their format's name, or `any`; else empty. */
  int32_t defaulted;   /* Not 0: an input that need not be bound: the model has a default for it. */
} lanner_binding;

/* What builds and loads share in addition to the model. Engines keep what they were given: changes apply to
   engines that are made later, and an environment may be destroyed before its engines. Unset settings are the
   process's. What a function's `user` points to must stay valid until those engines, their contexts and the
   tensors that came from them are gone. One thread at a time. */
typedef struct lanner_environment lanner_environment;

/* Called on the caller's thread while a long call runs, with a stage's name and progress; `total` is 0 when
   it is unknown. Any result other than 0 ends the call with LANNER_CANCELLED. */
typedef int (*lanner_progress)(void* user, const char* stage, double done, double total);

/* The range of a value of the model, for INT8: `-1:1`. */
typedef struct lanner_value_range {
  const char* value;
  const char* range;
} lanner_value_range;

typedef struct lanner_build_options {
  size_t struct_size;
  const char* precision; /* Types that kernels may compute in: `fp32` (null), `fp16,bf16,fp32`. */
  double budget;         /* Seconds that timing kernels may take; 0 is 10, below 0 nothing is timed. */
  int32_t threads;       /* Threads of contexts; 0: the machine's cores. */
  int32_t deterministic; /* Not 0: the same input gives the same plan, nothing is timed. */
  const char* device;    /* `cpu` (null), `auto`, `cuda:0`, or several GPUs: `cuda:0,cuda:1`. */
  /* For inputs with sizes that the model leaves open. The build times kernels where the sizes of all inputs
     are known; else they are chosen by estimates at the first run of each set of shapes. */
  const lanner_shape_range* shapes;
  size_t shape_count;
  const lanner_input_preprocess* preprocess;
  size_t preprocess_count;
  lanner_progress progress;
  void* progress_user;
  int32_t retune;   /* Not 0: time kernels again that earlier builds have timed. */
  int32_t reserved; /* 0. */
  /* Limits on the build and the engine's contexts, such as `total_bytes=4GiB,seconds=60`: by the names of
     lanner::Limits, comma separated. Null: the defaults. */
  const char* limits;
  /* The opt shapes of each are tuned; other shapes of a profile reuse its kernels; shapes outside of all run
     too. */
  const lanner_profile* profiles;
  size_t profile_count;
  /* The first that matches a node applies. */
  const lanner_precision_pin* pins;
  size_t pin_count;
  /* Not 0: a node that no kernel computes in `precision` or its pin, or where it is placed, is an error. */
  int32_t strict;
  int32_t exact; /* Not 0: no kernels with another formula (Winograd). */
  /* Values that each context keeps: the output's value after a run is the input's at the next one. */
  const lanner_pair* states;
  size_t state_count;
  /* Outputs that are written into the memory bound to an input. */
  const lanner_pair* aliases;
  size_t alias_count;
  /* Inputs whose memory a run may overwrite: they must be written or bound again before each run. */
  const char* const* overwritable;
  size_t overwritable_count;
  /* For inputs and outputs that are not row-major in the model's type. */
  const lanner_binding_storage* storages;
  size_t storage_count;
  const lanner_environment* environment; /* Null: only Lanner's own operators. */
  const lanner_image_input* images;      /* Inputs that take images of any size, not tensors. */
  size_t image_count;
  uint64_t weight_budget;            /* As lanner_engine_set_weight_budget. */
  const lanner_placed_nodes* placed; /* The first that matches a node applies. */
  size_t placed_count;
  /* Names of the model's values to use as outputs, in this order, instead of the model's own. */
  const char* const* outputs;
  size_t output_count;
  /* Added to the model's own, overriding entries with an equal key; stored in the plan. `lanner.preprocess`
     is rejected: preprocessing has an option of its own. */
  const lanner_metadata* metadata;
  size_t metadata_count;
  /* Not 0: kernels for new shapes are timed at their first run, which takes up to `budget`; not stored in
     plans. 0: kernels for sizes unknown to the build are chosen by estimates. */
  int32_t tune_at_run;
  int32_t reserved_2; /* 0. */
  /* Initialisers that the model lists among its inputs: inputs of the engine, which need not be bound. */
  const char* const* overridden;
  size_t overridden_count;
  const char* weights; /* For a Caffe network in text (.prototxt): the path of its .caffemodel; else null. */
  /* For precision int8: a safetensors file with samples of each input; docs/int8.md. */
  const char* calibration_data;
  const char* calibration; /* A calibration table, or TensorRT's calibration cache: a path. */
  const char* calibrator;  /* `auto` (null), `entropy`, `entropy2`, `minmax`, `percentile`, `legacy`. */
  double least_snr;        /* Least signal-to-noise ratio of a node in INT8, in dB; 0: 20. */
  const lanner_value_range* ranges; /* Of values, instead of calibrated ones. */
  size_t range_count;
  /* For a TensorFlow SavedModel: the signature that becomes the network (null: `serving_default`, or the only
     one), and the tags of the graph that has it (none: `serve`, or the only graph). */
  const char* signature;
  const char* const* tags;
  size_t tag_count;
  int32_t
      freeze_batch_norm; /* Not 0: TensorFlow's batch normalisation in training mode is read as inference. */
  /* Not 0: calibration data serve to find ranges and to check nodes alone, so that builds from the table that
     they give have the same answers. */
  int32_t ranges_only;
} lanner_build_options;

typedef struct lanner_load_options {
  size_t struct_size;
  int32_t threads;    /* 0: as the plan was built for, at most the machine's cores. */
  int32_t reserved;   /* 0. */
  const char* limits; /* As in lanner_build_options. */
  /* For a plan that was saved without weights: the path of the model, of a safetensors file or of a plan that
     has them; null where the plan has its own. */
  const char* weights;
  const lanner_environment* environment; /* With the custom operators of the plan; null: none. */
  uint64_t weight_budget;                /* As lanner_engine_set_weight_budget. */
  int32_t tune_at_run; /* As in lanner_build_options, within the budget of the plan's build. */
  int32_t verify; /* Not 0: runs the plan on random inputs; LANNER_BAD_DATA where its results differ from its
                     portable IR's. A plan's digest is not a signature. */
} lanner_load_options;

typedef struct lanner_verify_options {
  size_t struct_size;
  uint64_t seed;                    /* Seed of the random inputs. */
  int32_t runs;                     /* Runs of each node, and of the network in each context; 0: 10. */
  int32_t contexts;                 /* Concurrent contexts; 0: 2. */
  int32_t threads;                  /* Threads of each context; 0: the engine's. */
  int32_t reserved;                 /* 0. */
  const lanner_shape_range* shapes; /* Uses the opt ones; others have the engine's, else some that fit. */
  size_t shape_count;
  const char* reproducer; /* File for the first node that differs, as an ONNX model; null: none. */
  lanner_progress progress;
  void* progress_user;
} lanner_verify_options;

typedef struct lanner_context_options {
  size_t struct_size;
  int32_t threads;  /* Fixed for the context's life; 0: the engine's. */
  int32_t reserved; /* 0. */
} lanner_context_options;

typedef struct lanner_video_options {
  size_t struct_size;
  int32_t threads;        /* Threads of the decoder; 0: the machine's cores. */
  int32_t raise_on_error; /* Not 0: damage is LANNER_BAD_DATA instead of being concealed. */
  const char* limits;     /* As in lanner_build_options, for reading the file. */
} lanner_video_options;
