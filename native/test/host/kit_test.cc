// The kit of our own backends, through a backend made of it; and the JSON reader.
#include <cstring>

#include "rig.h"
#include "shared/json.h"

using namespace rig;
using npu_console::Json;

namespace {

void ServeKit(Rig& rig, const std::string& config, const char* settings = R"({"cmdline":{}})") {
  rig.Serve(1, "kit", [&](TritonHostModelOptions& options) {
    options.config_json = config.c_str();
    options.backend_config_json = settings;
    static const char* const states[] = {"S_OUT"};
    options.states = states;
    options.state_count = 1;
  });
}

std::string Refusal(const std::string& config, const char* settings = R"({"cmdline":{}})") {
  Rig rig;
  const EventPtr loaded = rig.Load(1, "kit", [&](TritonHostModelOptions& options) {
    options.config_json = config.c_str();
    options.backend_config_json = settings;
  });
  return loaded->has_error ? loaded->error_message : "";
}

const std::string BATCHING = R"({"name":"m","max_batch_size":8,"output":[{"name":"OX","data_type":"TYPE_INT32","dims":["-1"]}]})";

Request& Ask(Request& request, const char* output, const char* input, std::vector<std::vector<std::int32_t>> pieces) {
  return request.Input(input, std::move(pieces)).Output(output);
}

}  // namespace

TEST(Kit, puts_requests_together_and_gives_each_its_share_of_what_it_asked_for) {
  Rig rig;
  ServeKit(rig, BATCHING, R"({"cmdline":{"scale":"3"}})");
  Request first(11), second(12), third(13);
  Ask(first, "OX", "X", {{1}, {2, 3}});
  Ask(second, "OX", "X", {{4}});
  third.Input("X", {{5, 6}}).Output("other");
  rig.Submit(1, 50, {&first, &second, &third});
  const EventPtr one = rig.Wait(TRITONHOST_EVENT_RESPONSE, 11), two = rig.Wait(TRITONHOST_EVENT_RESPONSE, 12), three = rig.Wait(TRITONHOST_EVENT_RESPONSE, 13);
  EXPECT_EQ(Numbers(*one, "OX"), (std::vector<std::int32_t>{3, 6, 9}));
  EXPECT_EQ(one->tensors[0].shape[0], 3);
  EXPECT_EQ(Numbers(*two, "OX"), (std::vector<std::int32_t>{12}));
  EXPECT(!three->has_error);
  EXPECT_EQ(three->tensor_count, 0U);
  for (const std::uint64_t token : {11U, 12U, 13U}) {
    const EventPtr released = rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, token);
    EXPECT(released->has_times && released->success);
    EXPECT(released->times[0] <= released->times[1] && released->times[1] <= released->times[2] && released->times[2] <= released->times[3]);
  }
  EXPECT_EQ(rig.Wait(TRITONHOST_EVENT_BATCH_STATISTICS, 1)->batch_size, 6U);
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_VIOLATION), 0U);
}

TEST(Kit, shares_out_strings_and_refuses_those_that_end_early) {
  Rig rig;
  ServeKit(rig, R"({"name":"m","max_batch_size":4})");
  const std::string a("\3\0\0\0abc\0\0\0\0", 11), b("\1\0\0\0z", 5), broken("\7\0\0\0z", 5);
  Request first(11), second(12);
  first.Raw("T", TRITONSERVER_TYPE_BYTES, {2, 1}, a).Output("OT");
  second.Raw("T", TRITONSERVER_TYPE_BYTES, {1, 1}, b).Output("OT");
  rig.Submit(1, 50, {&first, &second});
  EXPECT_EQ(Bytes(*rig.Wait(TRITONHOST_EVENT_RESPONSE, 11), "OT"), a);
  EXPECT_EQ(Bytes(*rig.Wait(TRITONHOST_EVENT_RESPONSE, 12), "OT"), b);
  Request bad(13);
  bad.Raw("T", TRITONSERVER_TYPE_BYTES, {1, 1}, broken).Output("OT");
  rig.Submit(1, 51, {&bad});
  EXPECT_CONTAINS(rig.Wait(TRITONHOST_EVENT_RESPONSE, 13)->error_message, "a string tensor ends inside an element");
}

