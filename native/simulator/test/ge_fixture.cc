#include "test/ge_fixture.h"

#include <filesystem>

#include "test/fixture.h"

namespace ge_fixture {

const char *Directory() { return fixture::Directory().c_str(); }

void UseCards(const char *profile, const char *faults) {
  // GE writes into the current directory.
  std::filesystem::current_path(fixture::Directory());
  fixture::UseCards({profile}, faults);
}

void UseCardsInTime(const char *profile, double timeScale) {
  std::filesystem::current_path(fixture::Directory());
  fixture::UseCards({profile}, "", "\"timeScale\": " + std::to_string(timeScale));
}

std::vector<char> LinearModel(int64_t batch) {
  const std::string model = fixture::LinearModel(batch);
  return std::vector<char>(model.begin(), model.end());
}

std::vector<float> Ramp(size_t count) { return fixture::Ramp(count); }

std::vector<float> Reference(const std::vector<char> &model, const std::vector<float> &input, const std::vector<int64_t> &dims) {
  return fixture::Reference(std::string(model.begin(), model.end()), input, dims);
}

int FilesIn(const char *directory) {
  std::error_code error;
  int count = 0;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) count++;
  return count;
}

void DamageFilesIn(const char *directory) {
  for (const auto &entry : std::filesystem::directory_iterator(directory)) fixture::WriteFile(entry.path().string(), "damaged");
}

}  // namespace ge_fixture
