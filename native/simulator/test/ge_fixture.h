// The fixture for tests that are compiled with the old string ABI: the same functions without std::string.
#pragma once

#include <stddef.h>
#include <cstdint>
#include <vector>

namespace ge_fixture {



const char *Directory();
/** Makes the folder of the test the current directory too, since GE writes there. */
void UseCards(const char *profile, const char *faults = "");
/** As UseCards, with modelled times stretched by the factor. */
void UseCardsInTime(const char *profile, double timeScale);
std::vector<char> LinearModel(int64_t batch);
std::vector<float> Ramp(size_t count);
std::vector<float> Reference(const std::vector<char> &model, const std::vector<float> &input, const std::vector<int64_t> &dims);
int FilesIn(const char *directory);
void DamageFilesIn(const char *directory);

}  // namespace ge_fixture
