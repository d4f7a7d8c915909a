// What an operator sees of simulated cards: DCMI, npu-smi, and the atc command; and that runs take the time of the modelled chip.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "acl/acl.h"
#include "core/loaded_model.h"
#include "core/shared_state.h"
#include "dcmi_interface_api.h"
#include "test/check.h"
#include "test/fixture.h"

using fixture::UseCards;

namespace {

/** Runs a shell command. @returns its output */
std::string Command(const std::string &command, int *status = nullptr) {
  std::array<char, 512> buffer{};
  std::string output;
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "";
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) output += buffer.data();
  const int result = pclose(pipe);
  if (status != nullptr) *status = WEXITSTATUS(result);
  return output;
}

std::string Smi(const std::string &arguments, int *status = nullptr) { return Command(TEST_EMULATOR TEST_BIN_DIR "/npu-smi " + arguments, status); }
std::string Atc(const std::string &arguments, int *status = nullptr) { return Command(TEST_EMULATOR TEST_BIN_DIR "/atc " + arguments, status); }
bool Has(const std::string &text, const std::string &part) {
  if (text.find(part) != std::string::npos) return true;
  std::cerr << "not found: " << part << " in:\n" << text;
  return false;
}

/** Cells of the first table line that has `part` in it, blanks at both ends cut off. */
std::vector<std::string> Cells(const std::string &table, const std::string &part) {
  std::vector<std::string> cells;
  const size_t found = table.find(part);
  if (found == std::string::npos) return cells;
  const size_t start = table.rfind('\n', found) + 1;
  const std::string line = table.substr(start, table.find('\n', found) - start);
  for (size_t at = 1; at < line.size();) {
    const size_t end = line.find('|', at);
    if (end == std::string::npos) break;
    const std::string cell = line.substr(at, end - at);
    const size_t first = cell.find_first_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
    at = end + 1;
  }
  return cells;
}

/** As if a run had kept the chip busy for one second. */
void MakeLoad(int device, double share) { simulator::SharedState::Instance().RecordRun(device, 1.2, share, share / 2, 1e9); }

}  // namespace

TEST(dcmi_wants_init_and_lists_cards_and_chips) {
  UseCards({"310P3-duo", "910B3"});
  int count = 0;
  int cards[8] = {};
  int chips = 0;
  int logic = 0;
  dcmi_unit_type type = INVALID_TYPE;
  CHECK_EQ(dcmi_get_card_list(&count, cards, 8), DCMI_ERR_CODE_NOT_READY);
  CHECK_EQ(dcmi_init(), DCMI_OK);
  CHECK_EQ(dcmi_get_card_list(&count, cards, 8), DCMI_OK);
  CHECK_EQ(count, 2);
  CHECK_EQ(dcmi_get_device_num_in_card(0, &chips), DCMI_OK);
  CHECK_EQ(chips, 2);
  CHECK_EQ(dcmi_get_device_logic_id(&logic, 1, 0), DCMI_OK);
  CHECK_EQ(logic, 2);
  CHECK_EQ(dcmi_get_device_type(0, 1, &type), DCMI_OK);
  CHECK_EQ(type, NPU_TYPE);
  CHECK_EQ(dcmi_get_device_type(0, 2, &type), DCMI_ERR_CODE_INVALID_DEVICE_ID);
  CHECK_EQ(dcmi_get_device_type(0, 0, nullptr), DCMI_ERR_CODE_INVALID_PARAMETER);
}

