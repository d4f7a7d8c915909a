// Offline models on simulated cards: loading, description, gears, free shapes, running; numbers equal ONNX Runtime's.
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "core/compiled_model.h"
#include "test/check.h"
#include "test/fixture.h"
#include "test/model_fixture.h"

using fixture::Buffers;
using fixture::MakeOm;
using fixture::Request;
using fixture::UseCards;
using simulator::CompileRequest;
using simulator::GearKind;

namespace {

bool Contains(const char *text, const std::string &part) { return text != nullptr && std::strstr(text, part.c_str()) != nullptr; }

void Start() {
  UseCards({"910B3", "310P3"});
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

}  // namespace

TEST(runs_a_static_model_with_the_numbers_of_onnx_runtime) {
  Start();
  const std::string onnx = fixture::LinearModel(2);
  const std::string path = MakeOm(onnx, Request());
  uint32_t id = 0;
  CHECK_EQ(aclmdlLoadFromFile(path.c_str(), &id), ACL_SUCCESS);
  aclmdlDesc *desc = aclmdlCreateDesc();
  CHECK_EQ(aclmdlGetDesc(desc, id), ACL_SUCCESS);
  CHECK_EQ(aclmdlGetNumInputs(desc), 1u);
  CHECK_EQ(aclmdlGetNumOutputs(desc), 1u);
  CHECK_EQ(aclmdlGetInputSizeByIndex(desc, 0), 32u);
  CHECK_EQ(aclmdlGetOutputSizeByIndex(desc, 0), 24u);
  CHECK_EQ(std::string(aclmdlGetInputNameByIndex(desc, 0)), "x");
  CHECK_EQ(aclmdlGetInputDataType(desc, 0), ACL_FLOAT);
  aclmdlIODims dims{};
  CHECK_EQ(aclmdlGetOutputDims(desc, 0, &dims), ACL_SUCCESS);
  CHECK(dims.dimCount == 2 && dims.dims[0] == 2 && dims.dims[1] == 3);
  Buffers input;
  Buffers output;
  input.Add(fixture::Ramp(8));
  output.Add(24);
  CHECK_EQ(aclmdlExecute(id, input.dataset, output.dataset), ACL_SUCCESS);
  CHECK(output.Read(6) == fixture::Reference(onnx, fixture::Ramp(8), {2, 4}));
  CHECK_EQ(aclmdlUnload(id), ACL_SUCCESS);
  CHECK_EQ(aclmdlUnload(id), ACL_ERROR_INVALID_MODEL_ID);
  CHECK_EQ(aclmdlExecute(id, input.dataset, output.dataset), ACL_ERROR_INVALID_MODEL_ID);
  // The description outlives the model.
  CHECK_EQ(aclmdlGetOutputSizeByIndex(desc, 0), 24u);
  CHECK_EQ(aclmdlDestroyDesc(desc), ACL_SUCCESS);
}

TEST(runs_asynchronously_and_in_order) {
  Start();
  const std::string onnx = fixture::LinearModel(1);
  const std::string path = MakeOm(onnx, Request());
  uint32_t id = 0;
  aclrtStream stream = nullptr;
  CHECK_EQ(aclmdlLoadFromFile(path.c_str(), &id), ACL_SUCCESS);
  CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  Buffers input;
  Buffers output;
  input.Add(16);
  output.Add(12);
  const std::vector<float> values = fixture::Ramp(4);
  float *pinned = nullptr;
  CHECK_EQ(aclrtMallocHost(reinterpret_cast<void **>(&pinned), 28), ACL_SUCCESS);
  std::memcpy(pinned, values.data(), 16);
  CHECK_EQ(aclrtMemcpyAsync(aclGetDataBufferAddr(aclmdlGetDatasetBuffer(input.dataset, 0)), 16, pinned, 16, ACL_MEMCPY_HOST_TO_DEVICE, stream), ACL_SUCCESS);
  CHECK_EQ(aclmdlExecuteAsync(id, input.dataset, output.dataset, stream), ACL_SUCCESS);
  CHECK_EQ(aclrtMemcpyAsync(pinned + 4, 12, aclGetDataBufferAddr(aclmdlGetDatasetBuffer(output.dataset, 0)), 12, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  CHECK(std::vector<float>(pinned + 4, pinned + 7) == fixture::Reference(onnx, values, {1, 4}));
  CHECK_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
  CHECK_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  CHECK_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST(one_model_does_not_run_on_two_streams_at_once) {
  Start();
  const std::string path = MakeOm(fixture::LinearModel(1), Request());
  uint32_t id = 0;
  uint32_t copy = 0;
  aclrtStream streams[2] = {};
  CHECK_EQ(aclmdlLoadFromFile(path.c_str(), &id), ACL_SUCCESS);
  CHECK_EQ(aclmdlLoadFromFile(path.c_str(), &copy), ACL_SUCCESS);
  CHECK(id != copy);
  for (aclrtStream &stream : streams) CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  Buffers input;
  Buffers output;
  Buffers second;
  input.Add(fixture::Ramp(4));
  output.Add(12);
  second.Add(12);
  UseCards({"910B3", "310P3"}, "{\"kind\": \"hang\", \"device\": 0}");
  CHECK_EQ(aclmdlExecuteAsync(id, input.dataset, output.dataset, streams[0]), ACL_SUCCESS);
  CHECK_EQ(aclmdlExecuteAsync(id, input.dataset, output.dataset, streams[0]), ACL_SUCCESS);
  CHECK_EQ(aclmdlExecuteAsync(id, input.dataset, output.dataset, streams[1]), ACL_ERROR_GE_FAILURE);
  CHECK_EQ(aclmdlExecute(id, input.dataset, output.dataset), ACL_ERROR_GE_FAILURE);
  CHECK_EQ(aclmdlExecuteAsync(copy, input.dataset, second.dataset, streams[1]), ACL_SUCCESS);
  UseCards({"910B3", "310P3"});
  CHECK_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  CHECK(output.Read(3) == second.Read(3));
  CHECK_EQ(aclmdlExecuteAsync(id, input.dataset, output.dataset, streams[1]), ACL_SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(streams[1]), ACL_SUCCESS);
}

TEST(batch_gears) {
  Start();
  const std::string onnx = fixture::LinearModel(-1);
  const std::string path = MakeOm(onnx, Request(GearKind::Batch, "x:-1,4", "1,2,8"));
  uint32_t id = 0;
  size_t gearInput = 0;
  aclmdlBatch batch{};
  aclmdlIODims dims{};
  CHECK_EQ(aclmdlLoadFromFile(path.c_str(), &id), ACL_SUCCESS);
  aclmdlDesc *desc = aclmdlCreateDesc();
  CHECK_EQ(aclmdlGetDesc(desc, id), ACL_SUCCESS);
  CHECK_EQ(aclmdlGetNumInputs(desc), 2u);
  CHECK_EQ(aclmdlGetInputSizeByIndex(desc, 0), 128u);
  CHECK_EQ(aclmdlGetOutputSizeByIndex(desc, 0), 96u);
  CHECK_EQ(aclmdlGetInputIndexByName(desc, ACL_DYNAMIC_TENSOR_NAME, &gearInput), ACL_SUCCESS);
  CHECK_EQ(gearInput, 1u);
  CHECK_EQ(aclmdlGetDynamicBatch(desc, &batch), ACL_SUCCESS);
  CHECK(batch.batchCount == 3 && batch.batch[0] == 1 && batch.batch[2] == 8);
  CHECK_EQ(aclmdlGetInputDims(desc, 0, &dims), ACL_SUCCESS);
  CHECK_EQ(dims.dims[0], -1);
  aclmdlIODimsRange range{};
  CHECK_EQ(aclmdlGetInputDimsRange(desc, 0, &range), ACL_SUCCESS);
  CHECK(range.rangeCount == 2 && range.range[0][0] == 1 && range.range[0][1] == 8 && range.range[1][0] == 4);
  Buffers input;
  Buffers output;
  input.Add(fixture::Ramp(32));
  input.Add(aclmdlGetInputSizeByIndex(desc, 1));
  output.Add(96);
  // No gear set: the largest.
  CHECK_EQ(aclmdlExecute(id, input.dataset, output.dataset), ACL_SUCCESS);
  CHECK(output.Read(24) == fixture::Reference(onnx, fixture::Ramp(32), {8, 4}));
  CHECK_EQ(aclmdlSetDynamicBatchSize(id, input.dataset, gearInput, 3), ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID);
  CHECK_EQ(aclmdlSetDynamicBatchSize(id, input.dataset, 0, 2), ACL_ERROR_INVALID_PARAM);
  CHECK_EQ(aclmdlSetDynamicBatchSize(id, input.dataset, gearInput, 2), ACL_SUCCESS);
  CHECK_EQ(aclmdlGetCurOutputDims(desc, 0, &dims), ACL_SUCCESS);
  CHECK_EQ(dims.dims[0], 2);
  CHECK_EQ(aclmdlExecute(id, input.dataset, output.dataset), ACL_SUCCESS);
  CHECK(output.Read(6) == fixture::Reference(onnx, fixture::Ramp(8), {2, 4}));
  CHECK_EQ(aclmdlSetDynamicHWSize(id, input.dataset, gearInput, 2, 2), ACL_ERROR_MODEL_NOT_DYNAMIC);
  aclmdlDestroyDesc(desc);
}

TEST(image_and_free_gears) {
  Start();
  const std::string image = fixture::ImageModel(1, -1, -1);
  const std::string path = MakeOm(image, Request(GearKind::Image, "x:1,3,-1,-1", "4,4;8,6"));
  uint32_t id = 0;
  aclmdlHW hw{};
  CHECK_EQ(aclmdlLoadFromFile(path.c_str(), &id), ACL_SUCCESS);
  aclmdlDesc *desc = aclmdlCreateDesc();
  CHECK_EQ(aclmdlGetDesc(desc, id), ACL_SUCCESS);
  CHECK_EQ(aclmdlGetDynamicHW(desc, static_cast<size_t>(-1), &hw), ACL_SUCCESS);
  CHECK(hw.hwCount == 2 && hw.hw[1][0] == 8 && hw.hw[1][1] == 6);
  CHECK_EQ(aclmdlGetInputFormat(desc, 0), ACL_FORMAT_NCHW);
  Buffers input;
  Buffers output;
  input.Add(fixture::Ramp(144));
  input.Add(8);
  output.Add(144 * 4);
  CHECK_EQ(aclmdlSetDynamicHWSize(id, input.dataset, 1, 4, 4), ACL_SUCCESS);
  CHECK_EQ(aclmdlExecute(id, input.dataset, output.dataset), ACL_SUCCESS);
  CHECK(output.Read(48) == fixture::Ramp(48));
  CHECK_EQ(aclmdlSetDynamicHWSize(id, input.dataset, 1, 4, 5), ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID);

  CompileRequest request = Request(GearKind::Dims, "x:-1,3,4,-1", "1,4;2,6");
  request.inputFormat = "ND";
  const std::string free = MakeOm(fixture::ImageModel(-1, 4, -1), request, "free.om");
  size_t gears = 0;
  CHECK_EQ(aclmdlLoadFromFile(free.c_str(), &id), ACL_SUCCESS);
  CHECK_EQ(aclmdlGetDesc(desc, id), ACL_SUCCESS);
  CHECK_EQ(aclmdlGetInputDynamicGearCount(desc, static_cast<size_t>(-1), &gears), ACL_SUCCESS);
  CHECK_EQ(gears, 2u);
  std::vector<aclmdlIODims> dims(gears);
  CHECK_EQ(aclmdlGetInputDynamicDims(desc, static_cast<size_t>(-1), dims.data(), gears), ACL_SUCCESS);
  CHECK(dims[1].dimCount == 4 && dims[1].dims[0] == 2 && dims[1].dims[3] == 6);
  CHECK_EQ(aclmdlSetInputDynamicDims(id, input.dataset, 1, &dims[0]), ACL_SUCCESS);
  CHECK_EQ(aclmdlExecute(id, input.dataset, output.dataset), ACL_SUCCESS);
  CHECK(output.Read(48) == fixture::Ramp(48));
  aclmdlDestroyDesc(desc);
}

TEST(free_shapes_need_a_description_and_tell_theirs_after_the_run) {
  Start();
  const std::string onnx = fixture::LinearModel(-1);
  const std::string path = MakeOm(onnx, Request());
  uint32_t id = 0;
  CHECK_EQ(aclmdlLoadFromFile(path.c_str(), &id), ACL_SUCCESS);
  aclmdlDesc *desc = aclmdlCreateDesc();
  CHECK_EQ(aclmdlGetDesc(desc, id), ACL_SUCCESS);
  CHECK_EQ(aclmdlGetNumInputs(desc), 1u);
  CHECK_EQ(aclmdlGetInputSizeByIndex(desc, 0), 0u);
  aclmdlDestroyDesc(desc);
  Buffers input;
  input.Add(fixture::Ramp(20));
  Buffers output;
  CHECK_EQ(aclmdlAddDatasetBuffer(output.dataset, aclCreateDataBuffer(nullptr, 0)), ACL_SUCCESS);
  CHECK_EQ(aclmdlExecute(id, input.dataset, output.dataset), ACL_ERROR_GE_SHAPE_INVALID);
  const int64_t dims[] = {5, 4};
  aclTensorDesc *shape = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  CHECK_EQ(aclmdlSetDatasetTensorDesc(input.dataset, shape, 0), ACL_SUCCESS);
  aclDestroyTensorDesc(shape);
  // The system allocates what was left open.
  CHECK_EQ(aclmdlExecute(id, input.dataset, output.dataset), ACL_SUCCESS);
  CHECK(output.Read(15) == fixture::Reference(onnx, fixture::Ramp(20), {5, 4}));
  const aclTensorDesc *result = aclmdlGetDatasetTensorDesc(output.dataset, 0);
  int64_t rows = 0;
  CHECK_EQ(aclGetTensorDescDimV2(result, 0, &rows), ACL_SUCCESS);
  CHECK(rows == 5 && aclGetTensorDescSize(result) == 60);
  Buffers small;
  small.Add(8);
  CHECK_EQ(aclmdlExecute(id, input.dataset, small.dataset), ACL_ERROR_RT_MODEL_EXECUTE);
  CHECK(Contains(aclGetRecentErrMsg(), "output 0 has 60 bytes, its buffer 8"));
}

TEST(buffers_that_do_not_fit_are_refused) {
  Start();
  const std::string path = MakeOm(fixture::LinearModel(2), Request());
  uint32_t id = 0;
  CHECK_EQ(aclmdlLoadFromFile(path.c_str(), &id), ACL_SUCCESS);
  Buffers input;
  Buffers output;
  Buffers none;
  Buffers small;
  input.Add(fixture::Ramp(8));
  output.Add(24);
  small.Add(20);
  CHECK_EQ(aclmdlExecute(id, none.dataset, output.dataset), ACL_ERROR_MODEL_INPUT_NOT_MATCH);
  CHECK_EQ(aclmdlExecute(id, small.dataset, output.dataset), ACL_ERROR_MODEL_INPUT_NOT_MATCH);
  CHECK_EQ(aclmdlExecute(id, input.dataset, none.dataset), ACL_ERROR_MODEL_OUTPUT_NOT_MATCH);
  CHECK_EQ(aclmdlExecute(id, input.dataset, small.dataset), ACL_ERROR_MODEL_OUTPUT_NOT_MATCH);
  CHECK_EQ(aclmdlSetDynamicBatchSize(id, input.dataset, 0, 2), ACL_ERROR_MODEL_NOT_DYNAMIC);
  CHECK_EQ(aclmdlSetInputAIPP(id, input.dataset, 0, nullptr), ACL_ERROR_FEATURE_UNSUPPORTED);
  // Host memory where device memory belongs shows when the work is done.
  float host[8] = {};
  aclrtStream stream = nullptr;
  aclmdlDataset *wrong = aclmdlCreateDataset();
  aclDataBuffer *buffer = aclCreateDataBuffer(host, sizeof host);
  CHECK_EQ(aclmdlAddDatasetBuffer(wrong, buffer), ACL_SUCCESS);
  CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  CHECK_EQ(aclmdlExecuteAsync(id, wrong, output.dataset, stream), ACL_SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  aclDestroyDataBuffer(buffer);
  aclmdlDestroyDataset(wrong);
}

TEST(broken_and_foreign_models_are_told_apart) {
  Start();
  const std::string path = MakeOm(fixture::LinearModel(2), Request());
  std::string om;
  CHECK(simulator::ReadWholeFile(path, om));
  uint32_t id = 0;
  CHECK_EQ(aclmdlLoadFromFile((path + ".missing").c_str(), &id), ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID);
  CHECK_EQ(aclmdlLoadFromMem("not a model", 11, &id), ACL_ERROR_PARSE_MODEL);
  CHECK_EQ(aclmdlLoadFromMem(om.data(), om.size() - 5, &id), ACL_ERROR_MODEL_SIZE_INVALID);
  std::string damaged = om;
  damaged[600] = static_cast<char>(damaged[600] ^ 1);
  CHECK_EQ(aclmdlLoadFromMem(damaged.data(), damaged.size(), &id), ACL_ERROR_DESERIALIZE_MODEL);
  std::string real = om;
  real[33] = 'x';
  CHECK_EQ(aclmdlLoadFromMem(real.data(), real.size(), &id), ACL_ERROR_PARSE_MODEL);
  CHECK(Contains(aclGetRecentErrMsg(), "was made for a real chip"));
  CHECK_EQ(aclmdlLoadFromMem(om.data(), om.size(), &id), ACL_SUCCESS);
  CHECK_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  CHECK_EQ(aclmdlLoadFromMem(om.data(), om.size(), &id), ACL_ERROR_GE_LOAD_MODEL);
  CHECK(Contains(aclGetRecentErrMsg(), "compiled for Ascend910B3, this is Ascend310P3"));
  aclmdlDesc *desc = aclmdlCreateDesc();
  CHECK_EQ(aclmdlGetDescFromFile(desc, path.c_str()), ACL_SUCCESS);
  CHECK_EQ(aclmdlGetNumInputs(desc), 1u);
  aclmdlDestroyDesc(desc);
}

TEST(a_model_takes_device_memory_and_gives_it_back) {
  Start();
  const std::string path = MakeOm(fixture::LinearModel(2), Request());
  size_t before = 0;
  size_t loaded = 0;
  size_t after = 0;
  size_t total = 0;
  size_t work = 0;
  size_t weights = 0;
  uint32_t id = 0;
  CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), ACL_SUCCESS);
  CHECK_EQ(aclmdlQuerySize(path.c_str(), &work, &weights), ACL_SUCCESS);
  CHECK_EQ(aclmdlLoadFromFile(path.c_str(), &id), ACL_SUCCESS);
  CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &loaded, &total), ACL_SUCCESS);
  CHECK(before - loaded >= work + weights);
  CHECK_EQ(aclmdlUnload(id), ACL_SUCCESS);
  CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), ACL_SUCCESS);
  CHECK_EQ(after, before);
  void *workMemory = nullptr;
  CHECK_EQ(aclrtMalloc(&workMemory, work, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
  CHECK_EQ(aclmdlLoadFromFileWithMem(path.c_str(), &id, workMemory, work - 1, nullptr, 0), ACL_ERROR_GE_PARAM_INVALID);
  CHECK_EQ(aclmdlLoadFromFileWithMem(path.c_str(), &id, workMemory, work, nullptr, 0), ACL_SUCCESS);
  CHECK_EQ(aclmdlUnload(id), ACL_SUCCESS);
  UseCards({"910B3", "310P3"}, "{\"kind\": \"out-of-memory\", \"device\": 0}");
  CHECK_EQ(aclmdlLoadFromFile(path.c_str(), &id), ACL_ERROR_GE_MEMORY_ALLOCATION);
}

TEST(a_model_belongs_to_its_context) {
  Start();
  const std::string path = MakeOm(fixture::LinearModel(1), Request());
  uint32_t id = 0;
  aclrtContext other = nullptr;
  CHECK_EQ(aclmdlLoadFromFile(path.c_str(), &id), ACL_SUCCESS);
  Buffers input;
  Buffers output;
  input.Add(fixture::Ramp(4));
  output.Add(12);
  CHECK_EQ(aclrtCreateContext(&other, 0), ACL_SUCCESS);
  CHECK_EQ(aclmdlExecute(id, input.dataset, output.dataset), ACL_ERROR_GE_FAILURE);
  CHECK_EQ(aclmdlUnload(id), ACL_ERROR_GE_FAILURE);
  std::thread([&] {
    CHECK_EQ(aclmdlExecute(id, input.dataset, output.dataset), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    CHECK_EQ(aclmdlExecute(id, input.dataset, output.dataset), ACL_SUCCESS);
  }).join();
  CHECK_EQ(aclrtDestroyContext(other), ACL_SUCCESS);
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

TEST(the_compiler_refuses_what_does_not_fit) {
  UseCards({"910B3"});
  const struct {
    CompileRequest request;
    int64_t batch;
    const char *reason;
  } cases[] = {
      {Request(GearKind::Batch, "x:-1,4", "4"), -1, "must be 2 to 100"},
      {Request(GearKind::Batch, "x:-1,4", "1,1"), -1, "there twice"},
      {Request(GearKind::Batch, "x:-1,4", "1,a"), -1, "something else than numbers"},
      {Request(GearKind::Batch, "x:2,4", "1,2"), -1, "no dimension of the input shapes is -1"},
      {Request(GearKind::Batch, "y:-1,4", "1,2"), -1, "names no input of the model"},
      {Request(GearKind::None, "x:2,5", ""), -1, "does not fit the model"},
      {Request(GearKind::None, "x:2", ""), -1, "has 1 dimensions, the model has 2"},
      {Request(GearKind::Dims, "x:-1,4", "1,2;3,4"), -1, "needed are 1"},
      {Request(GearKind::Image, "x:-1,4", "1,2;3,4"), -1, "NCHW"},
  };
  for (const auto &one : cases) {
    std::string error;
    CHECK(simulator::Compile(fixture::LinearModel(one.batch), one.request, error) == nullptr);
    CHECK(Contains(error.c_str(), one.reason));
  }
  CompileRequest request = Request();
  std::string error;
  request.aicoreNum = "21|10";
  CHECK(simulator::Compile(fixture::LinearModel(1), request, error) == nullptr);
  CHECK(Contains(error.c_str(), "Ascend910B3, which has 20|40"));
  request.aicoreNum = "12|10";
  const auto limited = simulator::Compile(fixture::LinearModel(1), request, error);
  REQUIRE(limited != nullptr);
  CHECK(limited->cubeCores == 12 && limited->vectorCores == 10);
  request.aicoreNum = "8|";
  request.soc = "Ascend310P3";
  CHECK(simulator::Compile(fixture::LinearModel(1), request, error) != nullptr);
  request.soc = "Ascend1";
  CHECK(simulator::Compile(fixture::LinearModel(1), request, error) == nullptr);
  CHECK(simulator::Compile("no onnx", Request(), error) == nullptr);
}
