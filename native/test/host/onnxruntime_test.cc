// libtriton_onnxruntime.so through the host, with small models written by hand and the ONNX Runtime of the npm package.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "rig.h"

using namespace rig;
namespace fs = std::filesystem;

namespace {

// ---- Just enough protobuf ----

std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7) bytes += static_cast<char>((value & 127) | 128);
  return bytes + static_cast<char>(value);
}
std::string Number(std::uint32_t field, std::int64_t value) { return Varint(field << 3) + Varint(static_cast<std::uint64_t>(value)); }
std::string Field(std::uint32_t field, const std::string& content) { return Varint(field << 3 | 2) + Varint(content.size()) + content; }

// Dims: a number is fixed, anything else a name.
std::string ValueInfo(const std::string& name, int type, const std::vector<std::string>& dims) {
  std::string shape;
  for (const std::string& dim : dims) shape += Field(1, std::isdigit(static_cast<unsigned char>(dim[0])) != 0 ? Number(1, std::stoll(dim)) : Field(2, dim));
  return Field(1, name) + Field(2, Field(1, Number(1, type) + Field(2, shape)));
}
std::string Input(const std::string& name, int type, const std::vector<std::string>& dims) { return Field(11, ValueInfo(name, type, dims)); }
std::string Output(const std::string& name, int type, const std::vector<std::string>& dims) { return Field(12, ValueInfo(name, type, dims)); }
std::string Node(const std::string& type, const std::vector<std::string>& inputs, const std::string& output, const std::string& attributes = "") {
  std::string node;
  for (const std::string& input : inputs) node += Field(1, input);
  return Field(1, node + Field(2, output) + Field(4, type) + attributes);
}
std::string Integer(const std::string& name, std::int64_t value) { return Field(5, Field(1, name) + Number(3, value) + Number(20, 2)); }
std::string Model(const std::string& graph) { return Number(1, 8) + Field(7, graph + Field(2, "graph")) + Field(8, Field(1, "") + Number(2, 14)); }

constexpr int FLOAT = 1, INT32 = 6, STRING = 8;

