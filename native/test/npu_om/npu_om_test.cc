// libtriton_npu_om.so through the host, over two simulated cards of the kind 910B3. Each group is a process of its own.
#include <list>

#include "core/om_file.h"
#include "npu_server.h"
#include "test/fixture.h"

using namespace npu;
using rig::Bytes;
using rig::Must;
using simulator::GearKind;

namespace {

// What the simulated atc writes.
std::string Om(const std::string& onnx, GearKind kind = GearKind::None, const std::string& shape = "", const std::string& gears = "", const std::string& soc = "Ascend910B3") {
  simulator::CompileRequest request;
  request.name = "m";
  request.soc = soc;
  request.inputShape = shape;
  request.gearKind = kind;
  request.gears = gears;
  if (kind == GearKind::Dims) request.inputFormat = "ND";
  std::string error;
  const auto model = simulator::Compile(onnx, request, error);
  if (model == nullptr) throw std::runtime_error(error);
  return simulator::WriteOm(*model);
}

std::string Parameters(const std::vector<std::pair<std::string, std::string>>& parameters, const std::string& rest = "") {
  std::string text;
  for (const auto& [key, value] : parameters) text += (text.empty() ? "" : ",") + Parameter(key, value);
  return R"({"name":"m",)" + rest + (rest.empty() ? "" : ",") + R"("parameters":{)" + text + "}}";
}

class Server : public NpuServer {
 public:
  Server() : NpuServer("npu_om", "model.om") {}
};

}  // namespace

TEST(Serve, completes_the_config_and_runs_batches) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, Om(fixture::LinearModel(-1), GearKind::Batch, "x:-1,4", "1,4,8"), R"({"name":"m"})"), "");
  for (const char* part : {R"("max_batch_size":8)", R"("dims":[4])", R"("dims":[3])", R"("dynamic_batching":{})", R"("data_type":"TYPE_FP32")"}) EXPECT_CONTAINS(server.config(), part);
  Request two(2), three(3);
  two.Raw("x", TRITONSERVER_TYPE_FP32, {2, 4}, BytesOf(fixture::Ramp(8))).Output("y");
  three.Raw("x", TRITONSERVER_TYPE_FP32, {1, 4}, BytesOf({9, 8, 7, 6})).Output("y");
  server.Submit(100, 77, {&two, &three});
  const EventPtr answer = server.Wait(TRITONHOST_EVENT_RESPONSE, 2);
  EXPECT_EQ(ShapeOf(answer, "y"), (Shape{2, 3}));
  EXPECT_EQ(Floats(Bytes(*answer, "y")), Linear(fixture::Ramp(8)));
  EXPECT_EQ(Floats(Bytes(*server.Wait(TRITONHOST_EVENT_RESPONSE, 3), "y")), Linear({9, 8, 7, 6}));
  EXPECT_EQ(server.Unload(1), "");
  EXPECT_EQ(server.Count(TRITONHOST_EVENT_VIOLATION), 0U);
}

TEST(Serve, says_what_an_instance_runs_on) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, Om(fixture::LinearModel(-1), GearKind::Batch, "x:-1,4", "1,4"), Parameters({{"device_ids", "1"}})), "");
  for (const char* part : {R"("runs_on":"npu")", R"("simulated":true)", R"("device":1)", R"("chip":"Ascend910B3")", R"("graph":"gears")", R"("gears":["1","4"])", "CANN 9.1.0"}) {
    EXPECT_CONTAINS(server.report(), part);
  }
}

TEST(Serve, static_and_free_shapes) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, Om(fixture::LinearModel(1)), R"({"name":"m"})"), "");
  EXPECT_CONTAINS(server.config(), R"("max_batch_size":0)");
  EXPECT_EQ(Floats(Bytes(*server.Infer(100, {1, 2, 3, 4}, {1, 4}), "y")), Linear({1, 2, 3, 4}));
  EXPECT_EQ(server.ServeModel(2, Om(fixture::LinearModel(-1), GearKind::None, "x:-1,4"), R"({"name":"m"})"), "");
  EXPECT_CONTAINS(server.config(), R"("max_batch_size":4)");
  EXPECT_EQ(Floats(Bytes(*server.Infer(200, fixture::Ramp(12), {3, 4}), "y")), Linear(fixture::Ramp(12)));
}

