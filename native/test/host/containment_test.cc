// What a backend may do wrong, and what then happens: every request is answered once and released once, and what was wrong is said.
#include "rig.h"

using namespace rig;

namespace {

std::string ErrorOf(const EventPtr& event) { return event->has_error ? event->error_message : ""; }

// Sends one request that makes the backend misbehave.
void Misbehave(Rig& rig, const char* how, std::uint64_t token = 1) {
  Request request(token);
  request.Do(how);
  rig.Submit(1, token, {&request});
}

// Serves the misbehaving backend with a batch of two requests, of which the first says how.
void MisbehaveWithTwo(Rig& rig, const char* how) {
  rig.Serve(1, "misbehaving");
  Request first(1), second(2);
  first.Do(how);
  rig.Submit(1, 1, {&first, &second});
}

// The error that the backend got from the API, as it passed it on.
std::string ToldBackend(Rig& rig, const char* how) {
  Misbehave(rig, how);
  const EventPtr response = rig.Wait(TRITONHOST_EVENT_RESPONSE, 1);
  rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, 1);
  rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 1);
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_RESPONSE), 0U);
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_REQUEST_RELEASED), 0U);
  return Text(*response, "error");
}

}  // namespace

TEST(Containment, an_exception_fails_the_batch_and_the_instance_goes_on) {
  Rig rig;
  MisbehaveWithTwo(rig, "throw");
  const std::string text = "backend 'misbehaving' threw an exception out of TRITONBACKEND_ModelInstanceExecute: out of everything";
  for (const std::uint64_t token : {1, 2}) {
    const EventPtr response = rig.Wait(TRITONHOST_EVENT_RESPONSE, token);
    EXPECT_EQ(ErrorOf(response), text);
    EXPECT_EQ(response->error_code, TRITONSERVER_ERROR_INTERNAL);
    EXPECT_EQ(response->flags, 1U);
    rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, token);
  }
  EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 1)), text);
  Misbehave(rig, "throw_number", 3);
  EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_RESPONSE, 3)), "backend 'misbehaving' threw an exception out of TRITONBACKEND_ModelInstanceExecute that is no std::exception");
  Misbehave(rig, "give_back", 4);
  EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_RESPONSE, 4)), "");
}

TEST(Containment, an_exception_after_some_were_answered_fails_the_others_only) {
  Rig rig;
  MisbehaveWithTwo(rig, "throw_after_one");
  EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_RESPONSE, 1)), "");
  EXPECT_CONTAINS(ErrorOf(rig.Wait(TRITONHOST_EVENT_RESPONSE, 2)), "after one");
  rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 1);
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_RESPONSE), 0U);
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_REQUEST_RELEASED), 2U);
}

TEST(Containment, an_error_after_a_release_is_reported) {
  Rig rig;
  MisbehaveWithTwo(rig, "error_after_release");
  EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_RESPONSE, 1)), "");
  EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_RESPONSE, 2)), "too late to fail");
  rig.WaitText(TRITONHOST_EVENT_VIOLATION, "backend 'misbehaving' failed a batch of model 'misbehaving' after releasing 1 of its 2 requests");
}

TEST(Containment, a_request_released_without_a_final_response_is_answered_at_once) {
  Rig rig;
  rig.Serve(1, "misbehaving");
  const std::string text = "backend 'misbehaving' released request 1 of model 'misbehaving' without a final response";
  Misbehave(rig, "no_answer");
  const EventPtr response = rig.Wait(TRITONHOST_EVENT_RESPONSE, 1);
  EXPECT_EQ(ErrorOf(response), text);
  EXPECT_EQ(response->flags, 1U);
  EXPECT_EQ(rig.WaitText(TRITONHOST_EVENT_VIOLATION, text)->token, 1U);
  Misbehave(rig, "not_final");
  EXPECT_EQ(rig.Wait(TRITONHOST_EVENT_RESPONSE, 1)->flags, 0U);
  EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_RESPONSE, 1)), text);
}

TEST(Containment, responses_that_leak_are_found_when_the_instance_goes) {
  // Longer than a busy machine takes to say once that the removal waits.
  Rig::Options options;
  options.leak_grace_ms = 3000;
  Rig rig(options);
  rig.Serve(1, "misbehaving");
  Misbehave(rig, "leak_response", 1);
  Misbehave(rig, "leak_answered", 2);
  rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 2);
  EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_RESPONSE, 2)), "");
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_RESPONSE), 0U);
  Must(tritonhost_remove_instance(rig.host(), 1));
  rig.WaitText(TRITONHOST_EVENT_VIOLATION, "0 requests not released, 2 released with responses or response factories outstanding");
  EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_RESPONSE, 1)),
            "backend 'misbehaving' left 1 responses and 0 response factories of request 1 of model 'misbehaving' undeleted and never answered it");
  EXPECT_EQ(std::string(rig.WaitText(TRITONHOST_EVENT_VIOLATION, "request 2")->text),
            "backend 'misbehaving' left 1 responses and 0 response factories of request 2 of model 'misbehaving' undeleted");
  rig.Wait(TRITONHOST_EVENT_INSTANCE_REMOVED, 1);
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_RESPONSE), 0U);
}

