// A backend that asks the server it runs in. The embedder here answers by hand, or with another model of the same host.
#include "rig.h"

using namespace rig;

namespace {

TritonHostReply Reply() {
  TritonHostReply reply{};
  reply.model_version = 1;
  return reply;
}

Request Ask(const char* what, const char* target) {
  Request request(1);
  request.Do(what).Text("target", target);
  return request;
}

std::string Answered(Rig& rig, const char* what, TritonHostQuestion question, std::uint32_t value, const char* error = nullptr) {
  Request request = Ask(what, "other");
  rig.Submit(1, 1, {&request});
  const EventPtr asked = rig.WaitAny(TRITONHOST_EVENT_QUESTION);
  EXPECT_EQ(asked->question, question);
  EXPECT_EQ(std::string(asked->name), "other");
  EXPECT_EQ(asked->model, 1U);
  Must(tritonhost_answer(rig.host(), asked->token, TRITONSERVER_ERROR_NOT_FOUND, error, value, nullptr));
  EXPECT_CONTAINS(Said(tritonhost_answer(rig.host(), asked->token, TRITONSERVER_ERROR_UNKNOWN, nullptr, 0, nullptr)), "is not open");
  const EventPtr response = rig.Wait(TRITONHOST_EVENT_RESPONSE, 1);
  rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 1);
  return response->has_error ? response->error_message : Text(*response, "said");
}

}  // namespace

TEST(Bls, asks_questions_and_waits_for_the_answer) {
  Rig rig;
  rig.Serve(1, "bls");
  EXPECT_EQ(Answered(rig, "ready", TRITONHOST_QUESTION_MODEL_READY, 1), "ready");
  EXPECT_EQ(Answered(rig, "ready", TRITONHOST_QUESTION_MODEL_READY, 0), "not ready");
  EXPECT_EQ(Answered(rig, "ready", TRITONHOST_QUESTION_MODEL_READY, 0, "no such model"), "Not found: no such model");
  EXPECT_EQ(Answered(rig, "transaction", TRITONHOST_QUESTION_MODEL_TRANSACTION, TRITONSERVER_TXN_DECOUPLED), "decoupled");
  EXPECT_EQ(Answered(rig, "unload", TRITONHOST_QUESTION_UNLOAD_MODEL, 0), "unloaded");
  EXPECT_EQ(Answered(rig, "unload_all", TRITONHOST_QUESTION_UNLOAD_MODEL_AND_DEPENDENTS, 0), "all unloaded");
}

TEST(Bls, loads_a_model_with_config_and_files) {
  Rig rig;
  rig.Serve(1, "bls");
  Request request = Ask("load", "fresh");
  rig.Submit(1, 1, {&request});
  const EventPtr asked = rig.WaitAny(TRITONHOST_EVENT_QUESTION);
  EXPECT_EQ(asked->question, TRITONHOST_QUESTION_LOAD_MODEL);
  EXPECT_EQ(Text(*asked, "config"), "{}");
  EXPECT_EQ(Text(*asked, "file:1/model"), std::string("a\0b", 3));
  Must(tritonhost_answer(rig.host(), asked->token, TRITONSERVER_ERROR_UNKNOWN, nullptr, 0, nullptr));
  EXPECT_EQ(Text(*rig.Wait(TRITONHOST_EVENT_RESPONSE, 1), "said"), "loaded");
}

