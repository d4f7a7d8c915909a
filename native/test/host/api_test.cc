// The functions of the API that need no backend.
#include <cstring>

#include "rig.h"
#include "triton/core/tritonbackend.h"
#include "triton/core/tritoncache.h"
#include "triton/core/tritonrepoagent.h"

using namespace rig;

TEST(Api, names_types_and_codes) {
  for (int datatype = TRITONSERVER_TYPE_BOOL; datatype <= TRITONSERVER_TYPE_BF16; ++datatype) {
    EXPECT_EQ(static_cast<int>(TRITONSERVER_StringToDataType(TRITONSERVER_DataTypeString(static_cast<TRITONSERVER_DataType>(datatype)))), datatype);
  }
  EXPECT_EQ(TRITONSERVER_StringToDataType("FP8"), TRITONSERVER_TYPE_INVALID);
  EXPECT_EQ(std::string(TRITONSERVER_DataTypeString(TRITONSERVER_TYPE_INVALID)), "<invalid>");
  EXPECT_EQ(TRITONSERVER_DataTypeByteSize(TRITONSERVER_TYPE_BF16), 2U);
  EXPECT_EQ(TRITONSERVER_DataTypeByteSize(TRITONSERVER_TYPE_BYTES), 0U);
  EXPECT_EQ(std::string(TRITONSERVER_MemoryTypeString(TRITONSERVER_MEMORY_CPU_PINNED)), "CPU_PINNED");
  EXPECT_EQ(std::string(TRITONSERVER_ParameterTypeString(TRITONSERVER_PARAMETER_DOUBLE)), "DOUBLE");
  EXPECT_EQ(std::string(TRITONSERVER_InstanceGroupKindString(TRITONSERVER_INSTANCEGROUPKIND_MODEL)), "MODEL");
  EXPECT_EQ(std::string(TRITONSERVER_InferenceTraceActivityString(TRITONSERVER_TRACE_COMPUTE_INPUT_END)), "COMPUTE_INPUT_END");
  std::uint32_t major = 0, minor = 0;
  Must(TRITONSERVER_ApiVersion(&major, &minor));
  EXPECT_EQ(major * 100 + minor, 134U);
  TRITONSERVER_Error* const error = TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_ALREADY_EXISTS, "twice");
  EXPECT_EQ(std::string(TRITONSERVER_ErrorCodeString(error)), "Already exists");
  EXPECT_EQ(Said(error), "twice");
}

