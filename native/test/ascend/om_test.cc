// An .om model on a simulated card: described, loaded, run with gears, padding and free shapes; numbers equal ONNX Runtime's.
#include <cstring>
#include <functional>
#include <optional>
#include <thread>

#include "ascend/om_model.h"
#include "test/check.h"
#include "test/fixture.h"
#include "test/model_fixture.h"

using namespace npu_console::ascend;
using namespace std::chrono_literals;
using fixture::MakeOm;
using fixture::Request;
using fixture::UseCards;
using simulator::CompileRequest;

namespace {

const AclApi& Api() { return AclApi::Load(TEST_LIBRARY_DIR); }

void CheckContains(const std::string& text, const std::string& part) {
  if (text.find(part) == std::string::npos) check::Failed(__FILE__, __LINE__, "expected '" + part + "' in: " + text);
}

/** Runs with one input of numbers; what came out for the request's own shape. */
std::vector<float> Run(OmModel& model, const std::vector<float>& values, const Dims& dims, Padding padding = Padding::All) {
  const RunPlan plan = model.Plan({dims}, padding);
  CopyBlock(model.Stage(0, model.InputBytes(0, plan.inputs[0])), plan.inputs[0], values.data(), dims, dims, 4, true);
  const auto outputs = model.Run(plan);
  std::vector<float> result(static_cast<size_t>(ElementCount(outputs[0].cropped)));
  CopyBlock(result.data(), outputs[0].cropped, outputs[0].data, outputs[0].dims, outputs[0].cropped, 4, false);
  return result;
}

void CheckThrows(const std::function<void()>& body, ErrorKind kind, int code, const std::vector<std::string>& parts) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    CHECK_EQ(error.code(), code);
    for (const std::string& part : parts) CheckContains(error.what(), part);
    return;
  }
  check::Failed(__FILE__, __LINE__, "nothing was thrown");
}

}  // namespace