TEST(dcmi_follows_the_load) {
  UseCards({"910B3", "310P3"});
  CHECK_EQ(dcmi_init(), DCMI_OK);
  unsigned rate = 0;
  int idlePower = 0;
  int power = 0;
  int idleTemperature = 0;
  int temperature = 0;
  CHECK_EQ(dcmi_get_device_utilization_rate(0, 0, DCMI_UTILIZATION_AICORE, &rate), DCMI_OK);
  CHECK_EQ(rate, 0u);
  CHECK_EQ(dcmi_get_device_power_info(0, 0, &idlePower), DCMI_OK);
  CHECK_EQ(idlePower, 950);
  CHECK_EQ(dcmi_get_device_temperature(0, 0, &idleTemperature), DCMI_OK);
  for (int second = 0; second < 10; second++) MakeLoad(0, 0.6);
  CHECK_EQ(dcmi_get_device_utilization_rate(0, 0, DCMI_UTILIZATION_AICORE, &rate), DCMI_OK);
  CHECK(rate > 40);
  CHECK_EQ(dcmi_get_device_power_info(0, 0, &power), DCMI_OK);
  CHECK(power > idlePower + 500);
  CHECK_EQ(dcmi_get_device_temperature(0, 0, &temperature), DCMI_OK);
  CHECK(temperature > idleTemperature + 5);
  CHECK_EQ(dcmi_get_device_utilization_rate(1, 0, DCMI_UTILIZATION_AICORE, &rate), DCMI_OK);
  CHECK_EQ(rate, 0u);
  CHECK_EQ(dcmi_get_device_power_info(1, 0, &power), DCMI_ERR_CODE_NOT_SUPPORT);
  CHECK_EQ(dcmi_get_device_utilization_rate(1, 0, DCMI_UTILIZATION_HBM, &rate), DCMI_ERR_CODE_NOT_SUPPORT);
  CHECK_EQ(dcmi_get_device_utilization_rate(0, 0, 99, &rate), DCMI_ERR_CODE_INVALID_PARAMETER);
}

