// TRITONBACKEND_: the times that a backend reports of requests, batches and responses.
#include "model.h"

using npu_console::triton::EventPtr;
using npu_console::triton::InvalidArgument;
using npu_console::triton::NewEvent;

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportStatistics(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request, const bool success, const uint64_t exec_start_ns, const uint64_t compute_start_ns,
    const uint64_t compute_end_ns, const uint64_t exec_end_ns) {
  TRITONHOST_REQUIRE(instance);
  TRITONHOST_REQUIRE(request);
  return request->ledger->ReportTimes(request, success, {exec_start_ns, compute_start_ns, compute_end_ns, exec_end_ns});
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(
    TRITONBACKEND_ModelInstance* instance, const uint64_t batch_size, const uint64_t exec_start_ns, const uint64_t compute_start_ns, const uint64_t compute_end_ns,
    const uint64_t exec_end_ns) {
  TRITONHOST_REQUIRE(instance);
  EventPtr event = NewEvent(TRITONHOST_EVENT_BATCH_STATISTICS);
  event->Token(instance->options.token).Model(instance->model->facts->token).Instance(instance->options.token);
  event->Times(exec_start_ns, compute_start_ns, compute_end_ns, exec_end_ns);
  event->batch_size = batch_size;
  instance->model->events->Push(std::move(event));
  return nullptr;
}

struct TRITONBACKEND_ModelInstanceResponseStatistics {
  TRITONBACKEND_ModelInstance* instance = nullptr;
  TRITONBACKEND_ResponseFactory* factory = nullptr;
  uint64_t response_start_ns = 0;
  uint64_t compute_output_start_ns = 0;
  uint64_t response_end_ns = 0;
  npu_console::triton::ErrorPtr error;
};

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsNew(TRITONBACKEND_ModelInstanceResponseStatistics** statistics) {
  TRITONHOST_REQUIRE(statistics);
  *statistics = new TRITONBACKEND_ModelInstanceResponseStatistics;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsDelete(TRITONBACKEND_ModelInstanceResponseStatistics* statistics) {
  delete statistics;
  return nullptr;
}

#define RESPONSE_STATISTIC(Name, Type, member)                                                                                                                          \
  TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSet##Name(TRITONBACKEND_ModelInstanceResponseStatistics* statistics, Type member) { \
    TRITONHOST_REQUIRE(statistics);                                                                                                                                     \
    statistics->member = member;                                                                                                                                        \
    return nullptr;                                                                                                                                                     \
  }
RESPONSE_STATISTIC(ModelInstance, TRITONBACKEND_ModelInstance*, instance)
RESPONSE_STATISTIC(ResponseFactory, TRITONBACKEND_ResponseFactory*, factory)
RESPONSE_STATISTIC(ResponseStart, uint64_t, response_start_ns)
RESPONSE_STATISTIC(ComputeOutputStart, uint64_t, compute_output_start_ns)
RESPONSE_STATISTIC(ResponseEnd, uint64_t, response_end_ns)
#undef RESPONSE_STATISTIC

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSetError(TRITONBACKEND_ModelInstanceResponseStatistics* statistics, TRITONSERVER_Error* error) {
  TRITONHOST_REQUIRE(statistics);
  statistics->error.reset(error == nullptr ? nullptr : new TRITONSERVER_Error(*error));
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportResponseStatistics(TRITONBACKEND_ModelInstanceResponseStatistics* statistics) {
  TRITONHOST_REQUIRE(statistics);
  if (statistics->instance == nullptr || statistics->factory == nullptr) {
    return InvalidArgument("response statistics need a model instance and a response factory before they are reported");
  }
  EventPtr event = NewEvent(TRITONHOST_EVENT_RESPONSE_STATISTICS);
  event->Token(statistics->factory->request->token).Model(statistics->instance->model->facts->token).Instance(statistics->instance->options.token);
  event->Times(statistics->response_start_ns, statistics->compute_output_start_ns, statistics->response_end_ns, 0).Error(statistics->error.get());
  statistics->instance->model->events->Push(std::move(event));
  return nullptr;
}