TEST(Containment, an_unload_waits_for_requests_that_the_backend_holds_and_says_so) {
  Rig rig;
  rig.Serve(1, "misbehaving");
  Misbehave(rig, "keep_until_cancelled");
  rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 1);
  Must(tritonhost_unload_model(rig.host(), 1));
  EXPECT_CONTAINS(rig.WaitText(TRITONHOST_EVENT_VIOLATION, "removing instance 'instance_0' of model 'misbehaving' has waited ")->text,
                  "for backend 'misbehaving': 1 requests not released, 0 released");
  rig.WaitText(TRITONHOST_EVENT_VIOLATION, "1 requests not released");
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_MODEL_UNLOADED), 0U);
  EXPECT_CONTAINS(Said(tritonhost_submit(rig.host(), 1, 2, &Request(2).Sealed(), 1)), "no initialized instance has the token 1");
  Must(tritonhost_cancel(rig.host(), 1, 1));
  rig.Wait(TRITONHOST_EVENT_MODEL_UNLOADED, 1);
}

TEST(Containment, a_host_that_must_end_does_not_wait_for_ever) {
  Rig rig;
  rig.Serve(1, "misbehaving");
  Misbehave(rig, "keep_until_cancelled");
  rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 1);
  const std::string said = Said(tritonhost_delete(rig.host(), 100));
  EXPECT_EQ(said, "backends did not let go of models 'misbehaving' within 100 ms: their threads go on until the process exits");
  TritonHostModelOptions options{};
  options.token = 2;
  options.name = options.directory = options.backend = "x";
  options.config_json = "{}";
  EXPECT_EQ(Said(tritonhost_load_model(rig.host(), &options)), "the host is being deleted");
  // It may be asked again.
  Must(tritonhost_cancel(rig.host(), 1, 1));
}

TEST(Containment, what_comes_after_the_release_of_a_request) {
  Rig rig;
  rig.Serve(1, "misbehaving");
  EXPECT_EQ(ToldBackend(rig, "late"), "none");
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_VIOLATION), 0U);
  EXPECT_EQ(ToldBackend(rig, "release_twice"), "TRITONBACKEND_RequestRelease: request 1 of model 'misbehaving' was already released");
  rig.WaitText(TRITONHOST_EVENT_VIOLATION, "backend 'misbehaving' called TRITONBACKEND_RequestRelease: request 1");
  EXPECT_EQ(ToldBackend(rig, "response_after_release"), "TRITONBACKEND_ResponseNew: request 1 of model 'misbehaving' was already released");
  EXPECT_EQ(ToldBackend(rig, "read_after_release"), "TRITONBACKEND_RequestId: request was already released");
}

TEST(Containment, a_second_final_response_is_dropped_and_reported) {
  Rig rig;
  rig.Serve(1, "misbehaving");
  EXPECT_EQ(ToldBackend(rig, "final_twice"), "<none>");
  rig.WaitText(TRITONHOST_EVENT_VIOLATION, "backend 'misbehaving' sent a response to request 1 of model 'misbehaving' after its final response");
}

TEST(Containment, only_a_model_that_may_reschedule_does) {
  Rig rig;
  rig.Serve(1, "misbehaving");
  EXPECT_EQ(ToldBackend(rig, "reschedule"), "Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.");
  rig.Load(2, "misbehaving", [](TritonHostModelOptions& options) { options.may_reschedule = true; });
  rig.AddInstance(2, 2, "i");
  Request request(1);
  request.Do("reschedule");
  rig.Submit(2, 9, {&request});
  EXPECT_EQ(rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, 1)->flags, static_cast<std::uint32_t>(TRITONSERVER_REQUEST_RELEASE_RESCHEDULE));
  rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 9);
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_RESPONSE), 0U);
  // The same request again, as the scheduler does.
  Request again(1);
  again.Do("give_back");
  rig.Submit(2, 10, {&again});
  EXPECT_EQ(rig.Wait(TRITONHOST_EVENT_RESPONSE, 1)->flags, 1U);
}

TEST(Containment, a_state_needs_its_configuration) {
  Rig rig;
  rig.Serve(1, "misbehaving");
  EXPECT_EQ(ToldBackend(rig, "state"), "unable to add state 'S'. State configuration is missing for model 'misbehaving'.");
  rig.Load(2, "misbehaving", [](TritonHostModelOptions& options) {
    static const char* const states[] = {"T"};
    options.states = states;
    options.state_count = 1;
  });
  rig.AddInstance(2, 2, "i");
  Request request(1);
  request.Do("state");
  rig.Submit(2, 9, {&request});
  EXPECT_EQ(Text(*rig.Wait(TRITONHOST_EVENT_RESPONSE, 1), "error"), "state 'S' is not a valid state name.");
}
