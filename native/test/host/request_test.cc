// Batches, tensors, states, statistics, decoupled responses, metrics.
#include "rig.h"

using namespace rig;

TEST(Request, returns_inputs_in_several_pieces_as_one_output) {
  Rig rig;
  rig.Serve(1, "minimal");
  Request request(100);
  request.Id("r1").Input("A", {{1, 2}, {}, {3}}).Input("B", {{}}).Text("color", "red").Int("number", -4);
  rig.Submit(1, 50, {&request});
  const EventPtr response = rig.Wait(TRITONHOST_EVENT_RESPONSE, 100);
  EXPECT(!response->has_error);
  EXPECT_EQ(response->flags, 1U);
  EXPECT_EQ(response->model, 1U);
  EXPECT_EQ(response->instance, 1U);
  EXPECT_EQ(response->tensor_count, 2U);
  EXPECT_EQ(response->tensors[0].buffer_count, 1U);
  EXPECT_EQ(response->tensors[0].dims_count, 1U);
  EXPECT_EQ(response->tensors[0].shape[0], 3);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(response->tensors[0].buffers[0].data) % 64, 0U);
  EXPECT_EQ(Numbers(*response, "A"), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(Numbers(*response, "B"), (std::vector<std::int32_t>{}));
  EXPECT_EQ(Text(*response, "id"), "r1");
  EXPECT_EQ(Text(*response, "color"), "red");
  EXPECT_EQ(Text(*response, "number"), "-4");
  EXPECT_EQ(Text(*response, "correlation"), "0");
  EXPECT_EQ(Text(*response, "is_cancelled"), "false");
  const EventPtr released = rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, 100);
  EXPECT_EQ(released->flags, static_cast<std::uint32_t>(TRITONSERVER_REQUEST_RELEASE_ALL));
  EXPECT(released->has_times && released->success);
  EXPECT_EQ(released->times[2] - released->times[0], 2U);
  EXPECT(!rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 50)->has_error);
  const EventPtr batch = rig.Wait(TRITONHOST_EVENT_BATCH_STATISTICS, 1);
  EXPECT_EQ(batch->batch_size, 1U);
  EXPECT(batch->times[3] >= batch->times[2]);
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_VIOLATION), 0U);
}

TEST(Request, passes_on_sequence_flags_correlation_ids_timeout_outputs_and_cancellation) {
  Rig rig;
  rig.Serve(1, "minimal", [](TritonHostModelOptions& options) {
    static const char* const outputs[] = {"A", "B"};
    options.outputs = outputs;
    options.output_count = 2;
  });
  Request number(1), text(2);
  number.c.correlation_id = 42;
  number.c.flags = TRITONSERVER_REQUEST_FLAG_SEQUENCE_START | TRITONSERVER_REQUEST_FLAG_SEQUENCE_END;
  number.c.timeout_us = 1'500'000;
  text.Id("r2").Output("B");
  text.c.correlation_string = "forty-two";
  rig.Submit(1, 1, {&number, &text});
  const EventPtr first = rig.Wait(TRITONHOST_EVENT_RESPONSE, 1);
  EXPECT_EQ(Text(*first, "correlation"), "42");
  EXPECT_EQ(Text(*first, "flags"), "3");
  EXPECT_EQ(Text(*first, "timeout_s"), "1.500000");
  EXPECT_EQ(Text(*first, "outputs"), "A,B");
  const EventPtr second = rig.Wait(TRITONHOST_EVENT_RESPONSE, 2);
  EXPECT_EQ(Text(*second, "correlation"), "forty-two");
  EXPECT_EQ(Text(*second, "correlation_error"), "[request id: r2] correlation ID in request is not an unsigned int");
  EXPECT_EQ(Text(*second, "is_invalid_argument"), "true");
  EXPECT_EQ(Text(*second, "outputs"), "B");
  // Of requests that are over or were never there: no error.
  Must(tritonhost_cancel(rig.host(), 1, 1));
  Must(tritonhost_cancel(rig.host(), 1, 12345));
}

TEST(Request, fails_one_request_or_the_whole_batch_as_the_backend_says) {
  Rig rig;
  rig.Serve(1, "minimal");
  Request good(1), bad(2);
  bad.Text("fail", "one").Input("A", {{1}});
  rig.Submit(1, 10, {&good, &bad});
  EXPECT(!rig.Wait(TRITONHOST_EVENT_RESPONSE, 1)->has_error);
  const EventPtr failed = rig.Wait(TRITONHOST_EVENT_RESPONSE, 2);
  EXPECT(failed->has_error);
  EXPECT_EQ(failed->error_code, TRITONSERVER_ERROR_INTERNAL);
  EXPECT_EQ(std::string(failed->error_message), "told to fail this one");
  EXPECT_EQ(failed->tensor_count, 0U);
  EXPECT(!rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, 2)->success);
  rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, 1);
  rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 10);

  bad = Request(2);
  bad.Text("fail", "batch");
  rig.Submit(1, 11, {&good, &bad});
  for (const std::uint64_t token : {1, 2}) {
    const EventPtr response = rig.Wait(TRITONHOST_EVENT_RESPONSE, token);
    EXPECT_EQ(response->error_code, TRITONSERVER_ERROR_UNAVAILABLE);
    EXPECT_EQ(std::string(response->error_message), "told to fail the batch");
    EXPECT_EQ(response->flags, 1U);
    EXPECT(!rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, token)->has_times);
  }
  EXPECT_EQ(std::string(rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 11)->error_message), "told to fail the batch");
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_VIOLATION), 0U);
}

