/* The C interface of libnpu_ge_bridge.so, the only code that speaks GE's C++ interface. GE has the old string ABI of libstdc++, so the bridge is a library of
 * its own, compiled with _GLIBCXX_USE_CXX11_ABI=0; nothing but C crosses this line.
 *
 * The bridge is linked against nothing of CANN: open CANN's libraries with RTLD_GLOBAL first, then the bridge with RTLD_NOW, then ask
 * npu_ge_bridge(NPU_GE_BRIDGE_VERSION) for its functions. ge_library.h does that.
 *
 * Functions return GE's status, 0 for success. After a failure error_text tells why, on the same thread. No C++ exception leaves the bridge. Only the V1
 * family of GE's calls is used (Session, GEInitialize); V1 and V2 must not meet in one process. Rules about the order of calls: ge_session.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPU_GE_BRIDGE_VERSION 1
#define NPU_GE_MAX_RANK 25

typedef struct NpuGeOption {
  const char* key;
  const char* value;
} NpuGeOption;

typedef struct NpuGeOptions {
  const NpuGeOption* items;
  size_t count;
} NpuGeOptions;

/* A tensor in device memory. As an output: memory and shape given by the caller, or, where the caller gives none, by GE. */
typedef struct NpuGeTensor {
  void* data;
  uint64_t byte_size; /* room of an output; exact size of an input */
  int32_t type;       /* ge::DataType, the numbers of aclDataType */
  uint32_t rank;
  int64_t dims[NPU_GE_MAX_RANK]; /* of an output: set by the run */
} NpuGeTensor;

/* What a compiled graph is and needs. */
typedef struct NpuGeSummary {
  bool is_static;          /* false: shapes are worked out on the host for each run */
  uint64_t weight_bytes;
  uint64_t workspace_bytes; /* 0 where GE cannot say beforehand */
  uint64_t stream_count;   /* inside the graph */
  uint32_t output_count;
} NpuGeSummary;

typedef enum NpuGeModelFormat { NPU_GE_ONNX = 0, NPU_GE_TENSORFLOW = 1 } NpuGeModelFormat;

typedef struct NpuGeSession NpuGeSession;

typedef struct NpuGeBridge {
  uint32_t version;
  /* "CANN's headers" or "own declarations": what the bridge was compiled against. */
  const char* headers;

  uint32_t (*initialize)(NpuGeOptions options);
  uint32_t (*finalize)(void);
  /* GE's text about the newest failure on this thread, or the bridge's own; "" where there is none. Valid until the thread's next call. */
  const char* (*error_text)(void);

  /* Leaves the calling thread on a private context of GE's. */
  uint32_t (*session_new)(NpuGeOptions options, NpuGeSession** session);
  void (*session_delete)(NpuGeSession* session);

  /* Parses the file and adds it. One parse at a time in the process: whether GE's parsers may run side by side is not documented. */
  uint32_t (*add_graph)(NpuGeSession* session, uint32_t graph, NpuGeModelFormat format, const char* path, NpuGeOptions parser_options, NpuGeOptions options);
  uint32_t (*remove_graph)(NpuGeSession* session, uint32_t graph);
  uint32_t (*compile_graph)(NpuGeSession* session, uint32_t graph);
  uint32_t (*summarize)(NpuGeSession* session, uint32_t graph, NpuGeSummary* summary);
  /* Type and shape of output number `index` of a compiled graph; -1 for a dimension that is open. */
  uint32_t (*describe_output)(NpuGeSession* session, uint32_t graph, uint32_t index, NpuGeTensor* output);
  uint32_t (*load_graph)(NpuGeSession* session, uint32_t graph, NpuGeOptions options, void* stream);
  /* Starts a run on the stream; inputs are matched by position. With `*output_count` 0 GE gives the outputs memory of its own, which lasts until the graph's next
   * run or its removal: then up to `output_room` are written to `outputs` and counted. Otherwise `outputs` names the caller's memory. Shapes are filled in. */
  uint32_t (*execute)(NpuGeSession* session, uint32_t graph, void* stream, const NpuGeTensor* inputs, size_t input_count, NpuGeTensor* outputs,
                      size_t* output_count, size_t output_room);
} NpuGeBridge;

/* NULL where the bridge has another version, or the CANN that is loaded lacks a call it needs: then *problem says which. */
__attribute__((visibility("default"))) const NpuGeBridge* npu_ge_bridge(uint32_t version, const char** problem);

#ifdef __cplusplus
}
#endif
