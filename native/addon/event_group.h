// A group of events on its way to JavaScript. Those of batches that went well are nearly all there are: they cross as numbers in an array that C++ fills without
// a call of Node-API each; names of their tensors, large data, and all other events whole, are in a list. Small data of a group lies in one ArrayBuffer, the list's first
// value: one a tensor would cost more than the rest of the event. server-core/backends/native/event-group.ts reads them.
#pragma once

#include <napi.h>

#include <cstddef>

#include "host_events.h"

namespace npu_console {

class EventGroup {
 public:
  // Numbers that a group of `events` may need.
  static std::size_t Capacity(std::size_t events) { return events * kNumbersOfEvent; }

  // `numbers`: memory of a Float64Array of JavaScript's with that capacity. An event of which JavaScript makes no value (a text or a buffer beyond its limits) comes
  // without what it carried, with an error that says so; the others are whole. The events can be freed afterwards.
  // @throws NoJavaScript where the environment ends
  EventGroup(napi_env env, const TritonHostEvent* const* events, std::size_t count, double* numbers, TensorCopies* copies);

  std::size_t count() const { return count_; }
  napi_value values() const { return values_; }

 private:
  // An event that needs more is sent whole.
  static constexpr std::size_t kNumbersOfEvent = 48;

  void MakePool(const TritonHostEvent* const* events, std::size_t count);
  void Add(const TritonHostEvent& event);
  void AddWhole(const TritonHostEvent& event);
  bool AddAsNumbers(const TritonHostEvent& event);
  void AddTensors(const TritonHostEvent& event);
  void AddToPool(const TritonHostBuffer& buffer);
  void AddNumber(double number) { numbers_[count_++] = number; }
  void AddValue(napi_value value);

  const napi_env env_;
  double* const numbers_;
  TensorCopies* const copies_;
  napi_value values_ = nullptr;
  std::size_t count_ = 0;
  std::uint32_t value_count_ = 0;
  char* pool_ = nullptr;
  std::size_t pool_used_ = 0;
};

}  // namespace npu_console