TEST(Request, keeps_the_states_of_a_sequence_with_the_embedder) {
  Rig rig;
  rig.Serve(1, "minimal", [](TritonHostModelOptions& options) {
    static const char* const states[] = {"STATE_OUT"};
    options.states = states;
    options.state_count = 1;
  });
  std::vector<std::int32_t> state = {0};
  for (std::int32_t value = 1; value <= 4; ++value) {
    Request request(static_cast<std::uint64_t>(value));
    request.Do("accumulate").Input("STATE_IN", {state}).Input("VALUE", {{value}});
    rig.Submit(1, static_cast<std::uint64_t>(value), {&request});
    rig.Wait(TRITONHOST_EVENT_RESPONSE, static_cast<std::uint64_t>(value));
    const EventPtr released = rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, static_cast<std::uint64_t>(value));
    EXPECT_EQ(released->tensor_count, 1U);
    state = Numbers(*released, "STATE_OUT");
  }
  EXPECT_EQ(state, (std::vector<std::int32_t>{10}));
}

TEST(Request, reports_the_activity_of_a_traced_request) {
  Rig rig;
  rig.Serve(1, "minimal");
  Request traced(1), untraced(2);
  traced.c.trace_id = 77;
  rig.Submit(1, 1, {&traced, &untraced});
  const EventPtr activity = rig.Wait(TRITONHOST_EVENT_TRACE_ACTIVITY, 77);
  EXPECT_EQ(std::string(activity->text), "minimal");
  EXPECT_EQ(activity->times[0], 1234U);
  rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 1);
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_TRACE_ACTIVITY), 0U);
}

TEST(Request, gathers_a_batch_and_scatters_its_results) {
  Rig rig;
  rig.Serve(1, "batching");
  Request one(1), two(2), none(3), wrong(4);
  one.Input("X", {{1, 2}, {3}});
  two.Input("X", {{40}});
  none.Input("X", {{}});
  wrong.Id("w").Input("Z", {{1}});
  rig.Submit(1, 1, {&one, &two, &none, &wrong});
  EXPECT_EQ(Numbers(*rig.Wait(TRITONHOST_EVENT_RESPONSE, 1), "Y"), (std::vector<std::int32_t>{2, 4, 6}));
  EXPECT_EQ(Numbers(*rig.Wait(TRITONHOST_EVENT_RESPONSE, 2), "Y"), (std::vector<std::int32_t>{80}));
  EXPECT_EQ(Numbers(*rig.Wait(TRITONHOST_EVENT_RESPONSE, 3), "Y"), (std::vector<std::int32_t>{}));
  EXPECT_EQ(std::string(rig.Wait(TRITONHOST_EVENT_RESPONSE, 4)->error_message), "Invalid argument: [request id: w] unknown request input name X");
  rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 1);
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_VIOLATION), 0U);

  Request again(1);
  again.Input("X", {{5}});
  rig.Submit(1, 2, {&again});
  rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 2);
  char* const text = tritonhost_metrics_text();
  const std::string metrics = text;
  tritonhost_text_free(text);
  EXPECT_CONTAINS(metrics, "# HELP batching_batches Batches run\n# TYPE batching_batches counter\nbatching_batches{model=\"batching\"} 2\n");
  EXPECT_CONTAINS(metrics, "batching_last{model=\"batching\"} 1\n");
  EXPECT_CONTAINS(metrics,
                  "# TYPE batching_sizes histogram\nbatching_sizes_count{model=\"batching\"} 2\nbatching_sizes_sum{model=\"batching\"} 5\n"
                  "batching_sizes_bucket{model=\"batching\",le=\"1\"} 1\nbatching_sizes_bucket{model=\"batching\",le=\"2\"} 1\n"
                  "batching_sizes_bucket{model=\"batching\",le=\"4\"} 2\nbatching_sizes_bucket{model=\"batching\",le=\"+Inf\"} 2\n");
  Must(tritonhost_unload_model(rig.host(), 1));
  rig.Wait(TRITONHOST_EVENT_MODEL_UNLOADED, 1);
  char* const nothing = tritonhost_metrics_text();
  EXPECT_EQ(std::string(nothing), "");
  tritonhost_text_free(nothing);
}

