// The simulated libdcmi.so.
#include "dcmi_interface_api.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "core/telemetry.h"

using namespace simulator;

namespace {

std::atomic<bool> isInitialized{false};

/** Finds the chip, or says with DCMI's code why there is none. */
int FindChip(int card, int chip, const void *result, Reading &reading) {
  if (!isInitialized) return DCMI_ERR_CODE_NOT_READY;
  if (result == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  const int device = LogicId(card, chip);
  if (device < 0) return DCMI_ERR_CODE_INVALID_DEVICE_ID;
  reading = Read(device);
  return reading.isLost ? DCMI_ERR_CODE_DEVICE_NOT_EXIST : DCMI_OK;
}

unsigned Percent(double value) { return static_cast<unsigned>(std::clamp(value, 0.0, 100.0) + 0.5); }

unsigned MemoryPercent(const Reading &reading) {
  const uint64_t total = reading.place->profile->memoryMegabytes;
  return total == 0 ? 0 : static_cast<unsigned>(reading.memoryMegabytes * 100 / total);
}

template <size_t size>
void Copy(unsigned char (&target)[size], const std::string &text) {
  std::memset(target, 0, size);
  std::memcpy(target, text.data(), std::min(size - 1, text.size()));
}

bool CopyText(char *target, size_t room, const std::string &text) {
  if (room <= text.size()) return false;
  std::memcpy(target, text.c_str(), text.size() + 1);
  return true;
}

// What both versions of the structure have.
template <class Info>
void DescribeChip(const Reading &reading, Info &info) {
  Copy(info.chip_type, "Ascend");
  Copy(info.chip_name, reading.place->profile->smiName);
  Copy(info.chip_ver, "V1");
  info.aicore_cnt = static_cast<unsigned>(reading.place->profile->cubeCores);
}

}  // namespace

int dcmi_init() {
  Settings &settings = Settings::Instance();
  if (!settings.problem().empty() || !SharedState::Instance().problem().empty()) return DCMI_ERR_CODE_INNER_ERR;
  // Without permission on the nodes, or with all cards given away, the real library answers the same.
  bool isAnyOpen = settings.devices().empty();
  for (size_t device = 0; device < settings.devices().size(); device++) {
    isAnyOpen = isAnyOpen || !settings.HasWholeFault(FaultKind::Permission, static_cast<int>(device));
  }
  if (!isAnyOpen) return DCMI_ERR_CODE_INNER_ERR;
  isInitialized = true;
  return DCMI_OK;
}

int dcmi_get_card_list(int *card_num, int *card_list, int list_len) {
  if (!isInitialized) return DCMI_ERR_CODE_NOT_READY;
  if (card_num == nullptr || card_list == nullptr || list_len <= 0) return DCMI_ERR_CODE_INVALID_PARAMETER;
  *card_num = std::min(CardCount(), list_len);
  for (int card = 0; card < *card_num; card++) card_list[card] = card;
  return DCMI_OK;
}

int dcmi_get_device_num_in_card(int card_id, int *device_num) {
  if (!isInitialized) return DCMI_ERR_CODE_NOT_READY;
  const int device = LogicId(card_id, 0);
  if (device_num == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  if (device < 0) return DCMI_ERR_CODE_INVALID_DEVICE_ID;
  *device_num = Settings::Instance().devices()[static_cast<size_t>(device)].profile->chipsPerCard;
  return DCMI_OK;
}

int dcmi_get_device_id_in_card(int card_id, int *device_id_max, int *mcu_id, int *cpu_id) {
  if (mcu_id == nullptr || cpu_id == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  *mcu_id = -1;
  *cpu_id = -1;
  return dcmi_get_device_num_in_card(card_id, device_id_max);
}

int dcmi_get_device_type(int card_id, int device_id, enum dcmi_unit_type *device_type) {
  Reading reading{};
  const int code = FindChip(card_id, device_id, device_type, reading);
  if (code == DCMI_OK) *device_type = NPU_TYPE;
  return code;
}

int dcmi_get_device_logic_id(int *device_logic_id, int card_id, int device_id) {
  Reading reading{};
  const int code = FindChip(card_id, device_id, device_logic_id, reading);
  if (code == DCMI_OK) *device_logic_id = reading.device;
  return code;
}

int dcmi_get_device_utilization_rate(int card_id, int device_id, int input_type, unsigned int *utilization_rate) {
  Reading reading{};
  if (const int code = FindChip(card_id, device_id, utilization_rate, reading); code != DCMI_OK) return code;
  const Profile &profile = *reading.place->profile;
  switch (input_type) {
    case DCMI_UTILIZATION_AICORE: case DCMI_UTILIZATION_NPU: *utilization_rate = Percent(reading.cubePercent); return DCMI_OK;
    case DCMI_UTILIZATION_AICUBE:
      if (profile.layout == SmiLayout::Card950) return DCMI_ERR_CODE_NOT_SUPPORT;
      *utilization_rate = Percent(reading.cubePercent);
      return DCMI_OK;
    case DCMI_UTILIZATION_VECTORCORE:
      if (profile.vectorCores == 0) return DCMI_ERR_CODE_NOT_SUPPORT;
      *utilization_rate = Percent(reading.vectorPercent);
      return DCMI_OK;
    case DCMI_UTILIZATION_AICPU: *utilization_rate = Percent(reading.cubePercent / 10); return DCMI_OK;
    case DCMI_UTILIZATION_CTRLCPU: *utilization_rate = Percent(2 + reading.cubePercent / 20); return DCMI_OK;
    case DCMI_UTILIZATION_MEMORY: *utilization_rate = MemoryPercent(reading); return DCMI_OK;
    case DCMI_UTILIZATION_MEMORY_BANDWIDTH: *utilization_rate = Percent(reading.bandwidthPercent); return DCMI_OK;
    case DCMI_UTILIZATION_HBM: case DCMI_UTILIZATION_HBM_BANDWIDTH:
      if (!profile.hasHbm) return DCMI_ERR_CODE_NOT_SUPPORT;
      *utilization_rate = input_type == DCMI_UTILIZATION_HBM ? MemoryPercent(reading) : Percent(reading.bandwidthPercent);
      return DCMI_OK;
    case DCMI_UTILIZATION_DDR: *utilization_rate = profile.hasHbm ? 0 : MemoryPercent(reading); return DCMI_OK;
    default: return DCMI_ERR_CODE_INVALID_PARAMETER;
  }
}

int dcmi_get_device_multi_utilization_rate(int card_id, int device_id, struct dcmi_multi_utilization_info *util_info) {
  Reading reading{};
  if (const int code = FindChip(card_id, device_id, util_info, reading); code != DCMI_OK) return code;
  if (reading.place->profile->layout == SmiLayout::Chip310P) return DCMI_ERR_CODE_NOT_SUPPORT;
  *util_info = {};
  util_info->aic_util = Percent(reading.cubePercent);
  util_info->aiv_util = Percent(reading.vectorPercent);
  util_info->aicore_util = util_info->aic_util;
  util_info->npu_util = std::max(util_info->aic_util, util_info->aiv_util);
  return DCMI_OK;
}

int dcmi_get_device_hbm_info(int card_id, int device_id, struct dcmi_hbm_info *hbm_info) {
  Reading reading{};
  if (const int code = FindChip(card_id, device_id, hbm_info, reading); code != DCMI_OK) return code;
  if (!reading.place->profile->hasHbm) return DCMI_ERR_CODE_NOT_SUPPORT;
  *hbm_info = {reading.place->profile->memoryMegabytes, 1600, reading.memoryMegabytes, static_cast<int>(reading.celsius) - 2, Percent(reading.bandwidthPercent)};
  return DCMI_OK;
}

int dcmi_get_device_memory_info_v3(int card_id, int device_id, struct dcmi_get_memory_info_stru *memory_info) {
  Reading reading{};
  if (const int code = FindChip(card_id, device_id, memory_info, reading); code != DCMI_OK) return code;
  *memory_info = {};
  // A chip with HBM has no DDR of its own.
  if (reading.place->profile->hasHbm) return DCMI_OK;
  memory_info->memory_size = reading.place->profile->memoryMegabytes;
  memory_info->memory_available = memory_info->memory_size - std::min(memory_info->memory_size, static_cast<unsigned long long>(reading.memoryMegabytes));
  memory_info->freq = 1600;
  memory_info->hugepagesize = 2048;
  memory_info->utiliza = MemoryPercent(reading);
  return DCMI_OK;
}

int dcmi_get_device_temperature(int card_id, int device_id, int *temperature) {
  Reading reading{};
  const int code = FindChip(card_id, device_id, temperature, reading);
  if (code == DCMI_OK) *temperature = static_cast<int>(reading.celsius + 0.5);
  return code;
}

int dcmi_get_device_power_info(int card_id, int device_id, int *power) {
  Reading reading{};
  if (const int code = FindChip(card_id, device_id, power, reading); code != DCMI_OK) return code;
  // The chips of a 310P card do not measure their power, nor does the second chip of an A3 card.
  if (reading.place->profile->layout == SmiLayout::Chip310P || reading.place->chip > 0) return DCMI_ERR_CODE_NOT_SUPPORT;
  *power = static_cast<int>(reading.watts * 10 + 0.5);
  return DCMI_OK;
}

int dcmi_get_device_health(int card_id, int device_id, unsigned int *health) {
  Reading reading{};
  const int code = FindChip(card_id, device_id, health, reading);
  if (code == DCMI_ERR_CODE_DEVICE_NOT_EXIST) {
    *health = 0xFFFFFFFF;
    return DCMI_OK;
  }
  if (code == DCMI_OK) *health = reading.health;
  return code;
}

int dcmi_get_device_chip_info(int card_id, int device_id, struct dcmi_chip_info *chip_info) {
  Reading reading{};
  if (const int code = FindChip(card_id, device_id, chip_info, reading); code != DCMI_OK) return code;
  DescribeChip(reading, *chip_info);
  return DCMI_OK;
}

int dcmi_get_device_chip_info_v2(int card_id, int device_id, struct dcmi_chip_info_v2 *chip_info) {
  Reading reading{};
  if (const int code = FindChip(card_id, device_id, chip_info, reading); code != DCMI_OK) return code;
  DescribeChip(reading, *chip_info);
  const std::string &soc = reading.place->profile->soc;
  const size_t bar = soc.find('_');
  Copy(chip_info->npu_name, bar == std::string::npos ? soc : soc.substr(bar + 1));
  return DCMI_OK;
}

int dcmi_get_device_frequency(int card_id, int device_id, enum dcmi_freq_type input_type, unsigned int *frequency) {
  Reading reading{};
  if (const int code = FindChip(card_id, device_id, frequency, reading); code != DCMI_OK) return code;
  const auto rated = static_cast<unsigned>(reading.place->profile->megahertz);
  switch (input_type) {
    case DCMI_FREQ_DDR: case DCMI_FREQ_HBM: *frequency = 1600; return DCMI_OK;
    case DCMI_FREQ_CTRLCPU: *frequency = 1900; return DCMI_OK;
    case DCMI_FREQ_AICORE_MAX: *frequency = rated; return DCMI_OK;
    case DCMI_FREQ_AICORE_CURRENT: case DCMI_FREQ_VECTORCORE_CURRENT: *frequency = reading.cubePercent > 1 ? rated : rated / 2; return DCMI_OK;
    default: return DCMI_ERR_CODE_INVALID_PARAMETER;
  }
}

int dcmi_get_device_resource_info(int card_id, int device_id, struct dcmi_proc_mem_info *proc_info, int *proc_num) {
  Reading reading{};
  if (proc_num == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  if (const int code = FindChip(card_id, device_id, proc_info, reading); code != DCMI_OK) return code;
  *proc_num = 0;
  for (const ProcessUse &process : reading.processes) proc_info[(*proc_num)++] = {process.pid, process.memoryBytes};
  return DCMI_OK;
}

int dcmi_get_driver_version(char *driver_ver, unsigned int len) {
  if (!isInitialized) return DCMI_ERR_CODE_NOT_READY;
  return driver_ver != nullptr && CopyText(driver_ver, len, DRIVER_VERSION) ? DCMI_OK : DCMI_ERR_CODE_INVALID_PARAMETER;
}

int dcmi_get_device_voltage(int card_id, int device_id, unsigned int *voltage) {
  Reading reading{};
  const int code = FindChip(card_id, device_id, voltage, reading);
  // In hundredths of a volt.
  if (code == DCMI_OK) *voltage = 85;
  return code;
}

int dcmi_get_product_type(int card_id, int device_id, char *product_type_str, int buf_size) {
  Reading reading{};
  if (const int code = FindChip(card_id, device_id, product_type_str, reading); code != DCMI_OK) return code;
  return buf_size > 0 && CopyText(product_type_str, static_cast<size_t>(buf_size), reading.place->profile->product + " (simulated)")
             ? DCMI_OK
             : DCMI_ERR_CODE_INVALID_PARAMETER;
}

int dcmi_get_device_pcie_info_v2(int card_id, int device_id, struct dcmi_pcie_info_all *pcie_info) {
  Reading reading{};
  if (const int code = FindChip(card_id, device_id, pcie_info, reading); code != DCMI_OK) return code;
  *pcie_info = {};
  pcie_info->venderid = 0x19e5;
  pcie_info->bdf_busid = static_cast<unsigned>(BusOf(reading.device));
  return DCMI_OK;
}

int dcmi_get_device_errorcode_v2(int card_id, int device_id, int *error_count, unsigned int *error_code_list, unsigned int list_len) {
  Reading reading{};
  if (error_code_list == nullptr || list_len == 0) return DCMI_ERR_CODE_INVALID_PARAMETER;
  if (const int code = FindChip(card_id, device_id, error_count, reading); code != DCMI_OK) return code;
  *error_count = reading.health == 0 ? 0 : 1;
  error_code_list[0] = reading.health == 0 ? 0 : 0x80E01801;
  return DCMI_OK;
}
