// Finding, opening, initializing and taking down backends, models and instances.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "rig.h"

using namespace rig;

namespace {

std::string ErrorOf(const EventPtr& event) { return event->has_error ? event->error_message : ""; }

// A model folder in the temporary directory, gone with the object.
struct ModelFolder {
  ModelFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "triton-host-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path = pattern;
    std::filesystem::create_directories(path / "1");
  }
  ~ModelFolder() { std::filesystem::remove_all(path); }
  void CopyLibrary(const char* backend, const std::filesystem::path& to) const {
    std::filesystem::copy_file(std::filesystem::path(FIXTURE_BACKENDS) / backend / ("libtriton_" + std::string(backend) + ".so"), path / to);
  }
  std::filesystem::path path;
};

}  // namespace

TEST(Lifecycle, tells_a_backend_what_it_asks_and_passes_on_what_it_says) {
  Rig rig;
  const EventPtr loaded = rig.Load(1, "minimal", [](TritonHostModelOptions& options) {
    options.name = "first";
    options.version = 3;
    options.directory = "/models/first";
    options.config_json = R"({"name":"first"})";
    options.backend_config_json = R"({"cmdline":{"auto-complete-config":"true"}})";
    options.auto_complete_config = true;
  });
  EXPECT_EQ(ErrorOf(loaded), "");
  EXPECT_EQ(std::string(loaded->text), R"({"name":"first","max_batch_size":4})");
  EXPECT_CONTAINS(loaded->detail, R"("preferred_groups":[{"kind":"KIND_GPU","count":2,"gpus":[1,3]}],"parallel_model_instance_loading":true,"execution_policy":0)");
  EXPECT_CONTAINS(loaded->detail, "libtriton_minimal.so");
  rig.WaitText(TRITONHOST_EVENT_LOG, R"(initialize minimal {"cmdline":{"auto-complete-config":"true"}})");
  rig.WaitText(TRITONHOST_EVENT_LOG, "exports TRITONBACKEND_BackendControl");
  const EventPtr memory = rig.Wait(TRITONHOST_EVENT_MEMORY_USAGE, 1);
  EXPECT_EQ(memory->usage_count, 1U);
  EXPECT_EQ(memory->usages[0].byte_size, 1000U);
  EXPECT_EQ(memory->usages[0].memory_type, TRITONSERVER_MEMORY_CPU_PINNED);
  EXPECT_EQ(memory->usages[0].memory_type_id, 2);

  EXPECT_EQ(ErrorOf(rig.AddInstance(11, 1, "first_0", [](TritonHostInstanceOptions& options) {
    options.kind = TRITONSERVER_INSTANCEGROUPKIND_MODEL;
    options.device_id = 5;
    options.host_policy_json = R"({"cpu_0":{"cpu-cores":"0-1"}})";
  })), "");
  EXPECT_EQ(rig.Wait(TRITONHOST_EVENT_MEMORY_USAGE, 11)->instance, 11U);
  Request request(100);
  rig.Submit(11, 1, {&request});
  const EventPtr response = rig.Wait(TRITONHOST_EVENT_RESPONSE, 100);
  EXPECT_EQ(Text(*response, "instance"), R"(first_0 MODEL 5 {"cpu_0":{"cpu-cores":"0-1"}})");
  EXPECT_EQ(Text(*response, "model"), R"(first 3 /models/first {"name":"first"})");

  Must(tritonhost_unload_model(rig.host(), 1));
  EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_INSTANCE_REMOVED, 11)), "");
  EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_MODEL_UNLOADED, 1)), "");
  rig.WaitText(TRITONHOST_EVENT_LOG, "finalize instance");
  rig.WaitText(TRITONHOST_EVENT_LOG, "finalize model");
  EXPECT_CONTAINS(Said(tritonhost_unload_model(rig.host(), 1)), "no model has the token 1");
}

