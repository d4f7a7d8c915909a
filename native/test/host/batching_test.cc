// Batching libraries: where they are found, what they are told and say, what they may do wrong.
#include <filesystem>

#include "rig.h"

using namespace rig;

namespace {

constexpr const char* kConfig = R"({"name":"m","parameters":{"max_volume":{"string_value":"4"}}})";
const std::string kVolume = std::string(BATCHING_LIBRARIES) + "/volume.so";

std::string ErrorOf(const EventPtr& event) { return event->has_error ? event->error_message : ""; }

// The path of the library that the model of token 1 gets; its error; or "none".
std::string Opened(Rig& rig, const char* library, const char* config = kConfig, const char* directory = "/nowhere/model") {
  EXPECT_EQ(ErrorOf(rig.Load(1, "minimal", [&](TritonHostModelOptions& options) {
    options.config_json = config;
    options.directory = directory;
  })), "");
  Must(tritonhost_open_batcher(rig.host(), 1, library));
  const EventPtr opened = rig.Wait(TRITONHOST_EVENT_BATCHER_OPENED, 1);
  return opened->has_error ? opened->error_message : opened->text == nullptr ? "none" : opened->text;
}

bool Includes(Rig& rig, std::uint64_t batch, const char* id, std::vector<std::int32_t> numbers) {
  Request request(1);
  request.Id(id).Input("X", {std::move(numbers)});
  bool included = false;
  Must(tritonhost_include_request(rig.host(), 1, batch, &request.Sealed(), &included));
  return included;
}

std::string Misbehaves(Rig& rig, std::uint64_t batch, const char* how) {
  Request request(1);
  request.Id("bad").Input("X", {{1}}).Text("batch", how);
  bool included = true;
  const std::string said = Said(tritonhost_include_request(rig.host(), 1, batch, &request.Sealed(), &included));
  EXPECT(!included);
  return said;
}

}  // namespace

TEST(Batching, a_library_says_who_joins_a_batch_and_keeps_count_of_each) {
  Rig rig;
  EXPECT_EQ(Opened(rig, kVolume.c_str()), kVolume);
  Must(tritonhost_begin_batch(rig.host(), 1, 10));
  EXPECT(Includes(rig, 10, "a", {1, 2, 3}));
  Must(tritonhost_begin_batch(rig.host(), 1, 11));
  EXPECT(!Includes(rig, 10, "b", {1, 2}));
  EXPECT(Includes(rig, 11, "b", {1, 2}));
  EXPECT(Includes(rig, 10, "c", {1}));
  // What it kept of the first request it may still read.
  Must(tritonhost_end_batch(rig.host(), 1, 10));
  EXPECT_EQ(rig.WaitText(TRITONHOST_EVENT_LOG, "batch of 4 from a")->model, 1U);
  EXPECT_CONTAINS(Said(tritonhost_end_batch(rig.host(), 1, 10)), "batch 10 of model 'minimal' has begun already, has ended, or its model is being unloaded");
  EXPECT_CONTAINS(Said(tritonhost_begin_batch(rig.host(), 1, 11)), "batch 11 of model 'minimal' has begun already");
  // What is left ends with the model.
  Must(tritonhost_unload_model(rig.host(), 1));
  rig.WaitText(TRITONHOST_EVENT_LOG, "batch of 2 from b");
  rig.WaitText(TRITONHOST_EVENT_LOG, "finalize batcher");
  rig.Wait(TRITONHOST_EVENT_MODEL_UNLOADED, 1);
  EXPECT_CONTAINS(Said(tritonhost_begin_batch(rig.host(), 1, 12)), "no model with a batching library has the token 1");
}

TEST(Batching, a_library_is_found_beside_version_model_or_backend) {
  std::string pattern = (std::filesystem::temp_directory_path() / "triton-batcher-XXXXXX").string();
  EXPECT(mkdtemp(pattern.data()) != nullptr);
  const std::filesystem::path folder = pattern;
  std::filesystem::create_directories(folder / "1");
  const auto opened = [&] {
    Rig rig;
    return Opened(rig, nullptr, kConfig, folder.c_str());
  };
  EXPECT_EQ(opened(), "none");
  // The backend's own folder comes last: here the model's folder holds the backend.
  std::filesystem::copy_file(std::string(FIXTURE_BACKENDS) + "/minimal/libtriton_minimal.so", folder / "libtriton_minimal.so");
  std::filesystem::copy_file(kVolume, folder / "batchstrategy.so");
  EXPECT_EQ(opened(), (folder / "batchstrategy.so").string());
  std::filesystem::copy_file(kVolume, folder / "1/batchstrategy.so");
  EXPECT_EQ(opened(), (folder / "1/batchstrategy.so").string());
  std::filesystem::remove_all(folder);
}

TEST(Batching, says_why_a_library_cannot_be_used) {
  const auto said = [](const std::string& library, const char* config = kConfig) {
    Rig rig;
    return Opened(rig, library.c_str(), config);
  };
  EXPECT_EQ(said("/nowhere/volume.so"), "batching library '/nowhere/volume.so' of model 'minimal' is not there: parameter TRITON_BATCH_STRATEGY_PATH must be the path of a file on the server");
  const std::string partial = std::string(BATCHING_LIBRARIES) + "/partial.so";
  EXPECT_EQ(said(partial), "batching library '" + partial + "' of model 'minimal' does not define TRITONBACKEND_ModelBatchFinalize: it must define all five functions of custom batching");
  EXPECT_CONTAINS(said("/proc/self/status"), "unable to load batching library '/proc/self/status' of model 'minimal': ");
  EXPECT_EQ(said(kVolume, "{}"), "the model has no parameter max_volume");
}

TEST(Batching, what_a_library_does_wrong_is_an_error_of_the_call) {
  Rig rig;
  EXPECT_EQ(Opened(rig, kVolume.c_str()), kVolume);
  Must(tritonhost_begin_batch(rig.host(), 1, 10));
  EXPECT_EQ(Misbehaves(rig, 10, "fail"), "told to fail");
  EXPECT_EQ(Misbehaves(rig, 10, "throw"), "batching library '" + kVolume + "' threw an exception out of TRITONBACKEND_ModelBatchIncludeRequest: out of order");
  EXPECT_CONTAINS(Misbehaves(rig, 10, "ask"), "the server cannot be asked from here: this is the thread that would answer");
  EXPECT_CONTAINS(Misbehaves(rig, 10, "release"), "TRITONBACKEND_RequestRelease: request 'bad' of model 'minimal' waits for its batch: a batching library may only read it");
  EXPECT(Includes(rig, 10, "good", {1, 2, 3, 4}));
  Must(tritonhost_open_batcher(rig.host(), 1, kVolume.c_str()));
  EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_BATCHER_OPENED, 1)), "model 'minimal' has its batching library already");
  EXPECT_CONTAINS(Said(tritonhost_open_batcher(rig.host(), 2, nullptr)), "no initialized model has the token 2");
}