// A model directory with one version, gone at the end.
class Repository {
 public:
  explicit Repository(const std::string& model) {
    std::string pattern = (fs::temp_directory_path() / "onnxruntime-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = pattern;
    fs::create_directories(path_ + "/1");
    std::ofstream(path_ + "/1/model.onnx", std::ios::binary) << model;
  }
  ~Repository() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Repository(const Repository&) = delete;
  Repository& operator=(const Repository&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const std::string SETTINGS = std::string(R"({"cmdline":{"library-path":")") + TEST_ONNXRUNTIME + R"(","intra_op_thread_count":"1"}})";

class Server : public Rig {
 public:
  explicit Server(const std::string& model) : Rig({PRODUCT_BACKENDS}), repository_(model) {}
  ~Server() = default;

  EventPtr LoadModel(const std::string& config, bool auto_complete = true) {
    return Load(1, "onnxruntime", [&](TritonHostModelOptions& options) {
      options.name = "m";
      options.directory = repository_.path().c_str();
      options.config_json = config.c_str();
      options.backend_config_json = SETTINGS.c_str();
      options.auto_complete_config = auto_complete;
      static const char* const states[] = {"S_OUT"};
      options.states = states;
      options.state_count = 1;
    });
  }

  // Loads it with an instance; the error of either, or nothing.
  std::string ServeModel(const std::string& config) {
    const EventPtr loaded = LoadModel(config);
    if (loaded->has_error) return loaded->error_message;
    const EventPtr added = AddInstance(1, 1, "m_0");
    return added->has_error ? added->error_message : "";
  }

  EventPtr Infer(Request& request) {
    Submit(1, ++batch_, {&request});
    return Wait(TRITONHOST_EVENT_RESPONSE, request.c.token);
  }

 private:
  Repository repository_;
  std::uint64_t batch_ = 0;
};

std::string Floats(const std::vector<float>& values) { return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}; }

std::string Said(const EventPtr& event) { return event->has_error ? event->error_message : ""; }

std::vector<std::int64_t> Shape(const EventPtr& event, std::uint32_t index = 0) {
  if (event->has_error) throw std::runtime_error(event->error_message);
  return {event->tensors[index].shape, event->tensors[index].shape + event->tensors[index].dims_count};
}

const std::string IDENTITY = Model(Node("Identity", {"X"}, "Y") + Input("X", FLOAT, {"batch", "width"}) + Output("Y", FLOAT, {"batch", "width"}));

}  // namespace

TEST(Onnx, completes_the_config_and_runs_lone_requests_and_batches) {
  Server server(IDENTITY);
  const EventPtr loaded = server.LoadModel(R"({"name":"m"})");
  EXPECT_EQ(Said(loaded), "");
  EXPECT_CONTAINS(std::string(loaded->text), R"("max_batch_size":4)");
  EXPECT_CONTAINS(std::string(loaded->text), R"("dims":[-1])");
  EXPECT_CONTAINS(std::string(loaded->text), R"("dynamic_batching":{})");
  EXPECT_EQ(Said(server.AddInstance(1, 1, "m_0")), "");
  Request one(11), two(12), three(13);
  one.Raw("X", TRITONSERVER_TYPE_FP32, {1, 3}, Floats({1, 2, 3})).Output("Y");
  const EventPtr lone = server.Infer(one);
  EXPECT_EQ(Bytes(*lone, "Y"), Floats({1, 2, 3}));
  EXPECT_EQ(Shape(lone), (std::vector<std::int64_t>{1, 3}));
  two.Raw("X", TRITONSERVER_TYPE_FP32, {2, 1}, Floats({4, 5})).Output("Y");
  three.Raw("X", TRITONSERVER_TYPE_FP32, {1, 1}, Floats({6})).Output("Y");
  server.Submit(1, 100, {&two, &three});
  EXPECT_EQ(Bytes(*server.Wait(TRITONHOST_EVENT_RESPONSE, 12), "Y"), Floats({4, 5}));
  EXPECT_EQ(Bytes(*server.Wait(TRITONHOST_EVENT_RESPONSE, 13), "Y"), Floats({6}));
  Request none(14);
  none.Raw("X", TRITONSERVER_TYPE_FP32, {0, 3}, "").Output("Y");
  EXPECT_EQ(Shape(server.Infer(none)), (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(server.Count(TRITONHOST_EVENT_VIOLATION), 0U);
}

TEST(Onnx, passes_strings_whole_also_with_zero_bytes) {
  Server server(Model(Node("Identity", {"X"}, "Y") + Input("X", STRING, {"n"}) + Output("Y", STRING, {"n"})));
  EXPECT_EQ(server.ServeModel(R"({"name":"m","max_batch_size":0,"input":[{"name":"X","data_type":"TYPE_STRING","dims":[-1]}],"output":[{"name":"Y","data_type":"TYPE_STRING","dims":[-1]}]})"), "");
  const std::string text("\3\0\0\0a\0b\0\0\0\0\2\0\0\0\xC3\xA9", 17);
  Request request(11);
  request.Raw("X", TRITONSERVER_TYPE_BYTES, {3}, text).Output("Y");
  EXPECT_EQ(Bytes(*server.Infer(request), "Y"), text);
}

TEST(Onnx, takes_outputs_as_they_come_where_the_file_is_wrong_about_their_shape_or_they_are_inputs) {
  Server server(Model(Node("Concat", {"X", "X"}, "Y", Integer("axis", 0)) + Input("X", FLOAT, {"n"}) + Output("Y", FLOAT, {"n"}) + Output("X", FLOAT, {"n"})));
  EXPECT_EQ(server.ServeModel(R"({"name":"m","input":[{"name":"X","data_type":"TYPE_FP32","dims":[-1]}],"output":[{"name":"Y","data_type":"TYPE_FP32","dims":[-1]},{"name":"X","data_type":"TYPE_FP32","dims":[-1]}]})"), "");
  for (const std::uint64_t token : {11U, 12U}) {
    Request request(token);
    request.Raw("X", TRITONSERVER_TYPE_FP32, {2}, Floats({1, 2})).Output("X").Output("Y");
    const EventPtr answer = server.Infer(request);
    EXPECT_EQ(Said(answer), "");
    EXPECT_EQ(Bytes(*answer, "Y"), Floats({1, 2, 1, 2}));
    EXPECT_EQ(Bytes(*answer, "X"), Floats({1, 2}));
  }
  EXPECT_EQ(server.Count(TRITONHOST_EVENT_VIOLATION), 0U);
}

TEST(Onnx, says_what_is_wrong_with_a_request_and_goes_on) {
  Server server(Model(Node("Add", {"A", "B"}, "Y") + Input("A", FLOAT, {"n", "2"}) + Input("B", FLOAT, {"n", "2"}) + Output("Y", FLOAT, {"n", "2"})));
  EXPECT_EQ(server.ServeModel(R"({"name":"m"})"), "");
  Request lacking(11), wrong(12), unknown(13), good(14);
  lacking.Raw("A", TRITONSERVER_TYPE_FP32, {1, 2}, Floats({1, 2})).Output("Y");
  EXPECT_EQ(Said(server.Infer(lacking)), "request lacks input 'B' of model 'm'");
  wrong.Raw("A", TRITONSERVER_TYPE_FP32, {1, 3}, Floats({1, 2, 3})).Raw("B", TRITONSERVER_TYPE_FP32, {1, 2}, Floats({1, 2})).Output("Y");
  EXPECT_CONTAINS(Said(server.Infer(wrong)), "onnx runtime error: Got invalid dimensions for input: A");
  unknown.Raw("A", TRITONSERVER_TYPE_FP32, {1, 2}, Floats({1, 2})).Raw("B", TRITONSERVER_TYPE_FP32, {1, 2}, Floats({1, 2})).Output("Z");
  EXPECT_EQ(Said(server.Infer(unknown)), "model 'm' has no output 'Z'");
  good.Raw("A", TRITONSERVER_TYPE_FP32, {1, 2}, Floats({1, 2})).Raw("B", TRITONSERVER_TYPE_FP32, {1, 2}, Floats({3, 4})).Output("Y");
  EXPECT_EQ(Bytes(*server.Infer(good), "Y"), Floats({4, 6}));
}

TEST(Onnx, writes_the_state_of_a_sequence_in_place_and_answers_it_too_where_asked) {
  Server server(Model(Node("Add", {"X", "S"}, "S_OUT") + Node("Neg", {"S_OUT"}, "Y") + Input("X", FLOAT, {"b", "1"}) + Input("S", FLOAT, {"b", "1"}) +
                      Output("S_OUT", FLOAT, {"b", "1"}) + Output("Y", FLOAT, {"b", "1"})));
  EXPECT_EQ(server.ServeModel(R"({"name":"m","max_batch_size":4,"sequence_batching":{"state":[{"input_name":"S","output_name":"S_OUT","data_type":"TYPE_FP32","dims":[1]}]},
    "input":[{"name":"X","data_type":"TYPE_FP32","dims":[1]}],"output":[{"name":"S_OUT","data_type":"TYPE_FP32","dims":[1]},{"name":"Y","data_type":"TYPE_FP32","dims":[1]}]})"), "");
  Request asked(11), silent(12);
  asked.Raw("X", TRITONSERVER_TYPE_FP32, {1, 1}, Floats({2})).Raw("S", TRITONSERVER_TYPE_FP32, {1, 1}, Floats({3})).Output("S_OUT");
  EXPECT_EQ(Bytes(*server.Infer(asked), "S_OUT"), Floats({5}));
  EXPECT_EQ(Bytes(*server.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, 11), "S_OUT"), Floats({5}));
  silent.Raw("X", TRITONSERVER_TYPE_FP32, {1, 1}, Floats({2})).Raw("S", TRITONSERVER_TYPE_FP32, {1, 1}, Floats({5})).Output("Y");
  EXPECT_EQ(Bytes(*server.Infer(silent), "Y"), Floats({-7}));
  EXPECT_EQ(Bytes(*server.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, 12), "S_OUT"), Floats({7}));
}

TEST(Onnx, ends_a_run_when_its_client_gave_up) {
  // Uncancelled it runs for many seconds, in nodes that end soon also where a processor is emulated.
  std::string nodes;
  const int count = 4'000;
  for (int index = 0; index < count; ++index) {
    nodes += Node("MatMul", {index == 0 ? "X" : "t" + std::to_string(index - 1), "X"}, index == count - 1 ? "Y" : "t" + std::to_string(index));
  }
  Server server(Model(nodes + Input("X", FLOAT, {"512", "512"}) + Output("Y", FLOAT, {"512", "512"})));
  EXPECT_EQ(server.ServeModel(R"({"name":"m","optimization":{"graph":{"level":-1}},"input":[{"name":"X","data_type":"TYPE_FP32","dims":[512,512]}],"output":[{"name":"Y","data_type":"TYPE_FP32","dims":[512,512]}]})"), "");
  for (const std::uint64_t token : {11U, 12U}) {
    Request request(token);
    request.Raw("X", TRITONSERVER_TYPE_FP32, {512, 512}, std::string(512 * 512 * 4, '\0')).Output("Y");
    server.Submit(1, token, {&request});
    Must(tritonhost_cancel(server.host(), 1, token));
    const EventPtr answer = server.Wait(TRITONHOST_EVENT_RESPONSE, token);
    EXPECT_EQ(Said(answer), "request was cancelled while model 'm' ran");
    EXPECT_EQ(answer->error_code, TRITONSERVER_ERROR_CANCELLED);
  }
}

TEST(Onnx, refuses_models_and_settings_with_the_reason) {
  const auto refusal = [](const std::string& model, const std::string& config) { return Server(model).ServeModel(config); };
  EXPECT_CONTAINS(refusal("no model", R"({"name":"m"})"), "onnx runtime error: ");
  EXPECT_EQ(refusal(IDENTITY, R"({"name":"m","parameters":{"intra_op_thread_count":{"string_value":"-2"}}})"),
            "parameter 'intra_op_thread_count' of model 'm' must be a whole number between 0 and 4096, got '-2'");
  EXPECT_EQ(refusal(IDENTITY, R"({"name":"m","input":[{"name":"Q","data_type":"TYPE_FP32","dims":[1]}],"output":[{"name":"Y","data_type":"TYPE_FP32","dims":[1]}]})"),
            "unexpected inference input 'Q', allowed inputs are: X");
  EXPECT_EQ(refusal(IDENTITY, R"({"name":"m","input":[{"name":"X","data_type":"TYPE_INT32","dims":[1]}],"output":[{"name":"Y","data_type":"TYPE_FP32","dims":[1]}]})"),
            "unable to load model 'm', configuration expects datatype TYPE_INT32 for input 'X', model provides TYPE_FP32");
  EXPECT_EQ(refusal(Model(Node("Identity", {"X"}, "Y") + Input("X", INT32, {"3"}) + Output("Y", INT32, {"3"})), R"({"name":"m","max_batch_size":2})"),
            "autofill failed for model 'm': model does not support batching while non-zero max_batch_size is specified");
  Server strict(IDENTITY);
  EXPECT_EQ(Said(strict.LoadModel(R"({"name":"m"})", false)),
            "model 'm' must list its inputs and outputs in config.pbtxt because the server runs with --disable-auto-complete-config");
}

TEST(Onnx, keeps_optimized_models_and_makes_broken_ones_anew) {
  Repository cache("");
  const std::string directory = cache.path() + "/kept";
  const std::string config = R"({"name":"m","parameters":{"optimization_cache_directory":{"string_value":")" + directory + R"("},"session.intra_op.allow_spinning":{"string_value":"0"}},
    "max_batch_size":0,"input":[{"name":"X","data_type":"TYPE_FP32","dims":[-1,-1]}],"output":[{"name":"Y","data_type":"TYPE_FP32","dims":[-1,-1]}]})";
  const auto files = [&] { return std::vector<fs::path>(fs::directory_iterator(directory), fs::directory_iterator()); };
  // Loaded twice from one server, so that the file is the same.
  Server server(Model(Node("Add", {"X", "X"}, "Y") + Input("X", FLOAT, {"a", "b"}) + Output("Y", FLOAT, {"a", "b"})));
  EXPECT_EQ(server.ServeModel(config), "");
  EXPECT_EQ(files().size(), 1U);
  const fs::path file = files().front();
  const auto written = fs::last_write_time(file);
  EXPECT_EQ(Said(server.AddInstance(2, 1, "m_1")), "");
  EXPECT(fs::last_write_time(file) == written);
  std::ofstream(file, std::ios::binary) << "broken";
  EXPECT_EQ(Said(server.AddInstance(3, 1, "m_2")), "");
  EXPECT_EQ(files().size(), 1U);
  EXPECT(fs::file_size(file) > 10);
  for (const std::uint64_t instance : {1U, 2U, 3U}) {
    Request request(10 + instance);
    request.Raw("X", TRITONSERVER_TYPE_FP32, {1, 2}, Floats({1, 2})).Output("Y");
    server.Submit(instance, 50 + instance, {&request});
    EXPECT_EQ(Bytes(*server.Wait(TRITONHOST_EVENT_RESPONSE, 10 + instance), "Y"), Floats({2, 4}));
  }
}