TEST(dcmi_shows_memory_and_processes) {
  UseCards({"910B3"});
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  CHECK_EQ(dcmi_init(), DCMI_OK);
  void *memory = nullptr;
  dcmi_hbm_info before{};
  dcmi_hbm_info after{};
  CHECK_EQ(dcmi_get_device_hbm_info(0, 0, &before), DCMI_OK);
  CHECK_EQ(before.memory_size, 65536ull);
  CHECK_EQ(before.memory_usage, 3369ull);
  CHECK_EQ(aclrtMalloc(&memory, 100 << 20, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  CHECK_EQ(dcmi_get_device_hbm_info(0, 0, &after), DCMI_OK);
  CHECK_EQ(after.memory_usage, before.memory_usage + 100);
  dcmi_proc_mem_info processes[32] = {};
  int count = 0;
  CHECK_EQ(dcmi_get_device_resource_info(0, 0, processes, &count), DCMI_OK);
  CHECK_EQ(count, 1);
  CHECK_EQ(processes[0].proc_id, getpid());
  CHECK(processes[0].proc_mem_usage >= 100ul << 20);
  CHECK_EQ(aclrtFree(memory), ACL_SUCCESS);
  CHECK_EQ(dcmi_get_device_resource_info(0, 0, processes, &count), DCMI_OK);
  CHECK_EQ(count, 0);
}

TEST(memory_of_a_dead_process_is_forgotten) {
  UseCards({"910B3"});
  const pid_t child = fork();
  if (child == 0) {
    // Ends without giving anything back.
    const bool taken = simulator::SharedState::Instance().ReserveMemory(0, 7ull << 30);
    _exit(taken ? 0 : 1);
  }
  int status = 1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(simulator::SharedState::Instance().MemoryInUse(0) >> 20, 3369u);
  CHECK(simulator::SharedState::Instance().Processes(0).empty());
}

TEST(dcmi_tells_faults) {
  UseCards({"910B3", "910B3"}, "{\"kind\": \"permission\"}");
  CHECK_EQ(dcmi_init(), DCMI_ERR_CODE_INNER_ERR);
  UseCards({"910B3", "910B3"}, "{\"kind\": \"ecc\", \"device\": 0}, {\"kind\": \"card-lost\", \"device\": 1}");
  CHECK_EQ(dcmi_init(), DCMI_OK);
  unsigned health = 9;
  int value = 0;
  int count = 0;
  unsigned codes[4] = {};
  CHECK_EQ(dcmi_get_device_health(0, 0, &health), DCMI_OK);
  CHECK_EQ(health, 3u);
  CHECK_EQ(dcmi_get_device_errorcode_v2(0, 0, &count, codes, 4), DCMI_OK);
  CHECK_EQ(count, 1);
  CHECK_EQ(dcmi_get_device_health(1, 0, &health), DCMI_OK);
  CHECK_EQ(health, 0xFFFFFFFFu);
  CHECK_EQ(dcmi_get_device_temperature(1, 0, &value), DCMI_ERR_CODE_DEVICE_NOT_EXIST);
}

TEST(npu_smi_table_of_910B) {
  UseCards({"910B3", "910B3"});
  const std::string table = Smi("info");
  CHECK(Has(table, "[simulated]"));
  CHECK(Has(table, "| Chip "));
  CHECK(Has(table, "HBM-Usage(MB)"));
  const auto first = Cells(table, "1       910B3");
  REQUIRE(first.size() == 3);
  CHECK_EQ(first[1], "OK");
  CHECK(Has(first[2], "95.0"));
  const auto second = Cells(table, "0000:21:00.0");
  REQUIRE(second.size() == 3);
  CHECK_EQ(second[0], "0");
  CHECK(Has(second[2], "3369  / 65536"));
  CHECK(Has(table, "No running processes found in NPU 1"));
}

TEST(npu_smi_table_of_310P_duo) {
  UseCards({"310P3-duo"});
  const std::string table = Smi("info");
  CHECK(Has(table, "Device"));
  const auto first = Cells(table, "0       310P3");
  REQUIRE(first.size() == 3);
  CHECK(Has(first[2], "NA"));
  const auto chip = Cells(table, "0000:21:00.0");
  REQUIRE(chip.size() == 3);
  CHECK_EQ(chip[0], "1       1");
  CHECK(Has(chip[2], "1529 / 44280"));
}

TEST(npu_smi_table_of_A3_and_950) {
  UseCards({"910_9382"});
  const std::string a3 = Smi("info");
  CHECK(Has(a3, "Phy-ID"));
  CHECK(Has(a3, "Ascend910"));
  const auto chip = Cells(a3, "0000:21:00.0");
  REQUIRE(chip.size() == 3);
  CHECK_EQ(chip[0], "1       1");
  UseCards({"950PR"});
  CHECK(Has(Smi("info"), "NPU Util(%)"));
}

TEST(npu_smi_types_lists_and_mistakes) {
  UseCards({"910B3", "310P3"});
  int status = 0;
  CHECK(Has(Smi("info -t usages -i 0"), "HBM Capacity(MB)               : 65536"));
  CHECK(Has(Smi("info -t usages -i 1 -c 0"), "DDR Capacity(MB)               : 21525"));
  CHECK(Has(Smi("info -t common -i 0"), "Aicore Count                   : 20"));
  CHECK(Has(Smi("info -t power -i 0"), "NPU Real-time Power(W)         : 95.0"));
  CHECK(Has(Smi("info -t health -i 0"), "Health                         : OK"));
  CHECK(Has(Smi("info -t board -i 1"), "(simulated)"));
  CHECK(Has(Smi("info -t memory -i 1"), "Total DDR Capacity(MB)         : 21525"));
  CHECK(Has(Smi("info -t temp -i 1"), "NPU Temperature (C)            : 45"));
  CHECK(Has(Smi("info -l"), "Total Count                    : 2"));
  CHECK(Has(Smi("info -m"), "Ascend 310P3"));
  Smi("info -t power -i 7", &status);
  CHECK_EQ(status, 1);
  Smi("info -t nonsense -i 0", &status);
  CHECK_EQ(status, 1);
  Smi("", &status);
  CHECK_EQ(status, 1);
  UseCards({"910B3"}, "{\"kind\": \"permission\"}");
  CHECK(Has(Smi("info", &status), "dcmi module initialize failed. ret is -8005"));
  CHECK_EQ(status, 1);
}

TEST(npu_smi_sees_the_processes_of_others) {
  // Given here, since under an emulator the process bears the emulator's.
  CHECK_EQ(prctl(PR_SET_NAME, "cards' user"), 0);
  UseCards({"910B3"});
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  void *memory = nullptr;
  CHECK_EQ(aclrtMalloc(&memory, 64 << 20, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  // As long as the command takes to start: the cards tell of the last second.
  std::atomic<bool> has_ended{false};
  std::thread load([&] {
    while (!has_ended) {
      MakeLoad(0, 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  const std::string table = Smi("info");
  has_ended = true;
  load.join();
  const auto row = Cells(table, std::to_string(getpid()));
  REQUIRE(row.size() == 3);
  CHECK(Has(row[2], "cards' user"));
  CHECK(Has(row[2], "64"));
  CHECK(Has(table, "3433  / 65536"));
  const auto chip = Cells(table, "0000:01:00.0");
  REQUIRE(chip.size() == 3);
  CHECK(std::atoi(chip[2].c_str()) > 50);
  CHECK(Has(Smi("info -t proc-mem -i 0"), "Process id:" + std::to_string(getpid())));
}

TEST(atc_makes_a_model_that_runs) {
  UseCards({"910B3"});
  const std::string directory = fixture::Directory();
  const std::string onnx = fixture::LinearModel(-1);
  fixture::WriteFile(directory + "/linear.onnx", onnx);
  int status = 1;
  CHECK(Has(Atc("--model=" + directory + "/linear.onnx --framework=5 --output=" + directory +
                    "/linear --soc_version=Ascend910B3 --input_shape=\"x:-1,4\" --dynamic_batch_size=1,4 --aicore_num=\"12|10\"", &status),
            "ATC run success"));
  CHECK_EQ(status, 0);
  const std::string info = Atc("--mode=6 --om=" + directory + "/linear.om");
  CHECK(Has(info, "soc_version: Ascend910B3"));
  CHECK(Has(info, "cores: 12|10"));
  CHECK(Has(info, "gear: 4"));
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  uint32_t id = 0;
  CHECK_EQ(aclmdlLoadFromFile((directory + "/linear.om").c_str(), &id), ACL_SUCCESS);
  CHECK_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST(atc_says_what_is_wrong) {
  UseCards({"910B3"});
  const std::string directory = fixture::Directory();
  fixture::WriteFile(directory + "/linear.onnx", fixture::LinearModel(-1));
  const std::string base = "--model=" + directory + "/linear.onnx --output=" + directory + "/out --soc_version=Ascend910B3 ";
  int status = 0;
  CHECK(Has(Atc(base + "--framework=3", &status), "only ONNX"));
  CHECK_EQ(status, 1);
  CHECK(Has(Atc(base + "--framework=5 --frobnicate=1", &status), "unknown option --frobnicate"));
  CHECK(Has(Atc(base + "--framework=5 --dynamic_batch_size=1,2 --dynamic_dims=\"1;2\" --input_format=ND", &status), "only one of"));
  CHECK(Has(Atc(base + "--framework=5 --precision_mode=force_fp16 --precision_mode_v2=fp16", &status), "exclude each other"));
  CHECK(Has(Atc(base + "--framework=5 --dynamic_dims=\"1;2\"", &status), "needs --input_format=ND"));
  CHECK(Has(Atc("--framework=5 --model=" + directory + "/none.onnx --output=x --soc_version=Ascend910B3", &status), "cannot be read"));
  CHECK(Has(Atc("--framework=5 --model=" + directory + "/linear.onnx --output=x", &status), "--soc_version is missing"));
  CHECK_EQ(status, 1);
}

TEST(bigger_gears_and_fewer_cores_take_longer) {
  UseCards({"910B3"}, "", "\"timeScale\": 1000");
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  simulator::Device &device = *simulator::Runtime::Instance().FindDevice(0);
  // The model of time: launch, work over the cores, bytes over the bandwidth.
  simulator::CompiledModel model;
  model.onnx.assign(40 << 20, 'x');
  const double small = simulator::RunMicroseconds(model, device.profile, {{1, 4}}, 20);
  const double large = simulator::RunMicroseconds(model, device.profile, {{64, 4}}, 20);
  const double limited = simulator::RunMicroseconds(model, device.profile, {{64, 4}}, 5);
  CHECK(large > small * 1.01);
  CHECK(limited > large * 1.01);
  // And a run lasts as long as the model says: 1000 times 40 us and more.
  simulator::CompileRequest request;
  request.soc = "Ascend910B3";
  std::string error;
  simulator::TaskResult problem;
  const auto compiled = simulator::Compile(fixture::LinearModel(1), request, error);
  REQUIRE(compiled != nullptr);
  const auto loaded = simulator::LoadedModel::Load(compiled, device, true, true, problem);
  REQUIRE(loaded != nullptr);
  std::vector<float> values = fixture::Ramp(4);
  const auto start = std::chrono::steady_clock::now();
  const auto result = loaded->Run({{values.data(), 16, {1, 4}}}, {20, 40}, nullptr, [](size_t, const simulator::TensorView &, std::string &) { return true; });
  CHECK_EQ(result.code, ACL_SUCCESS);
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(40));
  CHECK(simulator::SharedState::Instance().Load(0).heat > 0);
}

TEST(runs_that_do_not_fit_on_the_cores_together_wait) {
  simulator::CorePool pool(20);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 6; number++) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; round++) {
        pool.Take(8);
        const int now = ++inside;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        inside--;
        pool.Give(8);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  CHECK(most <= 2);
  CHECK_EQ(inside.load(), 0);
}
