// TRITONSERVER_: metrics of a backend's own.
#include "metrics.h"

using npu_console::triton::InvalidArgument;
using npu_console::triton::Labels;
using npu_console::triton::MakeError;
using npu_console::triton::MetricRegistry;

TRITONSERVER_Error* TRITONSERVER_MetricFamilyNew(
    TRITONSERVER_MetricFamily** family, const TRITONSERVER_MetricKind kind, const char* name, const char* description) {
  TRITONHOST_REQUIRE(family);
  TRITONHOST_REQUIRE(name);
  TRITONHOST_REQUIRE(description);
  npu_console::triton::MetricFamilyEntry* entry = nullptr;
  if (TRITONSERVER_Error* error = MetricRegistry::Instance().AddFamily(kind, name, description, &entry)) return error;
  *family = new TRITONSERVER_MetricFamily{entry};
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricFamilyDelete(TRITONSERVER_MetricFamily* family) {
  TRITONHOST_REQUIRE(family);
  if (family->metrics > 0) {
    return MakeError(TRITONSERVER_ERROR_INTERNAL, "Must call MetricDelete on all dependent metrics before calling MetricFamilyDelete.");
  }
  MetricRegistry::Instance().RemoveFamily(family->entry);
  delete family;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_GetMetricFamilyKind(TRITONSERVER_MetricFamily* family, TRITONSERVER_MetricKind* kind) {
  TRITONHOST_REQUIRE(family);
  *kind = family->entry->kind;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricArgsNew(TRITONSERVER_MetricArgs** args) {
  TRITONHOST_REQUIRE(args);
  *args = new TRITONSERVER_MetricArgs;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricArgsSetHistogram(TRITONSERVER_MetricArgs* args, const double* buckets, const uint64_t bucket_count) {
  TRITONHOST_REQUIRE(args);
  TRITONHOST_REQUIRE(buckets);
  args->is_histogram = true;
  args->bounds.assign(buckets, buckets + bucket_count);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricArgsDelete(TRITONSERVER_MetricArgs* args) {
  delete args;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricNew(
    TRITONSERVER_Metric** metric, TRITONSERVER_MetricFamily* family, const TRITONSERVER_Parameter** labels, const uint64_t label_count) {
  return TRITONSERVER_MetricNewWithArgs(metric, family, labels, label_count, nullptr);
}

TRITONSERVER_Error* TRITONSERVER_MetricNewWithArgs(
    TRITONSERVER_Metric** metric, TRITONSERVER_MetricFamily* family, const TRITONSERVER_Parameter** labels, const uint64_t label_count,
    const TRITONSERVER_MetricArgs* args) {
  TRITONHOST_REQUIRE(metric);
  TRITONHOST_REQUIRE(family);
  Labels pairs;
  for (uint64_t index = 0; index < label_count; ++index) {
    if (labels[index]->type != TRITONSERVER_PARAMETER_STRING) {
      return InvalidArgument("label '" + labels[index]->name + "' of metric family '" + family->entry->name + "' is not of type STRING");
    }
    pairs.emplace_back(labels[index]->name, labels[index]->bytes);
  }
  npu_console::triton::MetricSeries* series = nullptr;
  const std::vector<double>* const bounds = args != nullptr && args->is_histogram ? &args->bounds : nullptr;
  if (TRITONSERVER_Error* error = MetricRegistry::Instance().AddSeries(family->entry, std::move(pairs), bounds, &series)) return error;
  ++family->metrics;
  *metric = new TRITONSERVER_Metric{family, series};
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricDelete(TRITONSERVER_Metric* metric) {
  TRITONHOST_REQUIRE(metric);
  MetricRegistry::Instance().RemoveSeries(metric->family->entry, metric->series);
  --metric->family->metrics;
  delete metric;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricValue(TRITONSERVER_Metric* metric, double* value) {
  TRITONHOST_REQUIRE(metric);
  return MetricRegistry::Instance().Value(*metric->family->entry, *metric->series, value);
}

TRITONSERVER_Error* TRITONSERVER_MetricIncrement(TRITONSERVER_Metric* metric, double value) {
  TRITONHOST_REQUIRE(metric);
  return MetricRegistry::Instance().Increment(*metric->family->entry, metric->series, value);
}

TRITONSERVER_Error* TRITONSERVER_MetricSet(TRITONSERVER_Metric* metric, double value) {
  TRITONHOST_REQUIRE(metric);
  return MetricRegistry::Instance().Set(*metric->family->entry, metric->series, value);
}

TRITONSERVER_Error* TRITONSERVER_MetricObserve(TRITONSERVER_Metric* metric, double value) {
  TRITONHOST_REQUIRE(metric);
  return MetricRegistry::Instance().Observe(*metric->family->entry, metric->series, value);
}

TRITONSERVER_Error* TRITONSERVER_GetMetricKind(TRITONSERVER_Metric* metric, TRITONSERVER_MetricKind* kind) {
  TRITONHOST_REQUIRE(metric);
  *kind = metric->family->entry->kind;
  return nullptr;
}
