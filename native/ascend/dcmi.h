// DCMI, the driver's management library, opened at run time: what each chip says about itself. Knows no Node-API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npu_console::ascend {

struct DcmiProcess {
  int pid;
  std::uint64_t bytes;
};

/** One chip. Empty: the driver does not tell. */
struct DcmiChip {
  int card;
  int chip;
  std::optional<int> logical_id;
  /** As npu-smi names it: "310P3". */
  std::optional<std::string> name;
  /** "0000:01:00.0" */
  std::optional<std::string> bus_id;
  /** 0 in order, 1 minor, 2 major, 3 critical; empty also for a chip that is gone. */
  std::optional<unsigned> health;
  std::optional<double> power_watts;
  std::optional<int> temperature_celsius;
  std::optional<unsigned> ai_core_percent;
  std::optional<unsigned> vector_core_percent;
  std::optional<unsigned> cube_core_percent;
  /** Of the whole chip. */
  std::optional<unsigned> overall_percent;
  std::optional<unsigned> ai_core_megahertz;
  std::optional<int> hbm_temperature_celsius;
  std::optional<unsigned> hbm_bandwidth_percent;
  std::optional<std::uint64_t> memory_used_bytes;
  std::optional<std::uint64_t> memory_total_bytes;
  std::optional<std::vector<unsigned>> error_codes;
  std::optional<std::vector<DcmiProcess>> processes;
};

struct DcmiReading {
  std::string driver_version;
  /** Our simulated library, not the driver's. */
  bool is_simulated = false;
  /** In the driver's order. */
  std::vector<DcmiChip> chips;
};

/**
 * Asks every chip. Opens and initialises the library the first time; it stays open. Takes milliseconds, with a card in trouble seconds or for ever:
 * never call it on a thread that others wait for. One call at a time.
 * @param directory absolute; empty: where the loader looks by itself, then where the driver's installer puts the library
 * @throws Error Unsupported: there is no such library; Unavailable with DCMI's code: it refuses this process
 */
DcmiReading ReadDcmi(const std::string& directory);

}  // namespace npu_console::ascend
