// What all our NPU backends stand on: opening CANN, its errors in plain words, devices, streams and pooled memory; over simulated cards.
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>

#include "ascend/acl_error.h"
#include "ascend/device.h"
#include "ascend/dynamic_library.h"
#include "ascend/stream.h"
#include "test/check.h"
#include "test/fixture.h"

using namespace npu_console::ascend;
using namespace std::chrono_literals;
using fixture::UseCards;

namespace {

const AclApi& Api() { return AclApi::Load(TEST_LIBRARY_DIR); }

/** What the body throws; a test failure when it does not. */
std::optional<Error> Thrown(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  check::Failed(__FILE__, __LINE__, "nothing was thrown");
  return std::nullopt;
}

void CheckContains(const std::string& text, const std::string& part) {
  if (text.find(part) == std::string::npos) check::Failed(__FILE__, __LINE__, "expected '" + part + "' in: " + text);
}

void CheckThrows(const std::function<void()>& body, ErrorKind kind, int code, FaultScope scope, const std::string& part) {
  const auto error = Thrown(body);
  if (!error.has_value()) return;
  CHECK(error->kind() == kind);
  CHECK_EQ(error->code(), code);
  CHECK(error->scope() == scope);
  CheckContains(error->what(), part);
}

}  // namespace

TEST(names_every_library_that_was_tried) {
  const auto error = Thrown([] { AclApi::Load("/nowhere"); });
  REQUIRE(error.has_value());
  CHECK(error->kind() == ErrorKind::Unsupported);
  for (const char* part : {"AscendCL (CANN) cannot be opened", "/nowhere/libacl_rt.so (", "/nowhere/libascendcl.so (", "No such file", "cann-library-directory"}) {
    CheckContains(error->what(), part);
  }
  CheckContains(Thrown([] { DynamicLibraries::Open("This", "", {{"libnot-there-7.so"}}, 2); })->what(), "set_env.sh");
  const auto libraries = DynamicLibraries::Open("CANN", TEST_LIBRARY_DIR, {{"libnot-there.so"}, {"libacl_rt.so"}}, 2);
  CHECK_EQ(libraries.paths().size(), 1u);
  CHECK(libraries.Find("aclNotThere") == nullptr);
  CheckContains(Thrown([&] { libraries.Get("aclNotThere"); })->what(), "the function aclNotThere is missing in " TEST_LIBRARY_DIR "/libacl_rt.so");
}

TEST(does_without_the_functions_of_newer_packages) {
  UseCards({"910B3"});
  const AclApi& old = AclApi::Load(std::string(TEST_LIBRARY_DIR) + "-8.2");
  REQUIRE(old.MissingFeatures().size() == 1);
  CheckContains(old.MissingFeatures()[0], "core limits cannot be set at run time");
  CHECK(old.aclrtSetStreamResLimit == nullptr);
  CHECK_EQ(Api().MissingFeatures().size(), 0u);
  CHECK_EQ(old.libraries.size(), 1u);
  CHECK_EQ(Api().libraries.size(), 2u);
  CHECK(Api().is_simulated && old.is_simulated);
  CHECK_EQ(Api().Version(), "9.1.0");
}

TEST(knows_the_codes_of_the_public_tables) {
  for (const int code : {100000, 100001, 100002, 100003, 100006, 100011, 100012, 100013, 100014, 100015, 100017, 100018, 100019, 100026, 100027, 100037,
                         100039, 148049, 200000, 200001, 200006, 500000, 500001, 500002, 500003, 500004, 107000, 107001, 107002, 107003, 107017, 107019,
                         107020, 107022, 207000, 207001, 207018, 207020, 207004, 207005, 207006, 207008, 507000, 507001, 507008, 507010, 507011, 507013,
                         507014, 507015, 507017, 507018, 507033, 507034, 507035, 507046, 507053, 507054, 507899, 507900, 507901, 145000, 145001, 145002,
                         145003, 145011, 145012, 145013, 145020, 145021, 145022, 245000, 545000, 545001, 545009, 545601}) {
    const AclErrorInfo* info = FindAclError(code);
    if (info == nullptr || std::strlen(info->name) == 0 || std::strlen(info->meaning) == 0 || std::strlen(info->advice) == 0) {
      check::Failed(__FILE__, __LINE__, "not explained: " + std::to_string(code));
    }
  }
  CHECK(FindAclError(0) == nullptr);
  CHECK_EQ(DescribeAclError(507010), "507010 LOST_HEARTBEAT: the card hangs: it does not answer any more");
  CheckContains(DescribeAclError(123456), "123456: a code that is not in CANN's public tables");
}