TEST(Kit, fails_a_wrong_request_alone_and_all_where_the_run_fails) {
  Rig rig;
  ServeKit(rig, BATCHING);
  Request good(11), short_one(12), unlike(13), told(14);
  good.Input("X", {{1}}).Input("F", {{0}}).Output("OX");
  short_one.Raw("X", TRITONSERVER_TYPE_INT32, {2}, "1234").Input("F", {{0}}).Output("OX");
  unlike.Raw("X", TRITONSERVER_TYPE_INT32, {1, 1}, "1234").Input("F", {{0}}).Output("OX");
  told.Input("X", {{9}}).Input("F", {{1}}).Output("OX");
  rig.Submit(1, 50, {&good, &short_one, &unlike, &told});
  EXPECT_EQ(Numbers(*rig.Wait(TRITONHOST_EVENT_RESPONSE, 11), "OX"), (std::vector<std::int32_t>{1}));
  EXPECT_EQ(std::string(rig.Wait(TRITONHOST_EVENT_RESPONSE, 12)->error_message), "input 'X' of shape [2] is 8 bytes, but came with 4");
  EXPECT_EQ(std::string(rig.Wait(TRITONHOST_EVENT_RESPONSE, 13)->error_message), "input 'X' has shape [1,1], unlike [1] in the other requests of its batch");
  const EventPtr unavailable = rig.Wait(TRITONHOST_EVENT_RESPONSE, 14);
  EXPECT_EQ(unavailable->error_code, TRITONSERVER_ERROR_UNAVAILABLE);
  EXPECT_EQ(rig.Wait(TRITONHOST_EVENT_BATCH_STATISTICS, 1)->batch_size, 1U);

  // 2^61 numbers of 8 bytes: 2^64, which is 0 where nobody looks.
  Request vast(15), no_batch(16);
  vast.Raw("X", TRITONSERVER_TYPE_INT64, {1, std::int64_t{1} << 61}, "").Output("OX");
  rig.Submit(1, 53, {&vast});
  EXPECT_EQ(std::string(rig.Wait(TRITONHOST_EVENT_RESPONSE, 15)->error_message), "shape [1,2305843009213693952] of INT64 has more bytes than a machine can have");
  no_batch.Input("X", {{1}}).Raw("F", TRITONSERVER_TYPE_INT32, {}, "1234").Output("OX");
  rig.Submit(1, 54, {&no_batch});
  EXPECT_EQ(std::string(rig.Wait(TRITONHOST_EVENT_RESPONSE, 16)->error_message), "input 'F' has no batch dimension");

  Request whole(21), other(22), half(23);
  whole.Input("X", {{1}}).Input("F", {{2}}).Output("OX");
  other.Input("X", {{1}}).Input("F", {{0}}).Output("OX");
  rig.Submit(1, 51, {&whole, &other});
  for (const std::uint64_t token : {21U, 22U}) EXPECT_EQ(std::string(rig.Wait(TRITONHOST_EVENT_RESPONSE, token)->error_message), "the batch was told to fail");
  half.Input("X", {{1}}).Input("F", {{3}}).Output("OX");
  rig.Submit(1, 52, {&half});
  const EventPtr thrown = rig.Wait(TRITONHOST_EVENT_RESPONSE, 23);
  EXPECT_EQ(std::string(thrown->error_message), "thrown half way");
  EXPECT_EQ(thrown->tensor_count, 0U);
  EXPECT(!rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, 23)->success);
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_VIOLATION), 0U);
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_BATCH_STATISTICS), 0U);
}

TEST(Kit, computes_batch_inputs_flattens_ragged_ones_and_scatters_outputs) {
  Rig rig;
  ServeKit(rig, R"({"name":"m","max_batch_size":8,
    "input":[{"name":"X","data_type":"TYPE_INT32","dims":[-1],"allow_ragged_batch":true}],
    "output":[{"name":"OX","data_type":"TYPE_INT32","dims":[-1]}],
    "batch_input":[{"kind":"BATCH_ELEMENT_COUNT","target_name":["C"],"data_type":"TYPE_INT32","source_input":["X"]}],
    "batch_output":[{"kind":"BATCH_SCATTER_WITH_INPUT_SHAPE","target_name":["OX"],"source_input":["X"]}]})");
  Request first(11), second(12);
  first.Raw("X", TRITONSERVER_TYPE_INT32, {1, 2}, std::string("\1\0\0\0\2\0\0\0", 8)).Output("OX").Output("OC");
  second.Raw("X", TRITONSERVER_TYPE_INT32, {1, 1}, std::string("\3\0\0\0", 4)).Output("OX").Output("OC");
  rig.Submit(1, 50, {&first, &second});
  const EventPtr one = rig.Wait(TRITONHOST_EVENT_RESPONSE, 11), two = rig.Wait(TRITONHOST_EVENT_RESPONSE, 12);
  EXPECT_EQ(Numbers(*one, "OX"), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(Numbers(*two, "OX"), (std::vector<std::int32_t>{3}));
  EXPECT_EQ(Numbers(*one, "OC"), (std::vector<std::int32_t>{2}));
  EXPECT_EQ(Numbers(*two, "OC"), (std::vector<std::int32_t>{1}));
}