TEST(copies_blocks_between_shapes) {
  const std::vector<float> small = {1, 2, 3, 4, 5, 6};
  std::vector<float> large(24, 9);
  CopyBlock(large.data(), {2, 3, 4}, small.data(), {1, 2, 3}, {1, 2, 3}, 4, true);
  CHECK(large == (std::vector<float>{1, 2, 3, 0, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  std::vector<float> back(6);
  CopyBlock(back.data(), {1, 2, 3}, large.data(), {2, 3, 4}, {1, 2, 3}, 4, false);
  CHECK(back == small);
  std::vector<float> rows(6, 9);
  CopyBlock(rows.data(), {3, 2}, small.data(), {2, 2}, {2, 2}, 4, true);
  CHECK(rows == (std::vector<float>{1, 2, 3, 4, 0, 0}));
}

TEST(counts_elements_of_a_shape) {
  CHECK_EQ(ElementCount({2, 3}), 6);
  CHECK_EQ(ElementCount({}), 1);
  CHECK_EQ(ElementCount({int64_t{1} << 40, 0, int64_t{1} << 40}), 0);
  CHECK_EQ(ElementCount({int64_t{1} << 40, int64_t{1} << 40, -1}), -1);
  // 2^64 elements, which are 0 where nobody looks.
  CheckThrows([] { ElementCount({int64_t{1} << 32, int64_t{1} << 32}); }, ErrorKind::InvalidArgument, 0, {"shape [4294967296,4294967296] has more elements than memory can hold"});
}

TEST(runs_a_static_model) {
  UseCards({"910B3", "910B3"});
  const std::string onnx = fixture::LinearModel(4);
  OmModel model(Device::Acquire(Api(), 1), MakeOm(onnx, Request()), {});
  CHECK_EQ(std::string(model.description().GraphKind()), "static");
  CHECK_EQ(model.description().LargestBatch(), 4);
  CHECK(model.weight_bytes() > 0);
  const auto values = fixture::Ramp(16);
  CHECK(Run(model, values, {4, 4}) == fixture::Reference(onnx, values, {4, 4}));
  // Fewer rows: padded, and cut back.
  const std::vector<float> rows(values.begin(), values.begin() + 8);
  CHECK(Run(model, rows, {2, 4}, Padding::Batch) == fixture::Reference(fixture::LinearModel(-1), rows, {2, 4}));
  CheckThrows([&] { Run(model, rows, {2, 4}, Padding::None); }, ErrorKind::InvalidArgument, 0, {"no compiled shape of the model holds x [2,4]", "Compiled for: x [4,4]"});
  CheckThrows([&] { Run(model, values, {4, 5}); }, ErrorKind::InvalidArgument, 0, {"x [4,5]"});
  CheckThrows([&] { Run(model, values, {16}); }, ErrorKind::InvalidArgument, 0, {"input 'x' has shape [16], the model takes [4,4]"});
}

TEST(takes_the_smallest_batch_that_fits) {
  UseCards({"910B3"});
  const std::string onnx = fixture::LinearModel(-1);
  OmModel model(Device::Acquire(Api(), 0), MakeOm(onnx, Request(simulator::GearKind::Batch, "x:-1,4", "1,4,8")), {});
  CHECK_EQ(std::string(model.description().GraphKind()), "gears");
  CHECK(model.description().gear_kind == GearKind::Batch);
  CHECK_EQ(model.description().LargestBatch(), 8);
  CHECK_EQ(model.description().gears.size(), 3u);
  CHECK_EQ(model.description().gears[1].text, "4");
  CHECK_EQ(*model.Plan({{3, 4}}, Padding::Batch).gear, 1u);
  CHECK_EQ(*model.Plan({{5, 4}}, Padding::Batch).gear, 2u);
  CHECK_EQ(*model.Plan({{1, 4}}, Padding::None).gear, 0u);
  for (const int64_t batch : {1, 2, 3, 4, 7, 8}) {
    const auto values = fixture::Ramp(static_cast<size_t>(batch) * 4);
    CHECK(Run(model, values, {batch, 4}) == fixture::Reference(onnx, values, {batch, 4}));
  }
  CheckThrows([&] { model.Plan({{9, 4}}, Padding::All); }, ErrorKind::InvalidArgument, 0, {"x [9,4]", "Its gears are: 1, 4, 8"});
}

TEST(takes_the_smallest_image_that_fits) {
  UseCards({"910B3"});
  const std::string onnx = fixture::ImageModel(1, -1, -1);
  OmModel model(Device::Acquire(Api(), 0), MakeOm(onnx, Request(simulator::GearKind::Image, "x:1,3,-1,-1", "8,8;16,32")), {});
  CHECK(model.description().gear_kind == GearKind::Image);
  CHECK_EQ(model.description().gears[1].text, "16x32");
  const auto values = fixture::Ramp(3 * 7 * 5);
  CHECK_EQ(*model.Plan({{1, 3, 7, 5}}, Padding::All).gear, 0u);
  CHECK(Run(model, values, {1, 3, 7, 5}) == values);  // Relu of positive numbers
  const auto wide = fixture::Ramp(3 * 9 * 20);
  CHECK(Run(model, wide, {1, 3, 9, 20}) == wide);
  CheckThrows([&] { Run(model, values, {1, 3, 7, 5}, Padding::Batch); }, ErrorKind::InvalidArgument, 0, {"Its gears are: 8x8, 16x32; only the batch is padded"});
}

TEST(takes_the_smallest_dims_that_fit) {
  UseCards({"910B3"});
  CompileRequest request = Request(simulator::GearKind::Dims, "x:-1,3,-1,-1", "1,4,4;2,8,8");
  request.inputFormat = "ND";
  OmModel model(Device::Acquire(Api(), 0), MakeOm(fixture::ImageModel(-1, -1, -1), request), {});
  CHECK(model.description().gear_kind == GearKind::Free);
  CHECK_EQ(model.description().gears[0].text, "x=1,3,4,4");
  const auto values = fixture::Ramp(2 * 3 * 4 * 5);
  CHECK(Run(model, values, {2, 3, 4, 5}) == values);
}

TEST(runs_any_shape_of_a_model_without_gears) {
  UseCards({"910B3"});
  const std::string onnx = fixture::LinearModel(-1);
  const std::string path = MakeOm(onnx, Request(simulator::GearKind::None, "x:-1,4"));
  const auto values = fixture::Ramp(20);
  OmOptions options;
  options.output_bytes = {60};
  // CANN allocates the outputs; or there is room for them.
  for (const OmOptions& chosen : {OmOptions{}, options}) {
    OmModel model(Device::Acquire(Api(), 0), path, chosen);
    CHECK_EQ(std::string(model.description().GraphKind()), "dynamic");
    CHECK(Run(model, values, {5, 4}) == fixture::Reference(onnx, values, {5, 4}));
    CHECK(Run(model, {1, 2, 3, 4}, {1, 4}) == fixture::Reference(onnx, {1, 2, 3, 4}, {1, 4}));
  }
  OmModel model(Device::Acquire(Api(), 0), path, options);
  CheckThrows([&] { Run(model, fixture::Ramp(24), {6, 4}); }, ErrorKind::Internal, 507011, {"72 bytes"});
  CHECK(Run(model, values, {5, 4}) == fixture::Reference(onnx, values, {5, 4}));
}

TEST(refuses_a_file_that_does_not_fit_the_card) {
  UseCards({"310P3"});
  const std::string other = MakeOm(fixture::LinearModel(1), Request());
  CheckThrows([&] { OmModel(Device::Acquire(Api(), 0), other, {}); }, ErrorKind::InvalidArgument, 0,
              {"was compiled for Ascend910B3, this machine's card is Ascend310P3", "atc --soc_version=Ascend310P3"});
  fixture::WriteFile(fixture::Directory() + "/text.om", "hello");
  CheckThrows([&] { OmModel(Device::Acquire(Api(), 0), fixture::Directory() + "/text.om", {}); }, ErrorKind::InvalidArgument, 0, {"does not begin with IMOD"});
  CheckThrows([&] { OmModel(Device::Acquire(Api(), 0), "/nowhere.om", {}); }, ErrorKind::NotFound, 0, {"/nowhere.om"});
  fixture::WriteFile(fixture::Directory() + "/real.om", "IMOD" + std::string(4000, '\1'));
  CheckThrows([&] { OmModel(Device::Acquire(Api(), 0), fixture::Directory() + "/real.om", {}); }, ErrorKind::InvalidArgument, 100013, {"PARSE_MODEL", "real.om"});
}

TEST(describes_a_file_without_a_card) {
  UseCards({"910B3"});
  const std::string path = MakeOm(fixture::LinearModel(-1), Request(simulator::GearKind::Batch, "x:-1,4", "1,4,8"));
  const OmDescription model = DescribeOmFile(Api(), path);
  CHECK_EQ(model.inputs.size(), 1u);
  CHECK(model.inputs[0].dims == (Dims{-1, 4}));
  CHECK_EQ(std::string(TritonTypeName(model.outputs[0].type)), "FP32");
  CHECK_EQ(model.gears.size(), 3u);
  const OmFileFacts facts = ReadOmFile(path);
  CHECK(facts.has_signature && facts.chips == std::vector<std::string>{"Ascend910B3"});
  CHECK_EQ(ChipFamily("Ascend910B"), "910");
  CHECK_EQ(ChipFamily("Ascend910B4-1"), "910B");
  CHECK_EQ(ChipFamily("AscendCL"), "");
}

TEST(a_run_that_hangs_ends_and_the_card_comes_back) {
  for (const bool is_free : {false, true}) {
    UseCards({"910B3"});
    const std::string onnx = fixture::LinearModel(-1);
    const std::string path = is_free ? MakeOm(onnx, Request(simulator::GearKind::None, "x:-1,4")) : MakeOm(onnx, Request(simulator::GearKind::Batch, "x:-1,4", "1,4"));
    OmOptions options;
    options.timeout = 100ms;
    auto model = std::make_optional<OmModel>(Device::Acquire(Api(), 0), path, options);
    UseCards({"910B3"}, "{\"kind\": \"hang\", \"phase\": \"run\"}");
    CheckThrows([&] { Run(*model, {1, 2, 3, 4}, {1, 4}); }, ErrorKind::Unavailable, is_free ? 0 : 507046, {is_free ? "did not come to an end within 100 ms" : "100 ms allowed"});
    CHECK(model->device().is_faulty());
    model.reset();
    UseCards({"910B3"});
    options.timeout = 60s;
    OmModel again(Device::Acquire(Api(), 0), path, options);
    CHECK(Run(again, {1, 2, 3, 4}, {1, 4}) == fixture::Reference(onnx, {1, 2, 3, 4}, {1, 4}));
  }
}

TEST(an_operator_that_fails_costs_one_run) {
  UseCards({"910B3"});
  const std::string onnx = fixture::LinearModel(1);
  OmModel model(Device::Acquire(Api(), 0), MakeOm(onnx, Request()), {});
  UseCards({"910B3"}, "{\"kind\": \"operator-exception\", \"phase\": \"run\", \"count\": 1}");
  CheckThrows([&] { Run(model, {1, 2, 3, 4}, {1, 4}); }, ErrorKind::Internal, 507015, {"AICORE_EXCEPTION"});
  CHECK(!model.device().is_faulty());
  CHECK(Run(model, {1, 2, 3, 4}, {1, 4}) == fixture::Reference(onnx, {1, 2, 3, 4}, {1, 4}));
}

TEST(limits_cores_where_CANN_can) {
  UseCards({"910B3"});
  const std::string path = MakeOm(fixture::LinearModel(-1), Request(simulator::GearKind::None, "x:-1,4"));
  OmOptions options;
  options.cube_cores = 10;
  OmModel model(Device::Acquire(Api(), 0), path, options);
  CHECK_EQ(model.notes().size(), 0u);
  CHECK_EQ(Run(model, {1, 2, 3, 4}, {1, 4}).size(), 3u);
  options.cube_cores = 1000;
  CheckThrows([&] { OmModel(Device::Acquire(Api(), 0), path, options); }, ErrorKind::InvalidArgument, 107000, {"1000 cube cores"});
  OmOptions few;
  few.cube_cores = 10;
  OmModel old(Device::Acquire(AclApi::Load(std::string(TEST_LIBRARY_DIR) + "-8.2"), 0), path, few);
  REQUIRE(old.notes().size() == 1);
  CheckContains(old.notes()[0], "core limits at run time come with CANN 8.3");
}

TEST(gives_all_memory_back) {
  UseCards({"910B3"});
  const std::string path = MakeOm(fixture::LinearModel(-1), Request(simulator::GearKind::None, "x:-1,4"));
  auto device = Device::Acquire(Api(), 0);
  const uint64_t before = device->memory().free_bytes;
  {
    OmModel model(device, path, {});
    for (int64_t batch = 1; batch < 20; batch++) Run(model, fixture::Ramp(static_cast<size_t>(batch) * 4), {batch, 4});
    OmTimes times;
    const RunPlan plan = model.Plan({{1, 4}}, Padding::All);
    std::memset(model.Stage(0, 16), 0, 16);
    model.Run(plan, &times);
    CHECK(times.copy_in > 0 && times.run > 0 && times.copy_out > 0);
    CHECK(device->memory().free_bytes < before);
  }
  device->device_memory().Trim();
  CHECK_EQ(device->memory().free_bytes, before);
  CHECK_EQ(device->device_memory().usage().in_use, 0u);
  CHECK_EQ(device->pinned_memory().usage().in_use, 0u);
}