TEST(Bls, sends_a_request_and_gets_the_answer) {
  Rig rig;
  rig.Serve(1, "bls");
  Request request = Ask("infer", "target");
  request.Input("X", {{1, 2, 3}});
  request.c.trace_id = 9;
  rig.Submit(1, 1, {&request});
  const EventPtr infer = rig.WaitText(TRITONHOST_EVENT_INFER, "from bls");
  EXPECT_EQ(std::string(infer->name), "target");
  EXPECT_EQ(infer->version, -1);
  EXPECT_EQ(infer->flags, static_cast<std::uint32_t>(TRITONSERVER_REQUEST_FLAG_SEQUENCE_START));
  EXPECT_EQ(std::string(infer->correlation_string), "five");
  EXPECT_EQ(infer->timeout_us, 2'000'000U);
  EXPECT_EQ(Text(*infer, "color"), "red");
  EXPECT_EQ(Text(*infer, "number"), "-3");
  EXPECT_EQ(Text(*infer, "yes"), "true");
  EXPECT_EQ(infer->output_count, 1U);
  EXPECT_EQ(std::string(infer->outputs[0]), "Y");
  EXPECT_EQ(infer->tensors[0].buffer_count, 2U);
  EXPECT_EQ(Numbers(*infer, "X"), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(infer->parent_trace_id, 9U);
  EXPECT(infer->trace_id > 9);

  TritonHostReply reply = Reply();
  const std::int32_t head[] = {7}, tail[] = {8, 9};
  const TritonHostBuffer pieces[] = {{head, sizeof head}, {nullptr, 0}, {tail, sizeof tail}};
  const std::int64_t shape[] = {3}, none[] = {0};
  const TritonHostTensor outputs[] = {{"Y", TRITONSERVER_TYPE_INT32, shape, 1, pieces, 3}, {"EMPTY", TRITONSERVER_TYPE_INT32, none, 1, nullptr, 0}};
  reply.outputs = outputs;
  reply.output_count = 2;
  const TritonHostParameter parameter{"mood", TRITONSERVER_PARAMETER_STRING, "fine", 4, 0, false, 0};
  reply.parameters = &parameter;
  reply.parameter_count = 1;
  Must(tritonhost_release_infer(rig.host(), infer->token));
  EXPECT_CONTAINS(Said(tritonhost_release_infer(rig.host(), infer->token)), "is not held");
  Must(tritonhost_respond(rig.host(), infer->token, &reply, TRITONSERVER_RESPONSE_COMPLETE_FINAL));
  EXPECT_CONTAINS(Said(tritonhost_respond(rig.host(), infer->token, &reply, 1)), "is not open");
  const EventPtr response = rig.Wait(TRITONHOST_EVENT_RESPONSE, 1);
  EXPECT_EQ(Numbers(*response, "Y"), (std::vector<std::int32_t>{7, 8, 9}));
  EXPECT_EQ(Text(*response, "said"), "mood=fine;");
}

TEST(Bls, traces_a_request_of_its_own) {
  Rig rig;
  rig.Serve(1, "bls");
  Request request = Ask("infer", "target");
  request.Input("X", {{1}}).Text("trace", "own");
  rig.Submit(1, 1, {&request});
  const EventPtr infer = rig.WaitText(TRITONHOST_EVENT_INFER, "from bls");
  EXPECT_EQ(infer->trace_id, 0U);
  const TritonHostReply reply = Reply();
  Must(tritonhost_respond(rig.host(), infer->token, &reply, TRITONSERVER_RESPONSE_COMPLETE_FINAL));
  Must(tritonhost_release_infer(rig.host(), infer->token));
  EXPECT_EQ(Text(*rig.Wait(TRITONHOST_EVENT_RESPONSE, 1), "said"), "REQUEST_START of from bls to target -1;REQUEST_END of from bls to target 1;");
}

TEST(Bls, gets_several_responses_of_a_decoupled_model_and_the_flags_alone) {
  Rig rig;
  rig.Serve(1, "bls");
  Request request = Ask("infer", "target");
  request.Input("X", {{1}});
  rig.Submit(1, 1, {&request});
  const EventPtr infer = rig.WaitText(TRITONHOST_EVENT_INFER, "from bls");
  for (std::int32_t number = 0; number < 3; ++number) {
    TritonHostReply reply = Reply();
    const TritonHostBuffer piece{&number, sizeof number};
    const std::int64_t shape[] = {1};
    const TritonHostTensor output{"Y", TRITONSERVER_TYPE_INT32, shape, 1, &piece, 1};
    reply.outputs = &output;
    reply.output_count = 1;
    Must(tritonhost_respond(rig.host(), infer->token, &reply, 0));
  }
  Must(tritonhost_respond(rig.host(), infer->token, nullptr, TRITONSERVER_RESPONSE_COMPLETE_FINAL));
  Must(tritonhost_release_infer(rig.host(), infer->token));
  EXPECT_EQ(Numbers(*rig.Wait(TRITONHOST_EVENT_RESPONSE, 1), "Y"), (std::vector<std::int32_t>{0, 1, 2}));
}

TEST(Bls, passes_on_an_error_and_a_cancellation) {
  Rig rig;
  rig.Serve(1, "bls");
  Request request = Ask("cancel", "target");
  request.Input("X", {{1}});
  rig.Submit(1, 1, {&request});
  const EventPtr infer = rig.WaitText(TRITONHOST_EVENT_INFER, "from bls");
  rig.Wait(TRITONHOST_EVENT_INFER_CANCELLED, infer->token);
  TritonHostReply reply = Reply();
  reply.error_code = TRITONSERVER_ERROR_CANCELLED;
  reply.error_message = "was cancelled";
  Must(tritonhost_respond(rig.host(), infer->token, &reply, TRITONSERVER_RESPONSE_COMPLETE_FINAL));
  Must(tritonhost_release_infer(rig.host(), infer->token));
  EXPECT_EQ(std::string(rig.Wait(TRITONHOST_EVENT_RESPONSE, 1)->error_message), "Cancelled: was cancelled");
}

TEST(Bls, contains_what_callbacks_throw) {
  Rig rig;
  rig.Serve(1, "bls");
  const std::int64_t shape[] = {1};
  const std::int32_t number = 7;
  const TritonHostBuffer buffer{&number, sizeof number};
  const TritonHostTensor output{"Y", TRITONSERVER_TYPE_INT32, shape, 1, &buffer, 1};
  TritonHostReply reply = Reply();
  reply.outputs = &output;
  reply.output_count = 1;
  const auto answered = [&](const char* what) {
    Request request = Ask(what, "target");
    request.Input("X", {{1}});
    rig.Submit(1, 1, {&request});
    const EventPtr infer = rig.WaitText(TRITONHOST_EVENT_INFER, "from bls");
    Must(tritonhost_respond(rig.host(), infer->token, &reply, TRITONSERVER_RESPONSE_COMPLETE_FINAL));
    Must(tritonhost_release_infer(rig.host(), infer->token));
    const EventPtr response = rig.Wait(TRITONHOST_EVENT_RESPONSE, 1);
    rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 1);
    return response->has_error ? std::string(response->error_message) : "";
  };
  EXPECT_EQ(answered("throw_in_allocate"), "Internal: a response allocator threw something that is no std::exception");
  for (const char* const callback : {"throw_in_response", "throw_in_release"}) {
    EXPECT_EQ(answered(callback), "");
    rig.WaitText(TRITONHOST_EVENT_LOG, "a callback of a backend threw something that is no std::exception on thread 'bls bls'");
  }
  // The end of the host releases the request, and is not held up by a release callback that throws.
  Request last = Ask("throw_in_release", "target");
  last.Input("X", {{1}});
  rig.Submit(1, 1, {&last});
  rig.WaitText(TRITONHOST_EVENT_INFER, "from bls");
}