TEST(Lifecycle, looks_in_the_version_folder_then_in_the_model_folder_then_in_the_backend_directory) {
  ModelFolder folder;
  Rig rig;
  std::uint64_t token = 0;
  const auto library = [&] {
    const EventPtr loaded = rig.Load(++token, "minimal", [&](TritonHostModelOptions& options) { options.directory = folder.path.c_str(); });
    EXPECT_EQ(ErrorOf(loaded), "");
    return std::string(loaded->detail);
  };
  EXPECT_CONTAINS(library(), std::string(FIXTURE_BACKENDS) + "/minimal/libtriton_minimal.so");
  folder.CopyLibrary("minimal", "libtriton_minimal.so");
  EXPECT_CONTAINS(library(), (folder.path / "libtriton_minimal.so").string());
  folder.CopyLibrary("minimal", "1/libtriton_minimal.so");
  EXPECT_CONTAINS(library(), (folder.path / "1/libtriton_minimal.so").string());
}

TEST(Lifecycle, names_the_places_where_a_library_is_not) {
  Rig rig;
  const std::string error = ErrorOf(rig.Load(1, "absent"));
  EXPECT_CONTAINS(error, "unable to find backend library for backend 'absent', try specifying runtime on the model configuration. Searched: /nowhere/model/1/libtriton_absent.so, "
                         "/nowhere/model/libtriton_absent.so, ");
  EXPECT_CONTAINS(error, "/backends/absent/libtriton_absent.so");
  EXPECT_CONTAINS(ErrorOf(rig.Load(2, "minimal", [](TritonHostModelOptions& options) { options.library = "../minimal/libtriton_minimal.so"; })), "must be a plain file name");
  EXPECT_CONTAINS(ErrorOf(rig.Load(3, "..")), "must be a plain file name");
}

TEST(Lifecycle, says_why_a_library_cannot_be_used) {
  Rig rig;
  EXPECT_CONTAINS(ErrorOf(rig.Load(1, "without_execute")), "unable to find required entrypoint 'TRITONBACKEND_ModelInstanceExecute' in shared library: ");
  const std::string unresolved = ErrorOf(rig.Load(2, "unresolved"));
  EXPECT_CONTAINS(unresolved, "unable to load shared library: ");
  EXPECT_CONTAINS(unresolved, "TRITONBACKEND_FunctionOfTheFuture");
  ModelFolder folder;
  std::ofstream(folder.path / "libtriton_text.so") << "no library";
  EXPECT_CONTAINS(ErrorOf(rig.Load(3, "text", [&](TritonHostModelOptions& options) { options.directory = folder.path.c_str(); })), "unable to load shared library: ");
  // Its token is free again.
  EXPECT_EQ(ErrorOf(rig.Load(2, "minimal")), "");
}

TEST(Lifecycle, keeps_a_library_inside_its_own_scope) {
  Rig rig;
  rig.Serve(1, "minimal");
  EXPECT(dlsym(RTLD_DEFAULT, "TRITONBACKEND_ModelInstanceExecute") == nullptr);
}

TEST(Lifecycle, takes_down_a_model_or_an_instance_that_does_not_initialize) {
  Rig rig;
  const EventPtr failed = rig.Load(1, "minimal", [](TritonHostModelOptions& options) { options.config_json = R"({"x":"fail_model_initialize"})"; });
  EXPECT_EQ(ErrorOf(failed), "told to fail");
  rig.WaitText(TRITONHOST_EVENT_LOG, "finalize model");
  EXPECT_EQ(ErrorOf(rig.Load(1, "minimal")), "");
  EXPECT_EQ(ErrorOf(rig.AddInstance(10, 1, "fails")), "told to fail");
  rig.WaitText(TRITONHOST_EVENT_LOG, "finalize instance");
  EXPECT_EQ(ErrorOf(rig.AddInstance(10, 1, "works")), "");
}