TEST(Api, takes_json_and_nothing_else) {
  const auto is_taken = [](const std::string& text) {
    TRITONSERVER_Message* message = nullptr;
    TRITONSERVER_Error* const error = TRITONSERVER_MessageNewFromSerializedJson(&message, text.data(), text.size());
    if (error != nullptr) {
      EXPECT_CONTAINS(Said(error), "it is not JSON");
      return false;
    }
    const char* base = nullptr;
    std::size_t byte_size = 0;
    Must(TRITONSERVER_MessageSerializeToJson(message, &base, &byte_size));
    EXPECT_EQ(std::string(base, byte_size), text);
    Must(TRITONSERVER_MessageDelete(message));
    return true;
  };
  for (const char* text : {"{}", " [1, -2.5e+3, 0, true, false, null, \"\\u00e9\\n\"] ", "{\"a\":{\"b\":[{}]}}", "\"x\"", "0.5"}) EXPECT(is_taken(text));
  for (const char* text : {"", "{", "{a:1}", "{\"a\" 1}", "[1,]", "01", "-", "1.", "1e", "\"\\x\"", "\"\t\"", "\"\\u12g4\"", "{} {}", "nul", "[1 2]", "\"open"}) EXPECT(!is_taken(text));
  EXPECT(is_taken(std::string(500, '[') + std::string(500, ']')));
  EXPECT(!is_taken(std::string(100'000, '[')));
}

TEST(Api, keeps_parameters_and_buffer_attributes) {
  EXPECT(TRITONSERVER_ParameterNew("p", TRITONSERVER_PARAMETER_BYTES, "x") == nullptr);
  EXPECT(TRITONSERVER_ParameterNew(nullptr, TRITONSERVER_PARAMETER_STRING, "x") == nullptr);
  TRITONSERVER_ParameterDelete(nullptr);
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  Must(TRITONSERVER_BufferAttributesNew(&attributes));
  Must(TRITONSERVER_BufferAttributesSetMemoryType(attributes, TRITONSERVER_MEMORY_GPU));
  Must(TRITONSERVER_BufferAttributesSetMemoryTypeId(attributes, 3));
  Must(TRITONSERVER_BufferAttributesSetByteSize(attributes, 44));
  int handle = 0;
  Must(TRITONSERVER_BufferAttributesSetCudaIpcHandle(attributes, &handle));
  TRITONSERVER_MemoryType memory_type;
  std::int64_t id = 0;
  std::size_t byte_size = 0;
  void* got = nullptr;
  Must(TRITONSERVER_BufferAttributesMemoryType(attributes, &memory_type));
  Must(TRITONSERVER_BufferAttributesMemoryTypeId(attributes, &id));
  Must(TRITONSERVER_BufferAttributesByteSize(attributes, &byte_size));
  Must(TRITONSERVER_BufferAttributesCudaIpcHandle(attributes, &got));
  EXPECT(memory_type == TRITONSERVER_MEMORY_GPU && id == 3 && byte_size == 44 && got == &handle);
  Must(TRITONSERVER_BufferAttributesDelete(attributes));
}

TEST(Api, counts_in_metrics) {
  TRITONSERVER_MetricFamily* counters = nullptr;
  Must(TRITONSERVER_MetricFamilyNew(&counters, TRITONSERVER_METRIC_KIND_COUNTER, "api_total", "with \\ and\nnewline"));
  EXPECT_EQ(Said(TRITONSERVER_MetricFamilyNew(&counters, TRITONSERVER_METRIC_KIND_GAUGE, "api_total", "other")), "metric family 'api_total' already exists with another kind or description");
  TRITONSERVER_MetricFamily* bad = nullptr;
  EXPECT_CONTAINS(Said(TRITONSERVER_MetricFamilyNew(&bad, TRITONSERVER_METRIC_KIND_GAUGE, "1st", "d")), "invalid metric name '1st'");
  TRITONSERVER_Parameter* label = TRITONSERVER_ParameterNew("zone", TRITONSERVER_PARAMETER_STRING, "a\"b");
  const TRITONSERVER_Parameter* labels[] = {label};
  TRITONSERVER_Metric *first = nullptr, *same = nullptr;
  Must(TRITONSERVER_MetricNew(&first, counters, labels, 1));
  Must(TRITONSERVER_MetricNew(&same, counters, labels, 1));
  TRITONSERVER_ParameterDelete(label);
  Must(TRITONSERVER_MetricIncrement(first, 1.5));
  Must(TRITONSERVER_MetricIncrement(same, 1));
  double value = 0;
  Must(TRITONSERVER_MetricValue(first, &value));
  EXPECT_EQ(value, 2.5);
  EXPECT_EQ(Said(TRITONSERVER_MetricIncrement(first, -1)), "TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values.");
  EXPECT_EQ(Said(TRITONSERVER_MetricSet(first, 1)), "TRITONSERVER_METRIC_KIND_COUNTER does not support Set");
  EXPECT_EQ(Said(TRITONSERVER_MetricObserve(first, 1)), "TRITONSERVER_METRIC_KIND_COUNTER does not support Observe");
  char* const text = tritonhost_metrics_text();
  EXPECT_EQ(std::string(text), "# HELP api_total with \\\\ and\\nnewline\n# TYPE api_total counter\napi_total{zone=\"a\\\"b\"} 2.5\n");
  tritonhost_text_free(text);
  EXPECT_EQ(Said(TRITONSERVER_MetricFamilyDelete(counters)), "Must call MetricDelete on all dependent metrics before calling MetricFamilyDelete.");
  Must(TRITONSERVER_MetricDelete(same));
  Must(TRITONSERVER_MetricDelete(first));
  Must(TRITONSERVER_MetricFamilyDelete(counters));

  TRITONSERVER_MetricFamily* histograms = nullptr;
  Must(TRITONSERVER_MetricFamilyNew(&histograms, TRITONSERVER_METRIC_KIND_HISTOGRAM, "api_seconds", "d"));
  TRITONSERVER_Metric* histogram = nullptr;
  EXPECT_CONTAINS(Said(TRITONSERVER_MetricNew(&histogram, histograms, nullptr, 0)), "needs buckets");
  TRITONSERVER_MetricArgs* args = nullptr;
  Must(TRITONSERVER_MetricArgsNew(&args));
  const double falling[] = {2, 1};
  Must(TRITONSERVER_MetricArgsSetHistogram(args, falling, 2));
  EXPECT_CONTAINS(Said(TRITONSERVER_MetricNewWithArgs(&histogram, histograms, nullptr, 0, args)), "must ascend");
  Must(TRITONSERVER_MetricArgsDelete(args));
  Must(TRITONSERVER_MetricFamilyDelete(histograms));
}

TEST(Api, reports_to_a_trace_of_ones_own) {
  struct Seen {
    int activities = 0, releases = 0;
  } seen;
  TRITONSERVER_InferenceTrace* trace = nullptr;
  Must(TRITONSERVER_InferenceTraceNew(
      &trace, TRITONSERVER_TRACE_LEVEL_TIMESTAMPS, 4,
      [](TRITONSERVER_InferenceTrace*, TRITONSERVER_InferenceTraceActivity activity, std::uint64_t, void* userp) {
        static_cast<Seen*>(userp)->activities += activity == TRITONSERVER_TRACE_CUSTOM_ACTIVITY;
      },
      [](TRITONSERVER_InferenceTrace*, void* userp) { ++static_cast<Seen*>(userp)->releases; }, &seen));
  Must(TRITONSERVER_InferenceTraceSetContext(trace, "{\"traceparent\":\"x\"}"));
  TRITONSERVER_InferenceTrace* child = nullptr;
  Must(TRITONSERVER_InferenceTraceSpawnChildTrace(trace, &child));
  std::uint64_t id = 0, parent = 0;
  Must(TRITONSERVER_InferenceTraceId(trace, &id));
  Must(TRITONSERVER_InferenceTraceParentId(child, &parent));
  EXPECT_EQ(parent, id);
  const char* context = nullptr;
  Must(TRITONSERVER_InferenceTraceContext(child, &context));
  EXPECT_EQ(std::string(context), "{\"traceparent\":\"x\"}");
  Must(TRITONSERVER_InferenceTraceReportActivity(child, 1, "work"));
  EXPECT_EQ(seen.activities, 1);
  Must(TRITONSERVER_InferenceTraceDelete(child));
  Must(TRITONSERVER_InferenceTraceDelete(trace));
}

TEST(Api, logs_nowhere_without_a_host_and_to_the_host_from_any_thread) {
  EXPECT(!TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_ERROR));
  Must(TRITONSERVER_LogMessage(TRITONSERVER_LOG_ERROR, "f", 1, "lost"));
  Rig rig;
  std::thread([] { Must(TRITONSERVER_LogMessage(TRITONSERVER_LOG_WARN, "file.cc", 12, "from a thread of a backend")); }).join();
  const EventPtr entry = rig.WaitText(TRITONHOST_EVENT_LOG, "from a thread of a backend");
  EXPECT_EQ(entry->level, TRITONSERVER_LOG_WARN);
  EXPECT_EQ(std::string(entry->detail), "file.cc");
  EXPECT_EQ(entry->line, 12);
  EXPECT_CONTAINS(Said(TRITONSERVER_LogMessage(static_cast<TRITONSERVER_LogLevel>(9), "f", 1, "m")), "unknown logging level '9'");
}

TEST(Api, says_by_name_what_it_does_not_do) {
  TRITONSERVER_Server* server = nullptr;
  TRITONSERVER_Error* const error = TRITONSERVER_ServerNew(&server, nullptr);
  EXPECT_EQ(TRITONSERVER_ErrorCode(error), TRITONSERVER_ERROR_UNSUPPORTED);
  EXPECT_EQ(Said(error), "TRITONSERVER_ServerNew is not supported by this server");
  EXPECT_EQ(Said(TRITONSERVER_ServerOptionsSetHostPolicy(nullptr, "p", "s", "v")), "TRITONSERVER_ServerOptionsSetHostPolicy is not supported by this server");
  EXPECT_EQ(Said(TRITONREPOAGENT_ModelConfig(nullptr, nullptr, 1, nullptr)), "TRITONREPOAGENT_ModelConfig is not supported by this server");
  EXPECT_EQ(Said(TRITONCACHE_CacheEntryNew(nullptr)), "TRITONCACHE_CacheEntryNew is not supported by this server");
}

TEST(Api, refuses_null) {
  EXPECT_EQ(Said(TRITONBACKEND_ModelName(nullptr, nullptr)), "TRITONBACKEND_ModelName: model is NULL");
  EXPECT_EQ(Said(TRITONBACKEND_RequestId(nullptr, nullptr)), "TRITONBACKEND_RequestId: request is NULL");
  EXPECT_EQ(Said(TRITONSERVER_InferenceRequestDelete(nullptr)), "TRITONSERVER_InferenceRequestDelete: request is NULL");
}
