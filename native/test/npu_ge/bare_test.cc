// npu_ge in a server that has nothing but the functions it asks for.
#include <cstdio>
#include <filesystem>

#include "ge_server.h"

namespace fs = std::filesystem;
using namespace ge;

namespace {

const char* const kBackend = PRODUCT_BACKENDS "/npu_ge/libtriton_npu_ge.so";

struct Ended {
  std::string said;
  int status = 0;
};

// Serves the linear model in a process of its own.
Ended Serve(const std::string& cann_directory, const std::string& backend = kBackend) {
  UseFaults("");
  const std::string directory = fixture::Directory() + "/bare";
  fs::create_directories(directory + "/1");
  fixture::WriteFile(directory + "/1/model.onnx", fixture::LinearModel(-1));
  const std::string cann = cann_directory.empty() ? "" : R"("cann-library-directory":")" + cann_directory + "\",";
  const std::string settings = R"({"cmdline":{)" + cann + R"("work-directory":")" + WorkDirectory() + "\"}}";
  const std::string command = std::string(BARE_HOST) + " " + backend + " '" + settings + "' " + directory + " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  EXPECT(pipe != nullptr);
  Ended ended;
  for (char part[256]; std::fgets(part, sizeof(part), pipe) != nullptr;) ended.said += part;
  ended.status = pclose(pipe);
  return ended;
}

// A folder with CANN's libraries, but for one: another file under its name, or none.
std::string CannBut(const std::string& library, const std::string& other) {
  static int number = 0;
  const fs::path directory = fixture::Directory() + "/cann" + std::to_string(++number);
  fs::create_directories(directory);
  for (const auto& entry : fs::directory_iterator(TEST_LIBRARY_DIR)) {
    if (entry.path().filename() != library) fs::create_symlink(entry.path(), directory / entry.path().filename());
  }
  if (!other.empty()) fs::create_symlink(other, directory / library);
  return directory.string();
}

}  // namespace

TEST(Bare, runs_in_a_server_that_has_nothing_but_the_functions_it_asks_for) {
  const Ended ended = Serve(TEST_LIBRARY_DIR);
  std::string expected;
  for (const float value : Linear(fixture::Ramp(4))) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.9g\n", static_cast<double>(value));
    expected += text;
  }
  EXPECT_EQ(ended.said, expected);
  EXPECT_EQ(ended.status, 0);
}

TEST(Bare, says_which_library_is_missing_and_how_to_get_it) {
  const auto fails = [](const std::string& cann_directory, const std::vector<std::string>& parts) {
    const Ended ended = Serve(cann_directory);
    EXPECT(ended.status != 0);
    for (const std::string& part : parts) EXPECT_CONTAINS(ended.said, part);
  };
  fails("", {"AscendCL (CANN) cannot be opened. Tried: libacl_rt.so", "libascendcl.so", "Install CANN and start the server with the environment of its set_env.sh; npu-console doctor shows what was found"});
  const std::string nowhere = fixture::Directory() + "/nowhere";
  fails(nowhere, {"AscendCL (CANN) cannot be opened. Tried: " + nowhere + "/libacl_rt.so", "Set cann-library-directory to the lib64 folder of an installed CANN"});
  const std::string without = CannBut("libfmk_onnx_parser.so", "");
  fails(without, {"the ONNX parser (GE) cannot be opened. Tried: " + without + "/libfmk_onnx_parser.so"});
}

TEST(Bare, says_which_function_is_missing) {
  const std::string library_directory = TEST_LIBRARY_DIR;
  const std::string mixed = CannBut("libacl_rt.so", library_directory + "/libdcmi.so");
  EXPECT_CONTAINS(Serve(mixed).said, "the function aclInit is missing in " + mixed + "/libacl_rt.so");
  EXPECT_CONTAINS(Serve(mixed).said, "this CANN is older than what is needed, or two versions are mixed in LD_LIBRARY_PATH");
  const std::string old = Serve(CannBut("libge_runner.so", library_directory + "-8.2/libge_runner.so")).said;
  EXPECT_CONTAINS(old, "The bridge to the graph engine (GE) cannot be used with this CANN; CANN 8.0.RC3 or later with its toolkit is needed");
  EXPECT_CONTAINS(old, "this CANN has no ge::Session::ExecuteGraphWithStreamAsync: CANN 8.0.RC3 or later is needed");
  const std::string none = Serve(CannBut("libge_runner.so", library_directory + "/libge_common_base.so")).said;
  EXPECT_CONTAINS(none, "The bridge to the graph engine (GE) cannot be used with this CANN");
  EXPECT_CONTAINS(none, "undefined symbol");
}

TEST(Bare, says_where_its_bridge_should_be) {
  const fs::path directory = fixture::Directory() + "/alone/backends/npu_ge";
  fs::create_directories(directory);
  fs::copy_file(kBackend, directory / "libtriton_npu_ge.so");
  const Ended ended = Serve(TEST_LIBRARY_DIR, (directory / "libtriton_npu_ge.so").string());
  EXPECT(ended.status != 0);
  EXPECT_CONTAINS(ended.said, "The bridge to the graph engine (GE), libnpu_ge_bridge.so, is not in " + fixture::Directory() + "/alone");
  EXPECT_CONTAINS(ended.said, "Install the backend whole, or build it (npm ci)");
}