// A process of its own: the library is opened once.
TEST(OnnxLibrary, says_how_to_get_a_missing_library_and_finds_it_afterwards) {
  const auto load = [](const char* settings) {
    Repository repository(IDENTITY);
    Rig rig({PRODUCT_BACKENDS});
    return Said(rig.Load(1, "onnxruntime", [&](TritonHostModelOptions& options) {
      options.directory = repository.path().c_str();
      options.backend_config_json = settings;
      options.auto_complete_config = true;
    }));
  };
  EXPECT_CONTAINS(load(R"({"cmdline":{"library-path":"/nowhere/libonnxruntime.so"}})"), "ONNX Runtime could not be opened (/nowhere/libonnxruntime.so: cannot open shared object file");
  EXPECT_CONTAINS(load(R"({"cmdline":{"library-path":"/nowhere/libonnxruntime.so"}})"), "set ORT_DYLIB_PATH to the file libonnxruntime.so of version 1.15 or later");
  EXPECT_CONTAINS(load(R"({"cmdline":{"library-path":"libc.so.6"}})"), "'libc.so.6' is no ONNX Runtime");
  setenv("ORT_DYLIB_PATH", TEST_ONNXRUNTIME, 1);
  // With pools for all sessions, as one that is opened the first time can have.
  EXPECT_EQ(load(R"({"cmdline":{"enable-global-threadpool":"1","intra_op_thread_count":"1"}})"), "");
  EXPECT_EQ(std::string(getenv("ORT_DISABLE_TELEMETRY")), "1");
}