TEST(Serve, text_recognition_equals_onnx_runtime) {
  Server server;
  const std::string onnx = TextRecognition();
  // Under an emulator a run takes longer than the usual 60 s.
  EXPECT_EQ(server.ServeModel(1, Om(onnx, GearKind::Dims, "x:1,3,48,-1", "64;96"), Parameters({{"gear_padding", "none"}, {"execution_timeout_ms", "600000"}})), "");
  for (const std::int64_t width : {64, 96}) {
    const std::vector<float> x = TextPicture(1, width);
    Request request(static_cast<std::uint64_t>(width));
    request.Raw("x", TRITONSERVER_TYPE_FP32, {1, 3, 48, width}, BytesOf(x)).Output("softmax_11.tmp_0");
    const EventPtr answer = server.Infer(100, request);
    EXPECT_EQ(ShapeOf(answer, "softmax_11.tmp_0"), (Shape{1, width / 8, 6625}));
    EXPECT(Bytes(*answer, "softmax_11.tmp_0") == Run(onnx, {{BytesOf(x), {1, 3, 48, width}}}).outputs[0]);
  }
}

TEST(Serve, voice_detection_equals_onnx_runtime_with_several_inputs_and_a_scalar) {
  Server server;
  const std::string onnx = VoiceDetection();
  EXPECT_EQ(server.ServeModel(1, Om(onnx, GearKind::None, "input:1,576;state:2,1,128"), R"({"name":"m"})"), "");
  HoldVoiceDetectionAgainst(server, 100, onnx);
}

TEST(Serve, spreads_over_both_cards_and_gives_everything_back) {
  Server server;
  const std::size_t before[] = {UsedMemory(0), UsedMemory(1)};
  EXPECT_EQ(server.ServeModel(1, Om(fixture::LinearModel(4)), R"({"name":"m"})", 4), "");
  EXPECT(UsedMemory(0) > before[0] && UsedMemory(1) > before[1]);
  std::vector<std::unique_ptr<Request>> requests;
  for (std::uint64_t index = 0; index < 40; ++index) {
    requests.push_back(std::make_unique<Request>(1000 + index));
    requests.back()->Raw("x", TRITONSERVER_TYPE_FP32, {1, 4}, BytesOf({static_cast<float>(index), 2, 3, 4})).Output("y");
    server.Submit(100 + index % 4, 2000 + index, {requests.back().get()});
  }
  for (std::uint64_t index = 0; index < 40; ++index) {
    EXPECT_EQ(Floats(Bytes(*server.Wait(TRITONHOST_EVENT_RESPONSE, 1000 + index), "y")), Linear({static_cast<float>(index), 2, 3, 4}));
  }
  EXPECT_EQ(server.Unload(1), "");
  EXPECT_EQ(UsedMemory(0), before[0]);
  EXPECT_EQ(UsedMemory(1), before[1]);
}

TEST(Gears, pads_and_cuts_back) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, Om(fixture::LinearModel(-1), GearKind::Batch, "x:-1,4", "1,4,8"), R"({"name":"m"})"), "");
  for (const std::int64_t rows : {1, 2, 4, 5, 8}) {
    const auto x = fixture::Ramp(static_cast<std::size_t>(4 * rows));
    const EventPtr answer = server.Infer(100, x, {rows, 4});
    EXPECT_EQ(ShapeOf(answer, "y"), (Shape{rows, 3}));
    EXPECT_EQ(Floats(Bytes(*answer, "y")), Linear(x));
  }
  EXPECT_EQ(server.ServeModel(2, Om(fixture::ImageModel(1, -1, -1), GearKind::Image, "x:1,3,-1,-1", "8,8;16,16"), R"({"name":"m"})"), "");
  const EventPtr image = server.Infer(200, fixture::Ramp(3 * 9 * 10), {1, 3, 9, 10});
  EXPECT_EQ(ShapeOf(image, "y"), (Shape{1, 3, 9, 10}));
  EXPECT_EQ(Floats(Bytes(*image, "y")), fixture::Ramp(3 * 9 * 10));
  EXPECT_CONTAINS(Said(server.Infer(200, fixture::Ramp(3 * 17 * 8), {1, 3, 17, 8})), "no compiled shape of the model holds x [1,3,17,8]. Its gears are: 8x8, 16x16");
}

