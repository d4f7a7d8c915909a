#include "calls.h"

#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>

namespace calls {

List All() { return simulator::CallLog::Instance().Calls(); }

namespace {

std::string Names() {
  std::string names;
  for (const Call& call : All()) names += " " + call.name;
  return names;
}

}  // namespace

List Of(const std::string& name, int device) {
  List found;
  for (Call& call : All()) {
    if (call.name == name && (device < 0 || call.device == device)) found.push_back(std::move(call));
  }
  return found;
}

std::size_t Count(const std::string& name, int device) { return Of(name, device).size(); }

std::string Fact(const Call& call, const std::string& key) {
  const auto found = call.facts.find(key);
  return found == call.facts.end() ? "" : found->second;
}

std::string Facts(const Call& call) {
  std::string text;
  for (const auto& [key, value] : call.facts) text += (text.empty() ? "" : " ") + key + "=" + value;
  return text;
}

std::size_t Streams(const List& list) {
  std::set<std::uint64_t> streams;
  for (const Call& call : list) streams.insert(call.stream);
  return streams.size();
}

std::size_t First(const std::string& name) {
  const List all = All();
  for (std::size_t index = 0; index < all.size(); ++index) {
    if (all[index].name == name) return index;
  }
  throw std::runtime_error("no call of " + name + " among" + Names());
}

std::size_t Last(const std::string& name) {
  const List all = All();
  for (std::size_t index = all.size(); index-- > 0;) {
    if (all[index].name == name) return index;
  }
  throw std::runtime_error("no call of " + name + " among" + Names());
}

void Wait(const std::string& what, const std::function<bool()>& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(50);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("never came: " + what + "; what came:" + Names());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace calls