TEST(Lifecycle, finalizes_a_backend_that_was_initialized_before_it_closes_its_library) {
  Rig rig;
  EXPECT_EQ(ErrorOf(rig.Load(1, "minimal", [](TritonHostModelOptions& options) { options.backend_config_json = R"({"cmdline":{"x":"fail_attributes"}})"; })), "told to fail");
  rig.WaitText(TRITONHOST_EVENT_LOG, "finalize minimal");
  rig.WaitText(TRITONHOST_EVENT_LOG, "backend 'minimal' did not free 1 buffers (100 bytes) of the memory manager before it was closed");
  EXPECT_EQ(ErrorOf(rig.Load(1, "minimal")), "");
}

TEST(Lifecycle, says_so_where_the_machine_gives_no_thread) {
  Rig rig;
  EXPECT_EQ(ErrorOf(rig.Load(1, "minimal")), "");
  pthread_attr_t usual, vast;
  pthread_getattr_default_np(&usual);
  pthread_attr_init(&vast);
  // A stack that fits into no address space.
  pthread_attr_setstacksize(&vast, std::size_t{1} << 52);
  pthread_setattr_default_np(&vast);
  TritonHostModelOptions model{};
  model.token = 2;
  model.name = model.directory = model.backend = "minimal";
  model.config_json = "{}";
  const std::string no_model = Said(tritonhost_load_model(rig.host(), &model));
  TritonHostInstanceOptions instance{};
  instance.token = 2;
  instance.model = 1;
  instance.name = "i";
  const std::string no_instance = Said(tritonhost_add_instance(rig.host(), &instance));
  pthread_setattr_default_np(&usual);
  pthread_attr_destroy(&usual);
  pthread_attr_destroy(&vast);
  for (const std::string& said : {no_model, no_instance}) {
    EXPECT_CONTAINS(said, "the machine has no memory or thread left for this (");
    EXPECT_CONTAINS(said, "): load fewer models, or give the machine more");
  }
  // Their tokens are free.
  EXPECT_EQ(ErrorOf(rig.Load(2, "minimal")), "");
  EXPECT_EQ(ErrorOf(rig.AddInstance(2, 1, "i")), "");
}

TEST(Lifecycle, contains_exceptions_out_of_initialize) {
  Rig rig;
  EXPECT_EQ(ErrorOf(rig.Load(1, "misbehaving")), "");
  EXPECT_EQ(ErrorOf(rig.AddInstance(10, 1, "throws")), "backend 'misbehaving' threw an exception out of TRITONBACKEND_ModelInstanceInitialize: no instance today");
}

TEST(Lifecycle, asks_an_instance_whether_it_is_ready) {
  Rig rig;
  EXPECT_EQ(ErrorOf(rig.Load(1, "minimal")), "");
  EXPECT_EQ(ErrorOf(rig.AddInstance(10, 1, "fine")), "");
  EXPECT_EQ(ErrorOf(rig.AddInstance(11, 1, "unready")), "");
  Must(tritonhost_check_instance(rig.host(), 10));
  Must(tritonhost_check_instance(rig.host(), 11));
  EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_INSTANCE_READINESS, 10)), "");
  EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_INSTANCE_READINESS, 11)), "not ready");
  // While it leaves: one or the other, but an answer.
  Must(tritonhost_check_instance(rig.host(), 10));
  Must(tritonhost_remove_instance(rig.host(), 10));
  rig.Wait(TRITONHOST_EVENT_INSTANCE_READINESS, 10);
  rig.Wait(TRITONHOST_EVENT_INSTANCE_REMOVED, 10);
  EXPECT_CONTAINS(Said(tritonhost_check_instance(rig.host(), 10)), "no initialized instance has the token 10");
}