TEST(says_what_failed_and_what_to_do) {
  UseCards({"910B3"}, "", "\"stubMode\": true");
  const auto error = Thrown([] { Api().Initialize(); });
  REQUIRE(error.has_value());
  CHECK(error->kind() == ErrorKind::Unsupported);
  CHECK_EQ(error->code(), 100039);
  CheckContains(error->what(), "initialising AscendCL (aclInit) failed with 100039 COMPILING_STUB_MODE: the process runs with CANN's link stubs");
  CheckContains(error->what(), "Next: take devlib out of LD_LIBRARY_PATH");
  CheckContains(error->what(), "CANN says: EZ9999: [simulated]");
}

TEST(cuts_what_CANN_says_between_characters) {
  AclApi api = Api();
  // Three bytes a character, so 600 and 599 bytes end between two, and 601 and the like do not.
  static std::string text;
  api.aclGetRecentErrMsg = []() { return text.c_str(); };
  for (const char* before : {"", "E", "EZ"}) {
    text = before;
    for (int index = 0; index < 300; ++index) text += "\u9519";
    const std::string said = npu_console::ascend::MakeError(api, 500001, "a test").what();
    const std::size_t start = said.find("CANN says: ") + std::strlen("CANN says: ");
    const std::string shown = said.substr(start, said.rfind(" ...") - start);
    CHECK(shown.size() > 597 && shown.size() <= 600);
    CHECK_EQ((shown.size() - std::strlen(before)) % 3, 0u);
    CHECK_EQ(text.compare(0, shown.size(), shown), 0);
  }
}

TEST(lives_beside_another_user_of_AscendCL) {
  UseCards({"910B3"});
  CHECK_EQ(Api().aclInit(nullptr), ACL_SUCCESS);
  Api().Initialize();
  CHECK_EQ(Device::Count(Api()), 1);
}

TEST(shares_a_device_and_its_default_context) {
  UseCards({"910B3", "310P3"});
  auto device = Device::Acquire(Api(), 1);
  CHECK(device == Device::Acquire(Api(), 1));
  CHECK(device != Device::Acquire(Api(), 0));
  CHECK_EQ(SocName(Api()), "Ascend910B3");
  std::thread([&] {
    Stream stream(device);
    aclrtContext current = nullptr;
    CHECK_EQ(Api().aclrtGetCurrentContext(&current), ACL_SUCCESS);
    CHECK(current == device->default_context());
  }).join();
  const Device::Memory memory = device->memory();
  CHECK(memory.free_bytes > 0 && memory.free_bytes <= memory.total_bytes && memory.total_bytes > (uint64_t{20} << 30));
  CheckThrows([] { Device::Acquire(Api(), 2); }, ErrorKind::InvalidArgument, 0, FaultScope::Call, "There is no device 2: this process sees 2 NPU(s)");
}

TEST(keeps_its_reference_while_others_set_and_reset) {
  UseCards({"910B3"});
  auto device = Device::Acquire(Api(), 0);
  Stream stream(device);
  // As GE does while it loads a graph.
  CHECK_EQ(Api().aclrtSetDevice(0), ACL_SUCCESS);
  CHECK_EQ(Api().aclrtResetDevice(0), ACL_SUCCESS);
  device->Use();
  stream.Synchronize(0ms);
  const auto lost = device->default_context();
  device.reset();
  CHECK(lost != nullptr);
}

TEST(goes_back_to_the_default_context) {
  UseCards({"910B3"});
  auto device = Device::Acquire(Api(), 0);
  Stream stream(device);
  auto create = reinterpret_cast<aclError (*)(aclrtContext*, int32_t)>(DynamicLibraries::Open("", TEST_LIBRARY_DIR, {{"libacl_rt.so"}}, 2).Get("aclrtCreateContext"));
  aclrtContext own = nullptr;
  CHECK_EQ(create(&own, 0), ACL_SUCCESS);
  Buffer host = device->pinned_memory().Take(64);
  Buffer memory = device->device_memory().Take(64);
  CheckThrows([&] { stream.CopyToDevice(memory.data(), 64, host.data(), 64); Api().aclrtSetCurrentContext(own); stream.CopyToDevice(memory.data(), 64, host.data(), 64); },
              ErrorKind::Internal, 107003, FaultScope::Stream, "STREAM_CONTEXT");
  device->Use();
  stream.CopyToDevice(memory.data(), 64, host.data(), 64);
  stream.Synchronize(0ms);
}

