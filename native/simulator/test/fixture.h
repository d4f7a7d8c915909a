// What the tests need: settings of simulated cards in a folder of their own, and small ONNX models written by hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fixture {

/** Makes a temporary folder that is removed when the process ends. */
const std::string &Directory();

/** Writes the settings file (cards and other members as JSON text) and names it to the simulator. Call it first in a test; again to change faults. */
void UseCards(const std::vector<std::string> &profiles, const std::string &faults = "", const std::string &members = "\"timeScale\": 0");

void WriteFile(const std::string &path, const std::string &content);

/** y[N,3] = x[N,4] W + b with fixed numbers; `batch` -1 leaves N open. */
std::string LinearModel(int64_t batch);
/** y = Relu(x) with x[N,3,H,W]; -1 leaves a dimension open. */
std::string ImageModel(int64_t batch, int64_t height, int64_t width);
/** y = x x x ...: `depth` products of [size,size] matrices: takes real time. */
std::string SlowModel(int64_t size, int depth);

/** What ONNX Runtime itself answers. */
std::vector<float> Reference(const std::string &model, const std::vector<float> &input, const std::vector<int64_t> &dims);

/** 0.5, 1.25, 2.0, ... */
std::vector<float> Ramp(size_t count);

}  // namespace fixture