TEST(Bls, reaches_another_model_of_the_same_host) {
  Rig rig;
  rig.Serve(1, "bls");
  rig.Serve(2, "batching");
  Request request = Ask("infer", "batching");
  request.Input("X", {{10, 20}, {30}});
  rig.Submit(1, 1, {&request});
  const EventPtr infer = rig.WaitText(TRITONHOST_EVENT_INFER, "from bls");
  // The tensors of the one are the inputs of the other, uncopied: released when that releases them.
  TritonHostRequest inner{};
  inner.token = 1000;
  inner.id = infer->text;
  inner.inputs = infer->tensors;
  inner.input_count = infer->tensor_count;
  Must(tritonhost_submit(rig.host(), 2, 5, &inner, 1));
  const EventPtr answer = rig.Wait(TRITONHOST_EVENT_RESPONSE, 1000);
  rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, 1000);
  Must(tritonhost_release_infer(rig.host(), infer->token));
  TritonHostReply reply = Reply();
  reply.outputs = answer->tensors;
  reply.output_count = answer->tensor_count;
  Must(tritonhost_respond(rig.host(), infer->token, &reply, answer->flags));
  EXPECT_EQ(Numbers(*rig.Wait(TRITONHOST_EVENT_RESPONSE, 1), "Y"), (std::vector<std::int32_t>{20, 40, 60}));
}

TEST(Bls, is_let_go_when_the_host_ends) {
  Rig rig;
  rig.Serve(1, "bls");
  Request asking = Ask("ready", "target");
  rig.Submit(1, 1, {&asking});
  rig.WaitAny(TRITONHOST_EVENT_QUESTION);
  rig.Serve(2, "bls");
  Request sending(2);
  sending.Do("infer").Text("target", "t").Input("X", {{1}});
  rig.Submit(2, 2, {&sending});
  rig.WaitText(TRITONHOST_EVENT_INFER, "from bls");
}