TEST(Lifecycle, refuses_what_has_no_place) {
  Rig rig;
  rig.Serve(1, "minimal");
  Request request(5);
  EXPECT_CONTAINS(Said(tritonhost_submit(rig.host(), 99, 1, &request.Sealed(), 1)), "no initialized instance has the token 99");
  EXPECT_EQ(Said(tritonhost_submit(rig.host(), 1, 1, &request.Sealed(), 0)), "a batch has at least one request");
  TritonHostModelOptions model{};
  EXPECT_CONTAINS(Said(tritonhost_load_model(rig.host(), &model)), "options->name is NULL");
  model.name = model.directory = model.backend = "x";
  model.config_json = "{";
  EXPECT_EQ(Said(tritonhost_load_model(rig.host(), &model)), "the config of model 'x' is not JSON");
  model.config_json = "{}";
  model.token = 1;
  EXPECT_CONTAINS(Said(tritonhost_load_model(rig.host(), &model)), "model token 1 is 0 or in use");
  TritonHostInstanceOptions instance{};
  instance.name = "x";
  instance.model = 7;
  instance.token = 7;
  EXPECT_CONTAINS(Said(tritonhost_add_instance(rig.host(), &instance)), "no initialized model has the token 7");
  instance.model = 1;
  instance.token = 1;
  EXPECT_CONTAINS(Said(tritonhost_add_instance(rig.host(), &instance)), "instance token 1 is 0 or in use");
}

TEST(Lifecycle, names_the_thread_of_an_instance_and_binds_it) {
  Rig rig;
  EXPECT_EQ(ErrorOf(rig.Load(1, "minimal")), "");
  const std::uint32_t processor = static_cast<std::uint32_t>(sched_getcpu());
  EXPECT_EQ(ErrorOf(rig.AddInstance(10, 1, "bound_7", [&](TritonHostInstanceOptions& options) {
    options.processors = &processor;
    options.processor_count = 1;
  })), "");
  int seen = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    if (name != "bound_7") continue;
    ++seen;
    std::ifstream status(thread.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("Cpus_allowed_list:", 0) == 0) EXPECT_EQ(line, "Cpus_allowed_list:\t" + std::to_string(processor));
    }
  }
  EXPECT_EQ(seen, 1);
}

TEST(Lifecycle, refuses_an_instance_whose_processors_it_cannot_have) {
  Rig rig;
  EXPECT_EQ(ErrorOf(rig.Load(1, "minimal")), "");
  rig.Drop(TRITONHOST_EVENT_LOG);
  // Numbers that no machine reaches: alone, and beside one that is there, which the kernel would take without a word.
  const std::uint32_t processors[] = {100'000, static_cast<std::uint32_t>(sched_getcpu())};
  for (const std::uint32_t count : {1U, 2U}) {
    const std::string error = ErrorOf(rig.AddInstance(10 + count, 1, "unbound", [&](TritonHostInstanceOptions& options) {
      options.host_policy = "mine";
      options.processors = processors;
      options.processor_count = count;
    }));
    EXPECT_CONTAINS(error, "host policy 'mine' cannot bind a thread to the processors ");
    EXPECT_CONTAINS(error, "100000: ");
    EXPECT_CONTAINS(error, "Change --host-policy");
  }
  // The backend never heard of them: it would have said that it finalizes them.
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_LOG), 0U);
}

TEST(Lifecycle, runs_instances_of_one_device_on_one_thread_where_the_backend_wants_it) {
  const auto threads = [](const char* backend_config) {
    Rig rig;
    EXPECT_EQ(ErrorOf(rig.Load(1, "minimal", [&](TritonHostModelOptions& options) { options.backend_config_json = backend_config; })), "");
    // Two on card 0, one on card 1, one on the processor.
    for (std::uint64_t token = 10; token < 14; ++token) {
      EXPECT_EQ(ErrorOf(rig.AddInstance(token, 1, "i", [&](TritonHostInstanceOptions& options) {
        options.kind = token == 13 ? TRITONSERVER_INSTANCEGROUPKIND_CPU : TRITONSERVER_INSTANCEGROUPKIND_GPU;
        options.device_id = token == 12 ? 1 : 0;
      })), "");
    }
    std::vector<std::string> seen;
    const auto ask = [&](std::uint64_t instance) {
      rig::Request request(1000 + 10 * instance + seen.size());
      request.Do("tell_thread");
      rig.Submit(instance, request.c.token, {&request});
      seen.push_back(Text(*rig.Wait(TRITONHOST_EVENT_RESPONSE, request.c.token), "thread"));
      rig.Wait(TRITONHOST_EVENT_REQUEST_RELEASED, request.c.token);
    };
    for (std::uint64_t token = 10; token < 14; ++token) ask(token);
    // The one that stays goes on when the other is gone.
    Must(tritonhost_remove_instance(rig.host(), 10));
    EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_INSTANCE_REMOVED, 10)), "");
    ask(11);
    return seen;
  };
  const std::vector<std::string> shared = threads(R"({"cmdline":{"device_blocking":"true"}})");
  EXPECT_EQ(shared[0], shared[1]);
  EXPECT_EQ(shared[0], shared[4]);
  EXPECT_EQ((std::set<std::string>(shared.begin(), shared.end()).size()), 3U);
  const std::vector<std::string> own = threads(R"({"cmdline":{}})");
  EXPECT_EQ((std::set<std::string>(own.begin(), own.end()).size()), 4U);
}