TEST(Gears, one_request_that_does_not_fit_costs_only_itself) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, Om(fixture::LinearModel(-1), GearKind::Batch, "x:-1,4", "1,4"), Parameters({{"gear_padding", "none"}})), "");
  EXPECT_CONTAINS(Said(server.Infer(100, fixture::Ramp(8), {2, 4})), "nothing is padded");
  EXPECT_EQ(Floats(Bytes(*server.Infer(100, fixture::Ramp(16), {4, 4}), "y")), Linear(fixture::Ramp(16)));
  EXPECT_EQ(server.Ready(100), "");
}

TEST(Refuse, files_that_do_not_fit) {
  Server server;
  EXPECT_EQ(server.LoadModel(1, Om(fixture::LinearModel(1), GearKind::None, "", "", "Ascend310P3"), R"({"name":"m"})"), "");
  EXPECT_CONTAINS(server.Add(100), "was compiled for Ascend310P3, this machine's card is Ascend910B3");
  EXPECT_CONTAINS(server.LoadModel(2, "hello", R"({"name":"m"})"), "model.om is no .om file: it does not begin with IMOD");
}

TEST(Refuse, configurations_that_do_not_fit) {
  Server server;
  const std::string file = Om(fixture::LinearModel(-1), GearKind::Batch, "x:-1,4", "1,4");
  const auto said = [&](const std::string& config) {
    static std::uint64_t token = 10;
    token++;
    const std::string load = server.LoadModel(token, file, config);
    return load.empty() ? server.Add(token * 100) : load;
  };
  const std::string output = R"("output":[{"name":"y","data_type":"TYPE_FP32","dims":[3]}])";
  EXPECT_CONTAINS(said(R"({"name":"m","max_batch_size":16})"), "max_batch_size is 16, the .om file was compiled for a batch of at most 4");
  EXPECT_CONTAINS(said(R"({"name":"m","max_batch_size":4,"input":[{"name":"x","data_type":"TYPE_INT32","dims":[4]}],)" + output + "}"), "expects datatype TYPE_INT32 for input 'x'");
  EXPECT_CONTAINS(said(R"({"name":"m","max_batch_size":4,"input":[{"name":"x","data_type":"TYPE_FP32","dims":[5]}],)" + output + "}"), "has input 'x' as [-1,5] (with the batch)");
  EXPECT_CONTAINS(said(R"({"name":"m","max_batch_size":4,"input":[{"name":"z","data_type":"TYPE_FP32","dims":[4]}],)" + output + "}"), "allowed inputs are: x");
  EXPECT_CONTAINS(said(Parameters({{"gear_padding", "some"}})), "'gear_padding' is 'some': it takes none, batch or all");
  EXPECT_CONTAINS(said(Parameters({{"aicore_num", "1|2|3"}})), "at most two numbers");
  EXPECT_CONTAINS(said(Parameters({{"device_ids", "a"}})), "'device_ids' is 'a': give whole numbers");
  EXPECT_CONTAINS(said(Parameters({{"device_ids", "7"}})), "There is no device 7: this process sees 2 NPU(s)");
}

TEST(Fault, a_lost_card_fails_its_requests_and_comes_back) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, Om(fixture::LinearModel(1)), R"({"name":"m"})", 2), "");
  UseFaults(R"({"kind":"card-lost","device":0})");
  EXPECT_CONTAINS(Said(server.Infer(100, {1, 2, 3, 4}, {1, 4})), "the link to the card is gone");
  EXPECT_CONTAINS(server.Ready(100), "device 0 is out of order");
  // The other card goes on.
  EXPECT_EQ(Floats(Bytes(*server.Infer(101, {1, 2, 3, 4}, {1, 4}), "y")), Linear({1, 2, 3, 4}));
  EXPECT_EQ(server.Ready(101), "");
  EXPECT_CONTAINS(server.Restart(100), "507033");
  UseFaults("");
  EXPECT_EQ(server.Add(100), "");
  EXPECT_EQ(server.Ready(100), "");
  EXPECT_EQ(Floats(Bytes(*server.Infer(100, {1, 2, 3, 4}, {1, 4}), "y")), Linear({1, 2, 3, 4}));
}