TEST(Kit, updates_states_and_checks_the_batch_dimension) {
  Rig rig;
  ServeKit(rig, R"({"name":"m","max_batch_size":8,"sequence_batching":{"state":[{"input_name":"S","output_name":"S_OUT","data_type":"TYPE_INT32","dims":[1]}]}})");
  Request request(11), bad(12);
  Ask(request, "OS", "S", {{5}});
  rig.Submit(1, 50, {&request});
  const EventPtr released = rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, 11);
  EXPECT_EQ(Numbers(*released, "S_OUT"), (std::vector<std::int32_t>{5}));
  Ask(bad, "OBAD", "BAD", {{5}});
  rig.Submit(1, 51, {&bad});
  EXPECT_EQ(std::string(rig.Wait(TRITONHOST_EVENT_RESPONSE, 12)->error_message),
            "output 'OBAD' of model 'm' has shape [2], expected its first dimension to be the batch size 1. Set max_batch_size to 0 if this output has no batch dimension");
}

TEST(Kit, says_which_setting_is_wrong_and_reports_memory_and_the_completed_config) {
  EXPECT_EQ(Refusal(R"({"name":"m","parameters":{"scale":{"string_value":"two"}}})"), "parameter 'scale' of model 'm' must be a whole number between 0 and 1000, got 'two'");
  EXPECT_EQ(Refusal(R"({"name":"m"})", R"({"cmdline":{"scale":"-1"}})"),
            "backend setting 'scale', which model 'm' takes, must be a whole number between 0 and 1000, got '-1'");
  EXPECT_EQ(Refusal(R"({"name":"m","parameters":{"find-file":{"string_value":"maybe"}}})"), "parameter 'find-file' of model 'm' must be true or false, got 'maybe'");
  EXPECT_EQ(Refusal(R"({"name":"m","default_model_filename":"../../x","parameters":{"find-file":{"string_value":"On"}}})"),
            "default_model_filename '../../x' of model 'kit' leads outside the version directory");
  EXPECT_EQ(Refusal(R"({"name":"m","parameters":{"find-file":{"string_value":"1"}}})"), "unable to find '/nowhere/model/1/model.kit' for model 'kit'");
  Rig rig;
  const EventPtr loaded = rig.Load(1, "kit", [](TritonHostModelOptions& options) { options.auto_complete_config = true; });
  EXPECT(!loaded->has_error);
  EXPECT_CONTAINS(std::string(loaded->text), R"("max_batch_size":8)");
  const EventPtr memory = rig.Wait(TRITONHOST_EVENT_MEMORY_USAGE, 1);
  EXPECT_EQ(memory->usage_count, 2U);
  EXPECT_EQ(memory->usages[0].byte_size, 4096U);
}

TEST(Kit, json_keeps_whole_numbers_and_text_exactly) {
  Json value;
  std::string problem;
  const std::string text = R"({"a":[9223372036854775807,"-9223372036854775808",1.5,-0.25,1e3],"b":{"c":true,"d":null},"e":"\u00e9\ud83d\ude00\n\""})";
  EXPECT(Json::Parse(text, value, problem));
  EXPECT_EQ(value["a"].IntegerItems(), (std::vector<std::int64_t>{INT64_MAX, INT64_MIN, 0, 0, 1000}));
  EXPECT_EQ(value["e"].String(""), "\xC3\xA9\xF0\x9F\x98\x80\n\"");
  Json again;
  EXPECT(Json::Parse(value.Write(), again, problem));
  EXPECT_EQ(again.Write(), value.Write());
  EXPECT_EQ(value.Write(), "{\"a\":[9223372036854775807,\"-9223372036854775808\",1.5,-0.25,1000],\"b\":{\"c\":true,\"d\":null},\"e\":\"\xC3\xA9\xF0\x9F\x98\x80\\u000a\\\"\"}");
  for (const char* wrong : {"", "{", "[1,]", "{\"a\" 1}", "nul", "\"open", "[1] 2", "\"\\u12\"", "--1", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1"}) EXPECT(!Json::Parse(wrong, again, problem));
}
