// What came to the simulated CANN of this process, and in which order: how tests see that something reached a card, where its numbers cannot show it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/call_log.h"

namespace calls {

using simulator::Call;
using List = std::vector<Call>;

// Forgets what came so far.
inline void Start() { simulator::CallLog::Instance().Start(); }
List All();
// Those of the name, in order; of one device where it is given.
List Of(const std::string& name, int device = -1);
std::size_t Count(const std::string& name, int device = -1);
// "" where the call has no such option or fact.
std::string Fact(const Call& call, const std::string& key);
// All of them: "key=value key=value", in the order of keys.
std::string Facts(const Call& call);
// The distinct streams of the calls.
std::size_t Streams(const List& list);
// Where the calls of the name stand among all that came: the first, the last. Fails where there is none.
std::size_t First(const std::string& name);
std::size_t Last(const std::string& name);
// Waits until the calls fulfil it; fails after a long while, with what came.
void Wait(const std::string& what, const std::function<bool()>& is_so);

}  // namespace calls
