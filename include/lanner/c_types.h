#pragma once
/* Numbers shared by all parts of Lanner's C interface. C99; see <lanner/c.h> for its rules. */

#include <stdint.h>

/* 0, or the number of the lanner::ErrorCode plus one. */
typedef int32_t lanner_status;
enum {
  LANNER_OK = 0,
  LANNER_INVALID_ARGUMENT = 1, /* An argument of the caller is invalid. */
  LANNER_NOT_FOUND = 2,        /* A requested file, name or library does not exist. */
  LANNER_BAD_DATA = 3,         /* Input data is malformed. */
  LANNER_LIMIT_EXCEEDED = 4,   /* A limit on memory or time would be exceeded. */
  LANNER_UNSUPPORTED = 5,      /* Valid, but not supported by this build or device. */
  LANNER_OUT_OF_MEMORY = 6,
  LANNER_IO = 7,        /* The operating system refused a read or write. */
  LANNER_CANCELLED = 8, /* A progress function asked to stop. */
  LANNER_DEVICE = 9,    /* A driver or vendor library failed. */
  LANNER_INTERNAL = 10  /* A bug in Lanner. */
};

/* Element types, numbered like lanner::DType. Types under a byte are packed, lowest bits first. */
typedef int32_t lanner_dtype;
enum {
  LANNER_F32 = 0,
  LANNER_F64 = 1,
  LANNER_F16 = 2,
  LANNER_BF16 = 3,
  LANNER_I8 = 4,
  LANNER_U8 = 5,
  LANNER_I16 = 6,
  LANNER_U16 = 7,
  LANNER_I32 = 8,
  LANNER_U32 = 9,
  LANNER_I64 = 10,
  LANNER_U64 = 11,
  LANNER_BOOL = 12,
  LANNER_STRING = 13, /* DLPack cannot express it: neither bound nor returned here. */
  LANNER_C64 = 14,
  LANNER_C128 = 15,
  LANNER_I4 = 16,
  LANNER_U4 = 17,
  LANNER_I2 = 18,
  LANNER_U2 = 19,
  LANNER_F4E2M1 = 20,
  LANNER_F8E4M3FN = 21,
  LANNER_F8E4M3FNUZ = 22,
  LANNER_F8E5M2 = 23,
  LANNER_F8E5M2FNUZ = 24,
  LANNER_F8E8M0 = 25
};

/* Kinds of devices that hold memory and run work, numbered like lanner::DeviceKind. */
typedef int32_t lanner_device_kind;
enum { LANNER_CPU = 0, LANNER_CUDA = 1 };