TEST(copies_there_and_back) {
  UseCards({"910B3"});
  auto device = Device::Acquire(Api(), 0);
  Stream stream(device);
  constexpr size_t bytes = 5000;
  Buffer there = device->pinned_memory().Take(bytes);
  Buffer back = device->pinned_memory().Take(bytes);
  Buffer memory = device->device_memory().Take(bytes);
  std::memset(there.data(), 42, bytes);
  std::memset(back.data(), 0, bytes);
  stream.CopyToDevice(memory.data(), memory.capacity(), there.data(), bytes);
  stream.CopyToHost(back.data(), back.capacity(), memory.data(), bytes);
  stream.Synchronize(60s);
  CHECK_EQ(std::memcmp(there.data(), back.data(), bytes), 0);
}

TEST(keeps_memory_for_the_next_run) {
  UseCards({"910B3"});
  auto device = Device::Acquire(Api(), 0);
  const uint64_t before = device->memory().free_bytes;
  BufferPool& pool = device->device_memory();
  void* first = nullptr;
  {
    Buffer buffer = pool.Take(100000);
    first = buffer.data();
    CHECK(buffer.capacity() >= 100000 && buffer.capacity() < 113000);
    CHECK_EQ(pool.usage().in_use, buffer.capacity());
  }
  CHECK_EQ(pool.usage().in_use, 0u);
  Buffer again = pool.Take(99000);
  CHECK(again.data() == first);
  CHECK_EQ(pool.usage().allocations, 1u);
  Buffer other = pool.Take(100000);
  Buffer small = pool.Take(1);
  CHECK(other.data() != first);
  CHECK_EQ(pool.usage().allocations, 3u);
  again = Buffer();
  other = Buffer();
  small = Buffer();
  CHECK(pool.usage().unused >= 200512u);
  CHECK(device->memory().free_bytes < before);
  pool.Trim();
  CHECK_EQ(pool.usage().unused, 0u);
  CHECK_EQ(device->memory().free_bytes, before);
}

TEST(gives_back_unused_memory_before_it_says_the_card_is_full) {
  UseCards({"310P3"});
  auto device = Device::Acquire(Api(), 0);
  BufferPool& pool = device->device_memory();
  const size_t most = device->memory().free_bytes / 3 * 2;
  // Kept for later, since it is below the limit of what is kept.
  for (int index = 0; index < 2; index++) static_cast<void>(pool.Take(size_t{400} << 20));
  Buffer half = pool.Take(most);
  CheckThrows([&] { pool.Take(most); }, ErrorKind::Unavailable, 207001, FaultScope::Call, "unload a model of this card");
  CHECK(!device->is_faulty());
  half = Buffer();
  CHECK(static_cast<bool>(pool.Take(most)));
}

TEST(a_hang_ends_in_an_error_and_the_card_is_set_up_again) {
  UseCards({"910B3"});
  auto device = Device::Acquire(Api(), 0);
  auto stream = std::make_optional<Stream>(device);
  Buffer host = device->pinned_memory().Take(64);
  Buffer memory = device->device_memory().Take(64);
  UseCards({"910B3"}, "{\"kind\": \"hang\"}");
  stream->CopyToDevice(memory.data(), 64, host.data(), 64);
  CheckThrows([&] { stream->Synchronize(50ms); }, ErrorKind::Unavailable, 507046, FaultScope::Device, "(50 ms allowed) failed with 507046 STREAM_SYNC_TIMEOUT");
  CHECK(device->is_faulty());
  CheckContains(device->fault(), "507046");
  // Letting go of everything does not wait for the card.
  stream.reset();
  UseCards({"910B3"});
  auto fresh = Device::Acquire(Api(), 0);
  CHECK(fresh != device);
  CheckThrows([&] { device->Use(); }, ErrorKind::Unavailable, 107002, FaultScope::Device, "device 0 was reset after a fault");
  Stream next(fresh);
  Buffer other = fresh->device_memory().Take(64);
  next.CopyToDevice(other.data(), 64, host.data(), 64);
  next.Synchronize(60s);
  // The old one, with its buffers, may end after the new one began.
  memory = Buffer();
  host = Buffer();
  device.reset();
  fresh->Use();
  next.Synchronize(60s);
  CHECK(fresh == Device::Acquire(Api(), 0));
}

