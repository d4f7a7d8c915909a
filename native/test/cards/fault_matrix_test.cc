// Every fault of a card in every phase, for both backends: the requests to that card fail with the cause in plain words, those to the other card do not, and
// the model is back soon after the fault is gone.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "ascend/acl_error.h"
#include "card_server.h"

using namespace cards;

namespace {

/** How long a model may take to serve again. Generous: these tests also run under sanitizers on machines with two slow processors. */
constexpr double RECOVERY_SECONDS = 20;

const char* const KINDS[] = {"out-of-memory", "card-lost", "ecc", "task-timeout", "operator-exception", "hang", "permission"};
const char* const PHASES[] = {"load", "copy-in", "run", "copy-out", "sync"};

/** CANN's codes that a fault may show with; which of them depends on the call that meets it first. Source: simulator/README.md. */
std::vector<int> CodesOf(const std::string& kind, const std::string& phase) {
  const bool is_load = phase == "load";
  if (kind == "out-of-memory") return is_load ? std::vector{245000, 207001} : std::vector{207018};
  if (kind == "card-lost") return is_load ? std::vector{507033, 507901} : std::vector{507901};
  if (kind == "ecc") return {507054};
  if (kind == "task-timeout") return is_load ? std::vector{207020} : phase == "run" ? std::vector{507014} : phase == "sync" ? std::vector{507046} : std::vector{107020};
  if (kind == "operator-exception") return is_load ? std::vector{545001} : phase == "run" || phase == "sync" ? std::vector{507015} : std::vector{507013};
  if (kind == "hang") return is_load ? std::vector{507033, 507010} : std::vector{507046, 507010};
  return is_load ? std::vector{507033, 207006} : std::vector{207006};
}

/** Whether the text names one of the codes, with its name and its meaning in plain words. */
bool Explains(const std::string& text, const std::vector<int>& codes) {
  for (const int code : codes) {
    if (text.find(npu_console::ascend::DescribeAclError(code)) != std::string::npos) return true;
  }
  return false;
}

void Meet(CardServer& server, const CardModel& struck, const CardModel& other, const CardModel& newcomer, const std::string& kind, const std::string& phase,
          const std::string& more) {
  const std::string fault = R"({"kind": ")" + kind + R"(", "device": 0, "phase": ")" + phase + "\"" + more + "}";
  const auto fail = [&](const std::string& what) { throw std::runtime_error(std::string(struck.backend) + ", " + fault + ": " + what); };
  UseFaults(fault);
  const bool is_load = phase == "load";
  const std::string said = is_load ? server.Serve(newcomer) : server.Infer(struck);
  if (said.empty()) fail("nothing failed");
  if (!Explains(said, CodesOf(kind, phase))) fail("the cause is not explained: " + said);
  if (const std::string wrong = server.Infer(other); !wrong.empty()) fail("the other card failed too: " + wrong);
  UseFaults("");
  std::string problem;
  if (is_load) {
    // What did not load leaves nothing in the way of the next attempt.
    if (const std::string again = server.Serve(newcomer); !again.empty()) fail("the next load failed: " + again);
    if (const std::string wrong = server.Infer(newcomer); !wrong.empty()) fail("the model loaded next failed: " + wrong);
    if (const std::string left = server.Unload(newcomer); !left.empty()) fail("unloading failed: " + left);
  }
  const double seconds = server.Recover(struck, RECOVERY_SECONDS, problem);
  if (seconds < 0) fail("not back within " + std::to_string(RECOVERY_SECONDS) + " s: " + problem);
  std::printf("%s %s in %s%s: back after %.2f s\n", struck.backend, kind.c_str(), phase.c_str(), more.empty() ? "" : " until a reset", seconds);
}

void MeetAll(const char* backend) {
  CardServer server;
  const CardModel struck{1, backend, 0};
  const CardModel other{2, backend, 1};
  const CardModel newcomer{3, backend, 0};
  EXPECT_EQ(server.Serve(struck), "");
  EXPECT_EQ(server.Serve(other), "");
  EXPECT_EQ(server.Infer(struck), "");
  // All cells, then the verdict: one that is wrong hides no other.
  std::string failures;
  const auto meet = [&](const char* kind, const char* phase, const char* more) {
    try {
      Meet(server, struck, other, newcomer, kind, phase, more);
    } catch (const std::exception& error) {
      failures += std::string("\n") + error.what();
      UseFaults("");
      std::string problem;
      if (server.Recover(struck, RECOVERY_SECONDS, problem) < 0) throw std::runtime_error(failures + "\nand the card stays away: " + problem);
    }
  };
  for (const char* kind : KINDS) {
    for (const char* phase : PHASES) meet(kind, phase, "");
  }
  // Cards that have to be reset: what real ones want after most faults of the hardware.
  for (const char* kind : {"card-lost", "ecc", "operator-exception"}) {
    for (const char* phase : {"copy-in", "run", "copy-out"}) meet(kind, phase, R"(, "needsReset": true)");
  }
  EXPECT_EQ(failures, "");
  EXPECT_EQ(server.Unload(struck), "");
  EXPECT_EQ(server.Unload(other), "");
  EXPECT_EQ(server.Count(TRITONHOST_EVENT_VIOLATION), 0U);
}

}  // namespace

TEST(FaultsGe, fail_the_right_requests_with_the_cause_and_pass) { MeetAll("npu_ge"); }
TEST(FaultsOm, fail_the_right_requests_with_the_cause_and_pass) { MeetAll("npu_om"); }
