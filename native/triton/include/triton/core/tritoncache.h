/* The API between the server and a response cache library, version 0.1. Such libraries are not loaded here (the server's own cache is in
 * server-core/model/response-cache.ts): every function answers UNSUPPORTED. Triton's library exports two more than its header declares,
 * CacheEntryNew and CacheEntryDelete; so does this one. */
#pragma once

#include "triton/core/tritonserver.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TRITONCACHE_DECLSPEC
#define TRITONCACHE_DECLSPEC __attribute__((visibility("default")))
#endif

struct TRITONCACHE_Allocator;
struct TRITONCACHE_Cache;
struct TRITONCACHE_CacheEntry;

#define TRITONCACHE_API_VERSION_MAJOR 0
#define TRITONCACHE_API_VERSION_MINOR 1

TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_ApiVersion(uint32_t* major, uint32_t* minor);
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntryNew(TRITONCACHE_CacheEntry** entry);
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntryDelete(TRITONCACHE_CacheEntry* entry);
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntryBufferCount(TRITONCACHE_CacheEntry* entry, size_t* count);
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntryAddBuffer(
    TRITONCACHE_CacheEntry* entry, void* base, TRITONSERVER_BufferAttributes* buffer_attributes);
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntryGetBuffer(
    TRITONCACHE_CacheEntry* entry, size_t index, void** base, TRITONSERVER_BufferAttributes* buffer_attributes);
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntrySetBuffer(
    TRITONCACHE_CacheEntry* entry, size_t index, void* base, TRITONSERVER_BufferAttributes* buffer_attributes);
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_Copy(TRITONCACHE_Allocator* allocator, TRITONCACHE_CacheEntry* entry);

#ifdef __cplusplus
}
#endif
