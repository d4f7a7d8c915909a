// What a batch has besides the requests' tensors: batch_input, strings, memory reports.
#include <algorithm>
#include <bit>
#include <cstring>

#include "common/batch.h"

namespace npu_console::kit {

namespace {

std::vector<std::int64_t> ItemShape(const std::vector<std::int64_t>& shape, bool is_batching) {
  return {shape.begin() + (is_batching && !shape.empty() ? 1 : 0), shape.end()};
}

struct Values {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> numbers;
};

Values Flat(std::vector<std::int64_t> numbers) { return {{static_cast<std::int64_t>(numbers.size())}, std::move(numbers)}; }

Values Compute(const std::string& kind, const std::vector<std::vector<std::int64_t>>& shapes, bool is_batching) {
  std::vector<std::int64_t> counts, accumulated{0}, items;
  std::int64_t item_count = 0;
  for (const std::vector<std::int64_t>& shape : shapes) {
    counts.push_back(ElementCount(shape));
    accumulated.push_back(accumulated.back() + counts.back());
    // A request with a batch of two counts twice.
    const std::vector<std::int64_t> item = ItemShape(shape, is_batching);
    const std::int64_t repeated = is_batching ? (shape.empty() ? 0 : shape.front()) : 1;
    for (std::int64_t index = 0; index < repeated; ++index) items.insert(items.end(), item.begin(), item.end());
    item_count += repeated;
  }
  if (kind == "BATCH_ELEMENT_COUNT") return Flat(counts);
  if (kind == "BATCH_ACCUMULATED_ELEMENT_COUNT") return Flat({accumulated.begin() + 1, accumulated.end()});
  if (kind == "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO") return Flat(accumulated);
  if (kind == "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE") {
    // The shape is what counts; the data is zeros.
    const std::int64_t largest = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
    return {{largest}, std::vector<std::int64_t>(static_cast<std::size_t>(largest), 0)};
  }
  if (kind == "BATCH_ITEM_SHAPE") {
    const std::vector<std::int64_t> item = shapes.empty() ? std::vector<std::int64_t>() : ItemShape(shapes.front(), is_batching);
    return {{item_count, static_cast<std::int64_t>(item.size())}, items};
  }
  if (kind == "BATCH_ITEM_SHAPE_FLATTEN") return Flat(items);
  throw InvalidArgument("batch_input of kind '" + kind + "' is not known to this backend");
}

template <class Report>
void ReportUses(const std::vector<MemoryUse>& uses, const Report& report) {
  std::vector<TRITONSERVER_BufferAttributes*> attributes;
  TRITONSERVER_Error* const error = Guard([&] {
    attributes.reserve(uses.size());
    for (const MemoryUse& use : uses) {
      TRITONSERVER_BufferAttributes* one = nullptr;
      Must(TRITONSERVER_BufferAttributesNew(&one));
      attributes.push_back(one);
      Must(TRITONSERVER_BufferAttributesSetMemoryType(one, use.type));
      Must(TRITONSERVER_BufferAttributesSetMemoryTypeId(one, use.type_id));
      Must(TRITONSERVER_BufferAttributesSetByteSize(one, use.byte_size));
    }
    Must(report(attributes.data(), static_cast<std::uint32_t>(attributes.size())));
  });
  for (TRITONSERVER_BufferAttributes* const one : attributes) TRITONSERVER_ErrorDelete(TRITONSERVER_BufferAttributesDelete(one));
  Must(error);
}

}  // namespace

std::vector<ComputedInput> ComputeBatchInputs(const Batch& batch, const ModelConfig& config) {
  std::vector<ComputedInput> computed;
  for (const BatchTensorConfig& entry : config.batch_inputs) {
    std::vector<std::vector<std::int64_t>> shapes;
    for (const std::size_t member : batch.members()) {
      const RequestInput* const source = batch.Input(member, entry.source_input);
      if (source == nullptr) throw InvalidArgument("a request lacks input '" + entry.source_input + "', from which the model's batch tensors are computed");
      shapes.push_back(source->shape);
    }
    const Values values = Compute(entry.kind, shapes, config.is_batching());
    const bool is_float = entry.datatype == TRITONSERVER_TYPE_FP32;
    std::vector<std::uint32_t> bits;
    for (const std::int64_t number : values.numbers) {
      bits.push_back(is_float ? std::bit_cast<std::uint32_t>(static_cast<float>(number)) : static_cast<std::uint32_t>(number));
    }
    for (const std::string& name : entry.target_names) computed.push_back({name, is_float ? TRITONSERVER_TYPE_FP32 : TRITONSERVER_TYPE_INT32, values.shape, bits});
  }
  return computed;
}

std::uint64_t SkipStrings(const void* data, std::uint64_t byte_size, std::uint64_t start, std::int64_t count) {
  std::uint64_t position = start;
  for (std::int64_t index = 0; index < count; ++index) {
    std::uint32_t length = 0;
    if (position > byte_size || byte_size - position < sizeof length) throw Internal("a string tensor ends inside an element");
    std::memcpy(&length, static_cast<const char*>(data) + position, sizeof length);
    position += sizeof length;
    if (byte_size - position < length) throw Internal("a string tensor ends inside an element");
    position += length;
  }
  return position;
}

void ReportMemory(TRITONBACKEND_Model* model, const std::vector<MemoryUse>& uses) {
  ReportUses(uses, [&](TRITONSERVER_BufferAttributes** attributes, std::uint32_t count) { return TRITONBACKEND_ModelReportMemoryUsage(model, attributes, count); });
}

void ReportMemory(TRITONBACKEND_ModelInstance* instance, const std::vector<MemoryUse>& uses) {
  ReportUses(uses, [&](TRITONSERVER_BufferAttributes** attributes, std::uint32_t count) { return TRITONBACKEND_ModelInstanceReportMemoryUsage(instance, attributes, count); });
}

}  // namespace npu_console::kit