TEST(settles_a_stream_whose_wait_failed) {
  UseCards({"910B3"});
  auto device = Device::Acquire(Api(), 0);
  Stream stream(device);
  Buffer host = device->pinned_memory().Take(64);
  Buffer memory = device->device_memory().Take(64);
  const auto is_idle = [&] {
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    CHECK_EQ(Api().aclrtStreamQuery(stream.handle(), &status), ACL_SUCCESS);
    return status == ACL_STREAM_STATUS_COMPLETE;
  };
  // An error of the work, and one of the wait: the next wait is over when the work is.
  UseCards({"910B3"}, R"({"kind": "out-of-memory", "phase": "copy-in", "count": 1}, {"kind": "out-of-memory", "phase": "sync", "count": 1})");
  stream.CopyToDevice(memory.data(), 64, host.data(), 64);
  CheckThrows([&] { stream.Synchronize(60s); }, ErrorKind::Unavailable, 207018, FaultScope::Call, "");
  CHECK(stream.Settle(60s));
  CHECK(is_idle());
  // Waits that never say anything: the work is broken off, and the stream with it.
  UseCards({"910B3"}, R"({"kind": "hang", "phase": "copy-in"}, {"kind": "out-of-memory", "phase": "sync"})");
  stream.CopyToDevice(memory.data(), 64, host.data(), 64);
  CheckThrows([&] { stream.Synchronize(60s); }, ErrorKind::Unavailable, 207018, FaultScope::Call, "");
  CHECK(!is_idle());
  CHECK(!stream.Settle(60s));
  CHECK(is_idle());
  CHECK(stream.is_given_up());
  CHECK(!device->is_faulty());
}

TEST(believes_no_wait_on_a_card_that_was_reset_meanwhile) {
  UseCards({"910B3"});
  AclApi others = Api();
  // Another backend of this process, with a table of its own, resets the card while this one waits, and the wait says nothing of it.
  others.aclrtSynchronizeStreamWithTimeout = [](aclrtStream, int32_t) { return Api().aclrtResetDeviceForce(0); };
  auto device = Device::Acquire(others, 0);
  Stream stream(device);
  CheckThrows([&] { stream.Synchronize(60s); }, ErrorKind::Unavailable, 107002, FaultScope::Device, "working with device 0");
}

TEST(lends_nothing_that_a_card_at_fault_may_still_write_to) {
  UseCards({"910B3"});
  auto device = Device::Acquire(Api(), 0);
  device->pinned_memory().Take(64);
  device->ReportFault("for the test");
  CheckThrows([&] { device->pinned_memory().Take(64); }, ErrorKind::Unavailable, 0, FaultScope::Device, "device 0 is out of order: for the test");
}

TEST(a_lost_card_comes_back) {
  UseCards({"910B3", "910B3"});
  auto device = Device::Acquire(Api(), 0);
  auto other = Device::Acquire(Api(), 1);
  UseCards({"910B3", "910B3"}, "{\"kind\": \"card-lost\", \"device\": 0}");
  CheckThrows([&] { device->device_memory().Take(64); }, ErrorKind::Unavailable, 507901, FaultScope::Device, "the link to the card is gone");
  CHECK(device->is_faulty());
  CheckThrows([&] { Device::Acquire(Api(), 0); }, ErrorKind::Unavailable, 507033, FaultScope::Device, "starting device 0 (aclrtSetDevice) failed with 507033");
  CHECK(static_cast<bool>(other->device_memory().Take(64)));
  UseCards({"910B3", "910B3"});
  auto fresh = Device::Acquire(Api(), 0);
  CHECK(static_cast<bool>(fresh->device_memory().Take(64)));
}

TEST(does_not_reset_what_another_user_of_the_card_has_set_up_again) {
  UseCards({"910B3"});
  auto device = Device::Acquire(Api(), 0);
  device->ReportFault("for the test");
  // Another backend of this process, with a table of its own, was faster.
  CHECK_EQ(Api().aclrtResetDeviceForce(0), ACL_SUCCESS);
  CHECK_EQ(Api().aclrtSetDevice(0), ACL_SUCCESS);
  aclrtContext others = nullptr;
  CHECK_EQ(Api().aclrtGetCurrentContext(&others), ACL_SUCCESS);
  auto fresh = Device::Acquire(Api(), 0);
  CHECK_EQ(Api().aclrtSetCurrentContext(others), ACL_SUCCESS);
  CHECK(fresh->default_context() == others);
}

TEST(many_threads_start_and_end_a_card) {
  UseCards({"910B3"});
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; number++) {
    threads.emplace_back([&, number] {
      for (int round = 0; round < 20; round++) {
        try {
          auto device = Device::Acquire(Api(), 0);
          Stream stream(device);
          Buffer host = device->pinned_memory().Take(64);
          Buffer memory = device->device_memory().Take(64);
          stream.CopyToDevice(memory.data(), 64, host.data(), 64);
          stream.Synchronize(60s);
          if (round == 7 && number == 0) device->ReportFault("for the test");
        } catch (const Error& error) {
          // Only those that held the card when it was reset.
          CHECK(error.scope() != FaultScope::Call || error.code() == 107000);
        }
        done++;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQ(done, 80);
  CHECK(static_cast<bool>(Device::Acquire(Api(), 0)->device_memory().Take(64)));
}