TEST(Lifecycle, logs_only_the_levels_that_are_wanted) {
  Rig::Options options;
  options.log_levels = 1U << TRITONSERVER_LOG_ERROR;
  Rig rig(options);
  rig.Serve(1, "minimal");
  EXPECT_EQ(rig.Count(TRITONHOST_EVENT_LOG), 0U);
  tritonhost_set_log_levels(rig.host(), 0xF);
  Must(tritonhost_unload_model(rig.host(), 1));
  const EventPtr entry = rig.WaitText(TRITONHOST_EVENT_LOG, "finalize model");
  EXPECT_EQ(entry->level, TRITONSERVER_LOG_INFO);
  EXPECT_CONTAINS(entry->detail, "fixture.h");
  EXPECT(entry->line > 0);
}

TEST(Lifecycle, loads_and_unloads_many_at_once_and_again) {
  Rig rig;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t token = 1; token <= 6; ++token) {
      TritonHostModelOptions options{};
      options.token = token;
      options.name = "m";
      options.directory = "/nowhere";
      options.backend = token % 2 == 0 ? "minimal" : "batching";
      options.config_json = "{}";
      Must(tritonhost_load_model(rig.host(), &options));
    }
    for (std::uint64_t token = 1; token <= 6; ++token) EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_MODEL_INITIALIZED, token)), "");
    for (std::uint64_t token = 1; token <= 6; ++token) {
      TritonHostInstanceOptions options{};
      options.token = token;
      options.model = token;
      options.name = "i";
      Must(tritonhost_add_instance(rig.host(), &options));
    }
    // The odd ones are unloaded while their instance initializes.
    for (std::uint64_t token = 1; token <= 6; token += 2) Must(tritonhost_unload_model(rig.host(), token));
    for (std::uint64_t token = 2; token <= 6; token += 2) rig.Wait(TRITONHOST_EVENT_INSTANCE_INITIALIZED, token);
    for (std::uint64_t token = 2; token <= 6; token += 2) Must(tritonhost_unload_model(rig.host(), token));
    for (std::uint64_t token = 1; token <= 6; ++token) EXPECT_EQ(ErrorOf(rig.Wait(TRITONHOST_EVENT_MODEL_UNLOADED, token)), "");
  }
}

TEST(Lifecycle, tells_what_backends_log_until_the_very_end) {
  Rig rig;
  rig.Serve(1, "minimal");
  Must(tritonhost_close(rig.host(), 20'000));
  rig.WaitText(TRITONHOST_EVENT_LOG, "finalize model");
  rig.WaitText(TRITONHOST_EVENT_LOG, "finalize minimal");
  Must(tritonhost_close(rig.host(), 0));
}

TEST(Lifecycle, ends_with_everything_still_loaded) {
  Rig rig;
  rig.Serve(1, "minimal");
  rig.Serve(2, "batching");
  TritonHostModelOptions options{};
  options.token = 3;
  options.name = "m";
  options.directory = "/nowhere";
  options.backend = "minimal";
  options.config_json = "{}";
  Must(tritonhost_load_model(rig.host(), &options));
}