// 64 KB each, a multiple of the alignment: the run writes to the responses, which lie end to end.
TEST(Onnx, writes_large_outputs_of_a_batch_straight_into_its_responses) {
  Server server(IDENTITY);
  EXPECT_EQ(server.ServeModel(R"({"name":"m"})"), "");
  constexpr std::int64_t WIDTH = 16 << 10;
  std::vector<float> values(WIDTH, 1);
  Request one(21), two(22), other(23);
  one.Raw("X", TRITONSERVER_TYPE_FP32, {1, WIDTH}, Floats(values)).Output("Y");
  values.assign(WIDTH, 2);
  two.Raw("X", TRITONSERVER_TYPE_FP32, {1, WIDTH}, Floats(values)).Output("Y");
  server.Submit(1, 100, {&one, &two});
  const EventPtr first = server.Wait(TRITONHOST_EVENT_RESPONSE, 21), second = server.Wait(TRITONHOST_EVENT_RESPONSE, 22);
  EXPECT_EQ(Bytes(*second, "Y"), Floats(values));
  const auto* const start = static_cast<const char*>(first->tensors[0].buffers[0].data);
  EXPECT(second->tensors[0].buffers[0].data == start + WIDTH * sizeof(float));
  // Unequal shares lie each by itself.
  values.assign(2 * WIDTH, 3);
  Request again(24);
  other.Raw("X", TRITONSERVER_TYPE_FP32, {2, WIDTH}, Floats(values)).Output("Y");
  again.Raw("X", TRITONSERVER_TYPE_FP32, {1, WIDTH}, Floats(std::vector<float>(WIDTH, 4))).Output("Y");
  server.Submit(1, 101, {&other, &again});
  EXPECT_EQ(Bytes(*server.Wait(TRITONHOST_EVENT_RESPONSE, 23), "Y"), Floats(values));
  EXPECT_EQ(Bytes(*server.Wait(TRITONHOST_EVENT_RESPONSE, 24), "Y"), Floats(std::vector<float>(WIDTH, 4)));
}

TEST(Onnx, keeps_the_data_of_a_response_beyond_its_event_and_the_host) {
  TritonHostMemory* kept = nullptr;
  const void* data = nullptr;
  constexpr std::int64_t WIDTH = 16 << 10;
  const std::vector<float> values(WIDTH, 5);
  {
    Server server(IDENTITY);
    EXPECT_EQ(server.ServeModel(R"({"name":"m"})"), "");
    Request one(31), two(32);
    one.Raw("X", TRITONSERVER_TYPE_FP32, {1, WIDTH}, Floats(values)).Output("Y");
    two.Raw("X", TRITONSERVER_TYPE_FP32, {1, WIDTH}, Floats(values)).Output("Y");
    server.Submit(1, 100, {&one, &two});
    const EventPtr response = server.Wait(TRITONHOST_EVENT_RESPONSE, 32);
    EXPECT(tritonhost_keep_tensor(response.get(), 1) == nullptr);
    kept = tritonhost_keep_tensor(response.get(), 0);
    data = response->tensors[0].buffers[0].data;
  }
  EXPECT_EQ(std::string(static_cast<const char*>(data), WIDTH * sizeof(float)), Floats(values));
  tritonhost_memory_free(kept);
}
