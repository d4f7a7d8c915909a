// DCMI, the card management interface, as we call it: declared in our own words.
#pragma once

#define DCMI_API __attribute__((visibility("default")))

enum dcmi_unit_type { NPU_TYPE = 0, MCU_TYPE = 1, CPU_TYPE = 2, INVALID_TYPE = 0xFF };

enum dcmi_freq_type {
  DCMI_FREQ_DDR = 1,
  DCMI_FREQ_CTRLCPU = 2,
  DCMI_FREQ_HBM = 6,
  DCMI_FREQ_AICORE_CURRENT = 7,
  DCMI_FREQ_AICORE_MAX = 9,
  DCMI_FREQ_VECTORCORE_CURRENT = 12,
};

/** What dcmi_get_device_utilization_rate takes as input_type. */
enum dcmi_utilization_type {
  DCMI_UTILIZATION_MEMORY = 1,
  DCMI_UTILIZATION_AICORE = 2,
  DCMI_UTILIZATION_AICPU = 3,
  DCMI_UTILIZATION_CTRLCPU = 4,
  DCMI_UTILIZATION_MEMORY_BANDWIDTH = 5,
  DCMI_UTILIZATION_HBM = 6,
  DCMI_UTILIZATION_DDR = 8,
  DCMI_UTILIZATION_HBM_BANDWIDTH = 10,
  DCMI_UTILIZATION_VECTORCORE = 12,
  DCMI_UTILIZATION_NPU = 13,
  DCMI_UTILIZATION_AICUBE = 14,
};

constexpr int DCMI_OK = 0;
constexpr int DCMI_ERR_CODE_INVALID_PARAMETER = -8001;
constexpr int DCMI_ERR_CODE_OPER_NOT_PERMITTED = -8002;
constexpr int DCMI_ERR_CODE_MEM_OPERATE_FAIL = -8003;
constexpr int DCMI_ERR_CODE_SECURE_FUN_FAIL = -8004;
constexpr int DCMI_ERR_CODE_INNER_ERR = -8005;
constexpr int DCMI_ERR_CODE_TIME_OUT = -8006;
constexpr int DCMI_ERR_CODE_INVALID_DEVICE_ID = -8007;
constexpr int DCMI_ERR_CODE_DEVICE_NOT_EXIST = -8008;
constexpr int DCMI_ERR_CODE_NOT_READY = -8012;
constexpr int DCMI_ERR_CODE_NOT_SUPPORT = -8255;

struct dcmi_chip_info {
  unsigned char chip_type[32];
  unsigned char chip_name[32];
  unsigned char chip_ver[32];
  unsigned int aicore_cnt;
};

struct dcmi_chip_info_v2 {
  unsigned char chip_type[32];
  unsigned char chip_name[32];
  unsigned char chip_ver[32];
  unsigned int aicore_cnt;
  unsigned char npu_name[32];
};

/** Sizes in MB, degrees Celsius, percent. The spelling of the last member is the interface's own. */
struct dcmi_hbm_info {
  unsigned long long memory_size;
  unsigned int freq;
  unsigned long long memory_usage;
  int temp;
  unsigned int bandwith_util_rate;
};

struct dcmi_get_memory_info_stru {
  unsigned long long memory_size;
  unsigned long long memory_available;
  unsigned int freq;
  unsigned long hugepagesize;
  unsigned long hugepages_total;
  unsigned long hugepages_free;
  unsigned int utiliza;
  unsigned char reserve[60];
};

struct dcmi_multi_utilization_info {
  unsigned int aic_util;
  unsigned int aiv_util;
  unsigned int aicore_util;
  unsigned int npu_util;
  unsigned int reserved[8];
};

struct dcmi_proc_mem_info {
  int proc_id;
  unsigned long proc_mem_usage;
};

struct dcmi_pcie_info_all {
  unsigned int venderid;
  unsigned int subvenderid;
  unsigned int deviceid;
  unsigned int subdeviceid;
  int domain;
  unsigned int bdf_busid;
  unsigned int bdf_deviceid;
  unsigned int bdf_funcid;
  unsigned char reserve[32];
};

extern "C" {
DCMI_API int dcmi_init(void);
DCMI_API int dcmi_get_card_list(int *card_num, int *card_list, int list_len);
DCMI_API int dcmi_get_device_num_in_card(int card_id, int *device_num);
DCMI_API int dcmi_get_device_id_in_card(int card_id, int *device_id_max, int *mcu_id, int *cpu_id);
DCMI_API int dcmi_get_device_type(int card_id, int device_id, enum dcmi_unit_type *device_type);
/** The logical id is AscendCL's device id while ASCEND_RT_VISIBLE_DEVICES is not set. */
DCMI_API int dcmi_get_device_logic_id(int *device_logic_id, int card_id, int device_id);
DCMI_API int dcmi_get_device_utilization_rate(int card_id, int device_id, int input_type, unsigned int *utilization_rate);
DCMI_API int dcmi_get_device_multi_utilization_rate(int card_id, int device_id, struct dcmi_multi_utilization_info *util_info);
DCMI_API int dcmi_get_device_hbm_info(int card_id, int device_id, struct dcmi_hbm_info *hbm_info);
DCMI_API int dcmi_get_device_memory_info_v3(int card_id, int device_id, struct dcmi_get_memory_info_stru *memory_info);
DCMI_API int dcmi_get_device_temperature(int card_id, int device_id, int *temperature);
/** In tenths of a watt. */
DCMI_API int dcmi_get_device_power_info(int card_id, int device_id, int *power);
/** 0 in order, 1 minor, 2 major, 3 critical, 0xFFFFFFFF absent. */
DCMI_API int dcmi_get_device_health(int card_id, int device_id, unsigned int *health);
DCMI_API int dcmi_get_device_chip_info(int card_id, int device_id, struct dcmi_chip_info *chip_info);
DCMI_API int dcmi_get_device_chip_info_v2(int card_id, int device_id, struct dcmi_chip_info_v2 *chip_info);
DCMI_API int dcmi_get_device_frequency(int card_id, int device_id, enum dcmi_freq_type input_type, unsigned int *frequency);
DCMI_API int dcmi_get_device_resource_info(int card_id, int device_id, struct dcmi_proc_mem_info *proc_info, int *proc_num);
DCMI_API int dcmi_get_driver_version(char *driver_ver, unsigned int len);
DCMI_API int dcmi_get_device_voltage(int card_id, int device_id, unsigned int *voltage);
DCMI_API int dcmi_get_product_type(int card_id, int device_id, char *product_type_str, int buf_size);
DCMI_API int dcmi_get_device_pcie_info_v2(int card_id, int device_id, struct dcmi_pcie_info_all *pcie_info);
DCMI_API int dcmi_get_device_errorcode_v2(int card_id, int device_id, int *error_count, unsigned int *error_code_list, unsigned int list_len);
}
