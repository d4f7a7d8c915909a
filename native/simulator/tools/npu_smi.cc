// The simulated `npu-smi`: the tables of the three chip families, lists, and `info -t TYPE -i ID`.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/telemetry.h"
#include "dcmi_interface_api.h"

using namespace simulator;

namespace {

std::string Text(const char *format, ...) __attribute__((format(printf, 1, 2)));
std::string Text(const char *format, ...) {
  char buffer[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

const char *HealthWord(const Reading &reading) {
  if (reading.isLost) return "UNKNOWN";
  const char *words[] = {"OK", "Warning", "Alarm", "Critical"};
  return words[reading.health];
}

/** Columns of a family: widths of the three cells, rules of the same width around them. */
struct Table {
  int first;
  int second;
  int third;

  void Rule(char fill) const {
    for (const int width : {first, second, third}) std::printf("+%s", std::string(static_cast<size_t>(width + 2), fill).c_str());
    std::printf("+\n");
  }
  void Row(const std::string &one, const std::string &two, const std::string &three) const {
    std::printf("| %-*s | %-*s | %-*s |\n", first, one.c_str(), second, two.c_str(), third, three.c_str());
  }
  void Wide(const std::string &text) const { std::printf("| %-*s |\n", first + second + third + 6, text.c_str()); }
  void WideRule(char fill) const { std::printf("+%s+\n", std::string(static_cast<size_t>(first + second + third + 8), fill).c_str()); }
};

std::string BusId(int device) { return Text("0000:%02X:00.0", static_cast<unsigned>(BusOf(device))); }

std::string Power(const Reading &reading) {
  if (reading.isLost || reading.place->profile->layout == SmiLayout::Chip310P) return "NA";
  return reading.place->chip > 0 ? "-" : Text("%.1f", reading.watts);
}

void PrintChip(const Table &table, const Reading &reading) {
  const Profile &profile = *reading.place->profile;
  const std::string load = Text("%-12s %-17.0f %-6d/ %-13d", Power(reading).c_str(), reading.celsius, 0, 0);
  table.Row(Text("%-7d %-20s", reading.place->card, profile.smiName.c_str()), HealthWord(reading), load);
  const auto used = static_cast<unsigned long long>(reading.memoryMegabytes);
  const auto total = static_cast<unsigned long long>(profile.memoryMegabytes);
  if (profile.layout == SmiLayout::Chip310P) {
    table.Row(Text("%-7d %-20d", reading.place->chip, reading.device), BusId(reading.device), Text("%-12.0f %-5llu/ %-32llu", reading.cubePercent, used, total));
  } else if (profile.layout == SmiLayout::Chip910) {
    const std::string chip = profile.showsPhyId ? Text("%-7d %-20d", reading.place->chip, reading.device) : Text("%-26d", reading.place->chip);
    table.Row(chip, BusId(reading.device), Text("%-11.0f %-5d/ %-10d %-6llu/ %-13llu", reading.cubePercent, 0, 0, used, total));
  } else {
    table.Row("", BusId(reading.device), Text("%-11.0f %-6llu/ %-13llu", reading.cubePercent, used, total));
  }
}

void PrintProcesses(const Table &table, const std::vector<Reading> &readings) {
  table.Row("NPU     Chip", "Process id", "Process name             Process memory(MB)");
  table.Rule('=');
  for (const Reading &reading : readings) {
    if (reading.processes.empty() || reading.isLost) {
      table.Wide(Text("No running processes found in NPU %d", reading.place->card));
    } else {
      for (const ProcessUse &process : reading.processes) {
        table.Row(Text("%-7d %-18d", reading.place->card, reading.place->chip), Text("%d", process.pid),
                  Text("%-24s %-23llu", ProcessName(process.pid).c_str(), static_cast<unsigned long long>(process.memoryBytes >> 20)));
      }
    }
    table.WideRule('=');
  }
}

std::vector<Reading> AllReadings() {
  std::vector<Reading> readings;
  for (size_t device = 0; device < Settings::Instance().devices().size(); device++) readings.push_back(Read(static_cast<int>(device)));
  return readings;
}

int PrintTable() {
  const std::vector<Reading> readings = AllReadings();
  if (readings.empty()) {
    std::printf("[simulated] there are no cards in the settings\n");
    return 1;
  }
  const SmiLayout layout = readings[0].place->profile->layout;
  const Table table = {28, 15, 56};
  table.WideRule('-');
  table.Wide(Text("%-40s Version: %-37s", "npu-smi 26.0.sim [simulated]", DRIVER_VERSION));
  table.Rule('-');
  if (layout == SmiLayout::Card950) {
    table.Row("NPU ID  Name", "Health", "Power(W)     Temp(C)           Hugepages-Usage(page)");
    table.Row("", "Bus-Id", "NPU Util(%)  Memory-Usage(MB)");
  } else {
    table.Row("NPU     Name", "Health", "Power(W)     Temp(C)           Hugepages-Usage(page)");
    if (layout == SmiLayout::Chip310P) {
      table.Row("Chip    Device", "Bus-Id", "AICore(%)    Memory-Usage(MB)");
    } else {
      table.Row(readings[0].place->profile->showsPhyId ? "Chip    Phy-ID" : "Chip", "Bus-Id", "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)");
    }
  }
  table.Rule('=');
  for (size_t index = 0; index < readings.size(); index++) {
    PrintChip(table, readings[index]);
    const bool sameCard = index + 1 < readings.size() && readings[index + 1].place->card == readings[index].place->card;
    table.Rule(sameCard ? '-' : '=');
  }
  PrintProcesses(table, readings);
  return 0;
}

void Line(const char *label, const std::string &value) { std::printf("\t%-30s : %s\n", label, value.c_str()); }
std::string Number(double value) { return Text("%.0f", value); }

void PrintUsages(const Reading &reading) {
  const Profile &profile = *reading.place->profile;
  const double used = profile.memoryMegabytes == 0 ? 0 : 100.0 * static_cast<double>(reading.memoryMegabytes) / static_cast<double>(profile.memoryMegabytes);
  const bool isHbm = profile.hasHbm;
  Line("DDR Capacity(MB)", Number(isHbm ? 0 : static_cast<double>(profile.memoryMegabytes)));
  Line("DDR Usage Rate(%)", Number(isHbm ? 0 : used));
  Line("DDR Hugepages Total(page)", "0");
  Line("DDR Hugepages Usage Rate(%)", "0");
  if (isHbm) {
    Line("HBM Capacity(MB)", Number(static_cast<double>(profile.memoryMegabytes)));
    Line("HBM Usage Rate(%)", Number(used));
  }
  Line("Aicore Usage Rate(%)", Number(reading.cubePercent));
  if (isHbm) Line("Aivector Usage Rate(%)", Number(reading.vectorPercent));
  Line("Aicpu Usage Rate(%)", Number(reading.cubePercent / 10));
  Line("Ctrlcpu Usage Rate(%)", Number(2 + reading.cubePercent / 20));
  if (!isHbm) Line("Vectorcore Usage Rate(%)", Number(reading.vectorPercent));
  Line("DDR Bandwidth Usage Rate(%)", Number(isHbm ? 0 : reading.bandwidthPercent));
  if (isHbm) {
    Line("HBM Bandwidth Usage Rate(%)", Number(reading.bandwidthPercent));
    Line("NPU Utilization(%)", Number(reading.cubePercent));
    Line("Aicube Usage Rate(%)", Number(reading.cubePercent));
  }
}

void PrintMemory(const Reading &reading) {
  const Profile &profile = *reading.place->profile;
  if (!profile.hasHbm) {
    Line("Total DDR Capacity(MB)", Number(static_cast<double>(profile.memoryMegabytes)));
    return;
  }
  Line("DDR Capacity(MB)", "0");
  Line("DDR Clock Speed(MHz)", "0");
  Line("HBM Capacity(MB)", Number(static_cast<double>(profile.memoryMegabytes)));
  Line("HBM Clock Speed(MHz)", "1600");
  Line("HBM Temperature(C)", Number(reading.celsius - 2));
}

bool PrintType(const std::string &type, const Reading &reading) {
  const Profile &profile = *reading.place->profile;
  if (type == "usages") {
    PrintUsages(reading);
  } else if (type == "memory") {
    PrintMemory(reading);
  } else if (type == "temp") {
    Line("NPU Temperature (C)", Number(reading.celsius));
  } else if (type == "power") {
    Line("NPU Real-time Power(W)", Power(reading));
  } else if (type == "health") {
    Line("Health", HealthWord(reading));
    Line("Error Code", reading.health == 0 ? "NA" : "80E01801");
    Line("Error Information", reading.health == 0 ? "NA" : "[simulated] memory error");
  } else if (type == "common") {
    Line(profile.hasHbm ? "HBM Usage Rate(%)" : "Memory Usage Rate(%)", Number(100.0 * static_cast<double>(reading.memoryMegabytes) / static_cast<double>(profile.memoryMegabytes)));
    Line("Aicore Usage Rate(%)", Number(reading.cubePercent));
    Line("Aicore Freq(MHZ)", Number(profile.megahertz));
    Line("Aicore curFreq(MHZ)", Number(reading.cubePercent > 1 ? profile.megahertz : profile.megahertz / 2));
    Line("Aicore Count", Number(profile.cubeCores));
    Line("Temperature(C)", Number(reading.celsius));
    Line("NPU Real-time Power(W)", Power(reading));
  } else if (type == "proc-mem") {
    for (const ProcessUse &process : reading.processes) {
      std::printf("\tProcess id:%d  Process name:%s  Process memory(MB):%llu\n", process.pid, ProcessName(process.pid).c_str(),
                  static_cast<unsigned long long>(process.memoryBytes >> 20));
    }
  } else if (type == "board") {
    Line("Product Name", profile.product + " (simulated)");
    Line("Chip Name", profile.smiName);
    Line("NPU Name", profile.soc);
  } else {
    return false;
  }
  return true;
}

int PrintTypeOfCard(const std::string &type, int card, int chip) {
  std::vector<Reading> chips;
  for (const Reading &reading : AllReadings()) {
    if (reading.place->card == card && (chip < 0 || reading.place->chip == chip)) chips.push_back(reading);
  }
  if (chips.empty()) {
    std::printf("Error parameter of -i\n");
    return 1;
  }
  Line("NPU ID", Number(card));
  if (chip < 0) Line("Chip Count", Number(static_cast<double>(chips.size())));
  std::printf("\n");
  for (const Reading &reading : chips) {
    if (reading.isLost) {
      std::printf("This device does not exist, error code is %d\n", DCMI_ERR_CODE_DEVICE_NOT_EXIST);
      return 1;
    }
    if (!PrintType(type, reading)) {
      std::printf("Error parameter of -t\n");
      return 1;
    }
    if (reading.place->profile->layout != SmiLayout::Card950) Line("Chip ID", Number(reading.place->chip));
    std::printf("\n");
  }
  return 0;
}

int PrintList() {
  std::printf("\t%-30s : %d\n\n", "Total Count", CardCount());
  for (int card = 0; card < CardCount(); card++) {
    const Profile &profile = *Settings::Instance().devices()[static_cast<size_t>(LogicId(card, 0))].profile;
    Line("NPU ID", Number(card));
    Line("Product Name", profile.product + " (simulated)");
    Line("Chip Count", Number(profile.chipsPerCard));
    std::printf("\n");
  }
  return 0;
}

int PrintMapping() {
  std::printf("\t%-30s %-30s %-30s %-30s\n", "NPU ID", "Chip ID", "Chip Logic ID", "Chip Name");
  for (const Reading &reading : AllReadings()) {
    const std::string name = reading.place->profile->smiName;
    std::printf("\t%-30d %-30d %-30d %-30s\n", reading.place->card, reading.place->chip, reading.device,
                name.rfind("Ascend", 0) == 0 ? name.c_str() : ("Ascend " + name).c_str());
  }
  return 0;
}

int Usage() {
  std::printf("[simulated] usage: npu-smi info [-l | -m | -t TYPE -i ID [-c CHIP]]\n"
              "TYPE: usages, memory, temp, power, health, common, proc-mem, board\n");
  return 1;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 2 || std::strcmp(argv[1], "info") != 0) return Usage();
  if (!Settings::Instance().problem().empty()) {
    std::fprintf(stderr, "npu-smi: [simulated] %s\n", Settings::Instance().problem().c_str());
    return 1;
  }
  if (const int code = dcmi_init(); code != DCMI_OK) {
    std::printf("dcmi module initialize failed. ret is %d\n", code);
    return 1;
  }
  std::string type;
  int card = -1;
  int chip = -1;
  for (int index = 2; index < argc; index++) {
    const std::string option = argv[index];
    if (option == "-l") return PrintList();
    if (option == "-m") return PrintMapping();
    if (index + 1 >= argc) return Usage();
    const char *value = argv[++index];
    if (option == "-t") {
      type = value;
    } else if (option == "-i") {
      card = std::atoi(value);
    } else if (option == "-c") {
      chip = std::atoi(value);
    } else {
      return Usage();
    }
  }
  if (type.empty() != (card < 0)) return Usage();
  return type.empty() ? PrintTable() : PrintTypeOfCard(type, card, chip);
}