TEST(Fault, a_hang_ends_in_an_error_and_removal_does_not_wait) {
  Server server;
  const std::string config = Parameters({{"execution_timeout_ms", "200"}, {"device_ids", "0"}});
  EXPECT_EQ(server.ServeModel(1, Om(fixture::LinearModel(1)), config, 2), "");
  UseFaults(R"({"kind":"hang","device":0,"phase":"run"})");
  EXPECT_CONTAINS(Said(server.Infer(100, {1, 2, 3, 4}, {1, 4})), "507046 STREAM_SYNC_TIMEOUT");
  EXPECT_CONTAINS(server.Ready(100), "device 0 is out of order");
  EXPECT_CONTAINS(server.Ready(101), "device 0 is out of order");
  server.Remove(100);
  UseFaults("");
  // The one that still holds the old card does not disturb the one that has set it up again.
  EXPECT_EQ(server.Add(100), "");
  EXPECT_EQ(Floats(Bytes(*server.Infer(100, {1, 2, 3, 4}, {1, 4}), "y")), Linear({1, 2, 3, 4}));
  // And is loaded again with its next request.
  EXPECT_EQ(server.Ready(101), "");
  EXPECT_EQ(Floats(Bytes(*server.Infer(101, {1, 2, 3, 4}, {1, 4}), "y")), Linear({1, 2, 3, 4}));
  EXPECT_EQ(Floats(Bytes(*server.Infer(100, {1, 2, 3, 4}, {1, 4}), "y")), Linear({1, 2, 3, 4}));
}

TEST(Fault, an_operator_that_fails_costs_one_request_and_three_the_instance) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, Om(fixture::LinearModel(1)), R"({"name":"m"})"), "");
  UseFaults(R"({"kind":"operator-exception","phase":"run","count":1})");
  EXPECT_CONTAINS(Said(server.Infer(100, {1, 2, 3, 4}, {1, 4})), "507015 AICORE_EXCEPTION");
  EXPECT_EQ(server.Ready(100), "");
  EXPECT_EQ(Floats(Bytes(*server.Infer(100, {1, 2, 3, 4}, {1, 4}), "y")), Linear({1, 2, 3, 4}));
  UseFaults(R"({"kind":"operator-exception","phase":"run","count":3})");
  for (int run = 0; run < 3; ++run) EXPECT_CONTAINS(Said(server.Infer(100, {1, 2, 3, 4}, {1, 4})), "507015");
  EXPECT_CONTAINS(server.Ready(100), "3 runs in a row failed");
  EXPECT_EQ(server.Restart(100), "");
  EXPECT_EQ(Floats(Bytes(*server.Infer(100, {1, 2, 3, 4}, {1, 4}), "y")), Linear({1, 2, 3, 4}));
}

TEST(Fault, is_asked_whether_it_is_ready_while_its_runs_fail) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, Om(fixture::LinearModel(1)), Parameters({{"aicore_num", "4"}})), "");
  EXPECT_CONTAINS(server.report(), "aicore_num may not act on this model");
  UseFaults(R"({"kind":"operator-exception","phase":"run","count":1000})");
  std::list<Request> requests;
  for (int run = 0; run < 20; ++run) {
    Request& request = requests.emplace_back(server.NextToken());
    const std::vector<float> x = {1, 2, 3, 4};
    request.Raw("x", TRITONSERVER_TYPE_FP32, {1, 4}, npu::BytesOf(x)).Output("y");
    server.Send(100, request);
    Must(tritonhost_check_instance(server.host(), 100));
    Must(tritonhost_check_instance(server.host(), 100));
  }
  for (const Request& request : requests) EXPECT_CONTAINS(Said(server.Answer(request)), "507015");
  for (int check = 0; check < 40; ++check) EXPECT_CONTAINS(server.Wait(TRITONHOST_EVENT_INSTANCE_READINESS, 100)->detail, "aicore_num may not act on this model");
  EXPECT_CONTAINS(server.Ready(100), "20 runs in a row failed");
}

TEST(Fault, a_full_card_refuses_the_load_and_says_what_to_do) {
  Server server;
  EXPECT_EQ(server.LoadModel(1, Om(fixture::LinearModel(1)), Parameters({{"device_ids", "0"}})), "");
  UseFaults(R"({"kind":"out-of-memory","device":0,"phase":"load"})");
  EXPECT_CONTAINS(server.Add(100), "unload a model of this card");
  UseFaults("");
  EXPECT_EQ(server.Add(100), "");
  EXPECT_EQ(Floats(Bytes(*server.Infer(100, {1, 2, 3, 4}, {1, 4}), "y")), Linear({1, 2, 3, 4}));
}
