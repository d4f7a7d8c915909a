#include "ascend/dcmi.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>

#include "ascend/dynamic_library.h"
#include "ascend/error.h"
#include "dcmi_interface_api.h"

namespace npu_console::ascend {

namespace {

/** Exported by our simulated libraries only. */
constexpr char SIMULATOR_MARK[] = "npu_console_simulated_cann";
constexpr int MAXIMUM_CARDS = 64;
constexpr int MAXIMUM_PROCESSES = 32;
/** The library writes as many as there are, whatever it is told: room for more than its documents promise. */
constexpr int PROCESS_ROOM = 512;
constexpr unsigned MAXIMUM_ERROR_CODES = 128;
constexpr unsigned ABSENT = 0xFFFFFFFF;

#define DCMI_REQUIRED(apply) apply(dcmi_init) apply(dcmi_get_card_list) apply(dcmi_get_device_num_in_card)
/** What an older or newer driver may lack is a value that it does not tell. */
#define DCMI_OPTIONAL(apply)                                                                                                                \
  apply(dcmi_get_driver_version) apply(dcmi_get_device_type) apply(dcmi_get_device_logic_id) apply(dcmi_get_device_chip_info)               \
  apply(dcmi_get_device_pcie_info_v2) apply(dcmi_get_device_health) apply(dcmi_get_device_power_info) apply(dcmi_get_device_temperature)    \
  apply(dcmi_get_device_utilization_rate) apply(dcmi_get_device_hbm_info) apply(dcmi_get_device_memory_info_v3)                             \
  apply(dcmi_get_device_errorcode_v2) apply(dcmi_get_device_resource_info) apply(dcmi_get_device_frequency)

struct Table {
#define DCMI_MEMBER(name) decltype(&::name) name = nullptr;
  DCMI_REQUIRED(DCMI_MEMBER)
  DCMI_OPTIONAL(DCMI_MEMBER)
#undef DCMI_MEMBER
  bool is_simulated = false;
};

std::vector<std::vector<std::string>> Places(const std::string& directory) {
  if (!directory.empty()) return {{"libdcmi.so"}};
  return {{"libdcmi.so"}, {"/usr/local/dcmi/libdcmi.so"}, {"/usr/local/Ascend/driver/lib64/driver/libdcmi.so"}};
}

std::unique_ptr<Table> Open(const std::string& directory) {
  const DynamicLibraries library = DynamicLibraries::Open("the driver's management library DCMI", directory, Places(directory), RTLD_NOW | RTLD_LOCAL);
  auto table = std::make_unique<Table>();
#define DCMI_GET(name) table->name = reinterpret_cast<decltype(&::name)>(library.Get(#name));
#define DCMI_FIND(name) table->name = reinterpret_cast<decltype(&::name)>(library.Find(#name));
  DCMI_REQUIRED(DCMI_GET)
  DCMI_OPTIONAL(DCMI_FIND)
#undef DCMI_GET
#undef DCMI_FIND
  table->is_simulated = library.Find(SIMULATOR_MARK) != nullptr;
  if (const int code = table->dcmi_init(); code != DCMI_OK) {
    throw Error(ErrorKind::Unavailable, "dcmi_init failed with " + std::to_string(code), code);
  }
  return table;
}

/** Opened and initialised once a directory and process; one that could not be is tried again by the next reading. */
const Table& TableOf(const std::string& directory) {
  static std::mutex mutex;
  // Never freed: a reading that hangs may outlive static destructors.
  static auto* tables = new std::map<std::string, std::unique_ptr<Table>>();
  const std::lock_guard lock(mutex);
  std::unique_ptr<Table>& table = (*tables)[directory];
  if (table == nullptr) table = Open(directory);
  return *table;
}

/** What a function of the library writes into its last argument, where it is there and succeeds. */
template <typename Value, typename... Parameters, typename... Arguments>
std::optional<Value> Ask(int (*function)(Parameters...), Arguments... arguments) {
  Value value{};
  if (function == nullptr || function(arguments..., &value) != DCMI_OK) return std::nullopt;
  return value;
}

template <std::size_t size>
std::string Text(const unsigned char (&bytes)[size]) {
  std::string text(reinterpret_cast<const char*>(bytes), size);
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

std::string BusId(const dcmi_pcie_info_all& info) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", static_cast<unsigned>(info.domain) & 0xFFFFu, info.bdf_busid & 0xFFu, info.bdf_deviceid & 0x1Fu, info.bdf_funcid & 0x7u);
  return text;
}

std::optional<unsigned> Percent(const Table& table, int card, int chip, dcmi_utilization_type type) {
  const auto value = Ask<unsigned>(table.dcmi_get_device_utilization_rate, card, chip, static_cast<int>(type));
  // A card that cannot say answers a number that is no percentage.
  return value && *value <= 100 ? value : std::nullopt;
}

/** High-bandwidth memory where the chip has some, else its DDR. */
void ReadMemory(const Table& table, DcmiChip& chip) {
  constexpr std::uint64_t megabyte = 1u << 20;
  if (const auto hbm = Ask<dcmi_hbm_info>(table.dcmi_get_device_hbm_info, chip.card, chip.chip); hbm && hbm->memory_size > 0) {
    chip.memory_total_bytes = hbm->memory_size * megabyte;
    chip.memory_used_bytes = hbm->memory_usage * megabyte;
    chip.hbm_temperature_celsius = hbm->temp;
    if (hbm->bandwith_util_rate <= 100) chip.hbm_bandwidth_percent = hbm->bandwith_util_rate;
    return;
  }
  const auto ddr = Ask<dcmi_get_memory_info_stru>(table.dcmi_get_device_memory_info_v3, chip.card, chip.chip);
  if (!ddr || ddr->memory_size == 0) return;
  chip.memory_total_bytes = ddr->memory_size * megabyte;
  if (ddr->memory_available <= ddr->memory_size) chip.memory_used_bytes = (ddr->memory_size - ddr->memory_available) * megabyte;
}

std::optional<std::vector<unsigned>> ErrorCodes(const Table& table, int card, int chip) {
  std::array<unsigned, MAXIMUM_ERROR_CODES> codes{};
  int count = 0;
  if (table.dcmi_get_device_errorcode_v2 == nullptr || table.dcmi_get_device_errorcode_v2(card, chip, &count, codes.data(), MAXIMUM_ERROR_CODES) != DCMI_OK) return std::nullopt;
  count = std::min(std::max(count, 0), static_cast<int>(MAXIMUM_ERROR_CODES));
  return std::vector<unsigned>(codes.begin(), codes.begin() + count);
}

std::optional<std::vector<DcmiProcess>> Processes(const Table& table, int card, int chip) {
  std::vector<dcmi_proc_mem_info> entries(PROCESS_ROOM);
  int count = MAXIMUM_PROCESSES;
  if (table.dcmi_get_device_resource_info == nullptr || table.dcmi_get_device_resource_info(card, chip, entries.data(), &count) != DCMI_OK) return std::nullopt;
  std::vector<DcmiProcess> processes;
  for (int index = 0; index < std::min(count, PROCESS_ROOM); index++) {
    const auto& entry = entries[static_cast<std::size_t>(index)];
    processes.push_back({entry.proc_id, entry.proc_mem_usage});
  }
  return processes;
}

DcmiChip ReadChip(const Table& table, int card, int index) {
  DcmiChip chip{};
  chip.card = card;
  chip.chip = index;
  // The only function whose result is not its last argument.
  int logical_id = 0;
  if (table.dcmi_get_device_logic_id != nullptr && table.dcmi_get_device_logic_id(&logical_id, card, index) == DCMI_OK) chip.logical_id = logical_id;
  if (const auto info = Ask<dcmi_chip_info>(table.dcmi_get_device_chip_info, card, index)) chip.name = Text(info->chip_name);
  if (const auto info = Ask<dcmi_pcie_info_all>(table.dcmi_get_device_pcie_info_v2, card, index)) chip.bus_id = BusId(*info);
  chip.health = Ask<unsigned>(table.dcmi_get_device_health, card, index);
  if (chip.health == ABSENT) chip.health.reset();
  if (const auto tenths = Ask<int>(table.dcmi_get_device_power_info, card, index)) chip.power_watts = *tenths / 10.0;
  chip.temperature_celsius = Ask<int>(table.dcmi_get_device_temperature, card, index);
  chip.ai_core_percent = Percent(table, card, index, DCMI_UTILIZATION_AICORE);
  chip.vector_core_percent = Percent(table, card, index, DCMI_UTILIZATION_VECTORCORE);
  chip.cube_core_percent = Percent(table, card, index, DCMI_UTILIZATION_AICUBE);
  chip.overall_percent = Percent(table, card, index, DCMI_UTILIZATION_NPU);
  chip.ai_core_megahertz = Ask<unsigned>(table.dcmi_get_device_frequency, card, index, DCMI_FREQ_AICORE_CURRENT);
  ReadMemory(table, chip);
  chip.error_codes = ErrorCodes(table, card, index);
  chip.processes = Processes(table, card, index);
  return chip;
}

}  // namespace

DcmiReading ReadDcmi(const std::string& directory) {
  const Table& table = TableOf(directory);
  DcmiReading reading;
  reading.is_simulated = table.is_simulated;
  char version[256] = {};
  if (table.dcmi_get_driver_version != nullptr && table.dcmi_get_driver_version(version, sizeof version - 1) == DCMI_OK) reading.driver_version = version;
  int cards[MAXIMUM_CARDS] = {};
  int card_count = 0;
  if (const int code = table.dcmi_get_card_list(&card_count, cards, MAXIMUM_CARDS); code != DCMI_OK) {
    throw Error(ErrorKind::Unavailable, "dcmi_get_card_list failed with " + std::to_string(code), code);
  }
  for (int index = 0; index < std::min(card_count, MAXIMUM_CARDS); index++) {
    const int card = cards[index];
    const int chip_count = Ask<int>(table.dcmi_get_device_num_in_card, card).value_or(0);
    for (int chip = 0; chip < chip_count; chip++) {
      // The management controller of a card counts as one of its devices.
      const auto type = Ask<dcmi_unit_type>(table.dcmi_get_device_type, card, chip);
      if (!type || *type == NPU_TYPE) reading.chips.push_back(ReadChip(table, card, chip));
    }
  }
  return reading;
}

}  // namespace npu_console::ascend