TEST(Request, sends_any_number_of_responses_after_the_release) {
  Rig rig;
  rig.Serve(1, "decoupled");
  Request three(1), none(2);
  three.Input("COUNT", {{3}});
  none.Input("COUNT", {{0}});
  rig.Submit(1, 1, {&three, &none});
  for (std::int32_t number = 0; number < 3; ++number) {
    const EventPtr response = rig.Wait(TRITONHOST_EVENT_RESPONSE, 1);
    EXPECT_EQ(response->flags, 0U);
    EXPECT_EQ(Numbers(*response, "N"), (std::vector<std::int32_t>{number}));
    const EventPtr statistics = rig.Wait(TRITONHOST_EVENT_RESPONSE_STATISTICS, 1);
    EXPECT_EQ(statistics->times[1] - statistics->times[0], 1U);
    EXPECT(!statistics->has_error);
  }
  for (const std::uint64_t token : {1, 2}) {
    const EventPtr last = rig.Wait(TRITONHOST_EVENT_RESPONSE, token);
    EXPECT(last->is_empty);
    EXPECT_EQ(last->flags, 1U);
    rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, token);
  }
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_RESPONSE), 0U);
}

TEST(Request, tells_a_decoupled_backend_that_it_is_cancelled) {
  Rig rig;
  rig.Serve(1, "decoupled");
  Request endless(1);
  endless.Input("COUNT", {{-1}});
  rig.Submit(1, 1, {&endless});
  rig.Wait(TRITONHOST_EVENT_RESPONSE, 1);
  Must(tritonhost_cancel(rig.host(), 1, 1));
  for (;;) {
    const EventPtr response = rig.Wait(TRITONHOST_EVENT_RESPONSE, 1);
    if (response->flags == 0) continue;
    EXPECT_EQ(response->error_code, TRITONSERVER_ERROR_CANCELLED);
    break;
  }
}

TEST(Request, runs_many_batches_on_several_instances_at_once) {
  Rig rig;
  rig.Serve(1, "minimal");
  rig.AddInstance(2, 1, "instance_1");
  rig.AddInstance(3, 1, "instance_2");
  constexpr int kBatches = 200;
  std::vector<std::thread> submitters;
  for (std::uint64_t instance = 1; instance <= 3; ++instance) {
    submitters.emplace_back([&rig, instance] {
      for (int batch = 0; batch < kBatches; ++batch) {
        const std::uint64_t token = instance * 10'000 + static_cast<std::uint64_t>(batch) * 2;
        Request first(token), second(token + 1);
        first.Int("n", static_cast<std::int64_t>(token));
        second.Int("n", static_cast<std::int64_t>(token + 1));
        rig.Submit(instance, token, {&first, &second});
      }
    });
  }
  for (std::thread& submitter : submitters) submitter.join();
  for (std::uint64_t instance = 1; instance <= 3; ++instance) {
    for (int batch = 0; batch < kBatches; ++batch) {
      const std::uint64_t token = instance * 10'000 + static_cast<std::uint64_t>(batch) * 2;
      EXPECT_EQ(Text(*rig.Wait(TRITONHOST_EVENT_RESPONSE, token), "n"), std::to_string(token));
      EXPECT_EQ(Text(*rig.Wait(TRITONHOST_EVENT_RESPONSE, token + 1), "n"), std::to_string(token + 1));
    }
  }
  // 7 events a batch, and at most one wake-up for each time the queue was found empty.
  EXPECT(rig.notified() < 3 * kBatches * 7);
}

TEST(Request, has_its_answer_while_its_batch_still_executes) {
  Rig rig;
  rig.Serve(1, "misbehaving");
  Request request(1);
  request.Do("linger");
  rig.Submit(1, 1, {&request});
  rig.Wait(TRITONHOST_EVENT_RESPONSE, 1);
  Must(tritonhost_cancel(rig.host(), 1, 1));
  rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 1);
}

TEST(Request, refuses_a_token_that_is_in_use) {
  Rig rig;
  rig.Serve(1, "misbehaving");
  Request kept(1);
  kept.Do("keep");
  rig.Submit(1, 1, {&kept});
  rig.Wait(TRITONHOST_EVENT_BATCH_EXECUTED, 1);
  EXPECT_CONTAINS(Said(tritonhost_submit(rig.host(), 1, 2, &kept.Sealed(), 1)), "request token 1 is in use");
  Request last(2);
  last.Do("give_back");
  const TritonHostRequest twice[] = {last.Sealed(), last.Sealed()};
  EXPECT_CONTAINS(Said(tritonhost_submit(rig.host(), 1, 2, twice, 2)), "request token 2 is in use");
  rig.Submit(1, 3, {&last});
  rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, 1);
}
