#include "metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

namespace npu_console::triton {
namespace {

bool IsMetricName(const std::string& name, bool is_label) {
  if (name.empty()) return false;
  for (std::size_t index = 0; index < name.size(); ++index) {
    const char byte = name[index];
    const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' || (byte == ':' && !is_label);
    const bool is_digit = byte >= '0' && byte <= '9';
    if (!is_letter && !(is_digit && index > 0)) return false;
  }
  return true;
}

std::string Escaped(const std::string& text, bool quotes) {
  std::string result;
  for (const char byte : text) {
    if (byte == '\\') {
      result += "\\\\";
    } else if (byte == '\n') {
      result += "\\n";
    } else if (byte == '"' && quotes) {
      result += "\\\"";
    } else {
      result += byte;
    }
  }
  return result;
}

std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  // The shortest form that reads back as the same number.
  char text[40];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::string Line(const std::string& name, const Labels& labels, const std::string& extra, const std::string& value) {
  std::string inside;
  for (const auto& [key, text] : labels) inside += (inside.empty() ? "" : ",") + key + "=\"" + Escaped(text, true) + "\"";
  if (!extra.empty()) inside += (inside.empty() ? "" : ",") + extra;
  return name + (inside.empty() ? "" : "{" + inside + "}") + " " + value + "\n";
}

const char* KindText(TRITONSERVER_MetricKind kind) {
  switch (kind) {
    case TRITONSERVER_METRIC_KIND_COUNTER:
      return "counter";
    case TRITONSERVER_METRIC_KIND_GAUGE:
      return "gauge";
    case TRITONSERVER_METRIC_KIND_HISTOGRAM:
      return "histogram";
  }
  return "untyped";
}

TRITONSERVER_Error* DoesNot(const MetricFamilyEntry& family, const char* what) {
  std::string kind = KindText(family.kind);
  std::transform(kind.begin(), kind.end(), kind.begin(), [](char byte) { return static_cast<char>(byte - 'a' + 'A'); });
  return MakeError(TRITONSERVER_ERROR_UNSUPPORTED, "TRITONSERVER_METRIC_KIND_" + kind + " does not support " + what);
}

}  // namespace

MetricRegistry& MetricRegistry::Instance() {
  // Never destroyed: a backend's thread may count while the process exits.
  static auto* const registry = new MetricRegistry;
  return *registry;
}

TRITONSERVER_Error* MetricRegistry::AddFamily(TRITONSERVER_MetricKind kind, const char* name, const char* description, MetricFamilyEntry** family) {
  if (kind != TRITONSERVER_METRIC_KIND_COUNTER && kind != TRITONSERVER_METRIC_KIND_GAUGE && kind != TRITONSERVER_METRIC_KIND_HISTOGRAM) {
    return InvalidArgument("Unsupported TRITONSERVER_MetricKind");
  }
  if (!IsMetricName(name, false)) return InvalidArgument(std::string("invalid metric name '") + name + "': letters, digits, '_' and ':', no digit first");
  const std::lock_guard lock(mutex_);
  for (const auto& existing : families_) {
    if (existing->name != name) continue;
    if (existing->kind != kind || existing->description != description) {
      return InvalidArgument(std::string("metric family '") + name + "' already exists with another kind or description");
    }
    ++existing->users;
    *family = existing.get();
    return nullptr;
  }
  families_.push_back(std::make_unique<MetricFamilyEntry>(MetricFamilyEntry{kind, name, description, {}, 1}));
  *family = families_.back().get();
  return nullptr;
}

void MetricRegistry::RemoveFamily(MetricFamilyEntry* family) {
  const std::lock_guard lock(mutex_);
  if (--family->users > 0) return;
  std::erase_if(families_, [family](const auto& entry) { return entry.get() == family; });
}

TRITONSERVER_Error* MetricRegistry::AddSeries(MetricFamilyEntry* family, Labels labels, const std::vector<double>* bounds, MetricSeries** series) {
  const bool is_histogram = family->kind == TRITONSERVER_METRIC_KIND_HISTOGRAM;
  if (is_histogram && bounds == nullptr) return InvalidArgument("metric of histogram family '" + family->name + "' needs buckets: TRITONSERVER_MetricNewWithArgs with TRITONSERVER_MetricArgsSetHistogram");
  if (!is_histogram && bounds != nullptr) return InvalidArgument("metric of family '" + family->name + "' takes no buckets: it is no histogram");
  if (bounds != nullptr && !std::is_sorted(bounds->begin(), bounds->end(), std::less_equal<double>())) {
    return InvalidArgument("the buckets of a metric of family '" + family->name + "' must ascend");
  }
  for (const auto& [key, value] : labels) {
    if (!IsMetricName(key, true)) return InvalidArgument("invalid label name '" + key + "' of metric family '" + family->name + "': letters, digits and '_', no digit first");
  }
  std::sort(labels.begin(), labels.end());
  const std::lock_guard lock(mutex_);
  for (const auto& existing : family->series) {
    if (existing->labels != labels) continue;
    ++existing->users;
    *series = existing.get();
    return nullptr;
  }
  auto created = std::make_unique<MetricSeries>();
  created->labels = std::move(labels);
  if (bounds != nullptr) {
    created->bounds = *bounds;
    created->buckets.resize(bounds->size() + 1);
  }
  created->users = 1;
  *series = created.get();
  family->series.push_back(std::move(created));
  return nullptr;
}

void MetricRegistry::RemoveSeries(MetricFamilyEntry* family, MetricSeries* series) {
  const std::lock_guard lock(mutex_);
  if (--series->users > 0) return;
  std::erase_if(family->series, [series](const auto& entry) { return entry.get() == series; });
}

TRITONSERVER_Error* MetricRegistry::Value(const MetricFamilyEntry& family, const MetricSeries& series, double* value) {
  if (family.kind == TRITONSERVER_METRIC_KIND_HISTOGRAM) return DoesNot(family, "Value");
  const std::lock_guard lock(mutex_);
  *value = series.value;
  return nullptr;
}

TRITONSERVER_Error* MetricRegistry::Increment(const MetricFamilyEntry& family, MetricSeries* series, double by) {
  if (family.kind == TRITONSERVER_METRIC_KIND_HISTOGRAM) return DoesNot(family, "Increment");
  if (family.kind == TRITONSERVER_METRIC_KIND_COUNTER && by < 0) {
    return InvalidArgument("TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values.");
  }
  const std::lock_guard lock(mutex_);
  series->value += by;
  return nullptr;
}

TRITONSERVER_Error* MetricRegistry::Set(const MetricFamilyEntry& family, MetricSeries* series, double value) {
  if (family.kind != TRITONSERVER_METRIC_KIND_GAUGE) return DoesNot(family, "Set");
  const std::lock_guard lock(mutex_);
  series->value = value;
  return nullptr;
}

TRITONSERVER_Error* MetricRegistry::Observe(const MetricFamilyEntry& family, MetricSeries* series, double value) {
  if (family.kind != TRITONSERVER_METRIC_KIND_HISTOGRAM) return DoesNot(family, "Observe");
  const std::lock_guard lock(mutex_);
  // A bucket holds what is at most its bound.
  const auto bucket = std::lower_bound(series->bounds.begin(), series->bounds.end(), value) - series->bounds.begin();
  ++series->buckets[static_cast<std::size_t>(bucket)];
  series->value += value;
  return nullptr;
}

std::string MetricRegistry::PrometheusText() {
  std::string text;
  const std::lock_guard lock(mutex_);
  for (const auto& family : families_) {
    text += "# HELP " + family->name + " " + Escaped(family->description, false) + "\n# TYPE " + family->name + " " + KindText(family->kind) + "\n";
    for (const auto& series : family->series) {
      if (family->kind != TRITONSERVER_METRIC_KIND_HISTOGRAM) {
        text += Line(family->name, series->labels, "", Number(series->value));
        continue;
      }
      std::uint64_t count = 0;
      for (const std::uint64_t bucket : series->buckets) count += bucket;
      text += Line(family->name + "_count", series->labels, "", std::to_string(count));
      text += Line(family->name + "_sum", series->labels, "", Number(series->value));
      std::uint64_t below = 0;
      for (std::size_t index = 0; index < series->buckets.size(); ++index) {
        below += series->buckets[index];
        const std::string bound = index < series->bounds.size() ? Number(series->bounds[index]) : "+Inf";
        text += Line(family->name + "_bucket", series->labels, "le=\"" + bound + "\"", std::to_string(below));
      }
    }
  }
  return text;
}

}  // namespace npu_console::triton
