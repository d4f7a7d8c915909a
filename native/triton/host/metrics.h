// Metrics that backends make themselves. The API has no server in these functions, so there is one registry per process.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "values.h"

namespace npu_console::triton {

using Labels = std::vector<std::pair<std::string, std::string>>;

// One line of a family (several for a histogram). Metrics of the same labels share it.
struct MetricSeries {
  Labels labels;
  double value = 0;                    // counter, gauge; of a histogram the sum
  std::vector<double> bounds;          // of a histogram, ascending
  std::vector<std::uint64_t> buckets;  // one more than bounds
  int users = 0;
};

struct MetricFamilyEntry {
  TRITONSERVER_MetricKind kind;
  std::string name, description;
  std::vector<std::unique_ptr<MetricSeries>> series;
  int users = 0;
};

class MetricRegistry {
 public:
  static MetricRegistry& Instance();

  // A family of the same name, kind and description is shared; another kind or description under the name is an error.
  TRITONSERVER_Error* AddFamily(TRITONSERVER_MetricKind kind, const char* name, const char* description, MetricFamilyEntry** family);
  void RemoveFamily(MetricFamilyEntry* family);
  TRITONSERVER_Error* AddSeries(MetricFamilyEntry* family, Labels labels, const std::vector<double>* bounds, MetricSeries** series);
  void RemoveSeries(MetricFamilyEntry* family, MetricSeries* series);

  TRITONSERVER_Error* Value(const MetricFamilyEntry& family, const MetricSeries& series, double* value);
  TRITONSERVER_Error* Increment(const MetricFamilyEntry& family, MetricSeries* series, double by);
  TRITONSERVER_Error* Set(const MetricFamilyEntry& family, MetricSeries* series, double value);
  TRITONSERVER_Error* Observe(const MetricFamilyEntry& family, MetricSeries* series, double value);

  std::string PrometheusText();

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<MetricFamilyEntry>> families_;
};

}  // namespace npu_console::triton

struct TRITONSERVER_MetricFamily {
  npu_console::triton::MetricFamilyEntry* entry;
  std::atomic<int> metrics{0};
};

struct TRITONSERVER_Metric {
  TRITONSERVER_MetricFamily* family;
  npu_console::triton::MetricSeries* series;
};

struct TRITONSERVER_MetricArgs {
  bool is_histogram = false;
  std::vector<double> bounds;
};
