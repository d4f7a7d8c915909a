// om-passport: says in JSON what an .om file is: tensors, gears, chip, sizes. A process of its own, so that CANN's environment and CANN's faults stay out of
// the one that asks; it opens no card and takes no memory of one.
#include <cstdio>
#include <string>

#include "ascend/acl_error.h"
#include "ascend/device.h"
#include "ascend/om_description.h"
#include "tools/om_json.h"

using namespace npu_console;
using namespace npu_console::ascend;

namespace {

constexpr const char* USAGE =
    "om-passport [--cann-library-directory=DIR] FILE.om | --chip\n"
    "Prints what the file is as JSON; with --chip the name of this machine's chip, as atc --soc_version takes it. Exit code: 0 done, 1 the file cannot be described, 2 wrong usage, 3 no CANN is there to ask.\n";

/** What server-core/model-config/om-passport.ts tells apart. */
enum ExitCode { DONE = 0, NOT_DESCRIBED = 1, USAGE_ERROR = 2, NO_CANN = 3 };

Json PassportJson(const AclApi& api, const std::string& path, const OmFileFacts& facts) {
  Json chips = Json::Array();
  for (const std::string& chip : facts.chips) chips.Append(Json::Text(chip));
  Json passport = DescriptionJson(DescribeOmFile(api, path));
  passport.Set("bytes", Json::Whole(static_cast<int64_t>(facts.bytes)));
  passport.Set("chips", std::move(chips));
  passport.Set("cann", Json::Text(api.Version()));
  passport.Set("simulated", Json::Bool(api.is_simulated));
  size_t workspace = 0;
  size_t weights = 0;
  Check(api, api.aclmdlQuerySize(path.c_str(), &workspace, &weights), "asking how much memory " + path + " needs");
  passport.Set("workspace_bytes", Json::Whole(static_cast<int64_t>(workspace)));
  passport.Set("weight_bytes", Json::Whole(static_cast<int64_t>(weights)));
  return passport;
}

int Fail(ExitCode code, const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string option = "--cann-library-directory=";
  std::string directory;
  std::string path;
  bool asks_chip = false;
  for (int index = 1; index < argc; index++) {
    const std::string argument = argv[index];
    if (argument.rfind(option, 0) == 0) {
      directory = argument.substr(option.size());
    } else if (argument == "--chip") {
      asks_chip = true;
    } else if (!path.empty() || argument.rfind("--", 0) == 0) {
      return Fail(USAGE_ERROR, USAGE);
    } else {
      path = argument;
    }
  }
  if (path.empty() != asks_chip) return Fail(USAGE_ERROR, USAGE);
  try {
    if (asks_chip) {
      const AclApi& api = AclApi::Load(directory);
      api.Initialize();
      const std::string chip = SocName(api);
      if (chip.empty()) return Fail(NOT_DESCRIBED, "CANN does not say which chip this is: npu-console doctor examines the machine");
      std::printf("%s\n", chip.c_str());
      return DONE;
    }
    // The file first: what is no .om file is told without CANN.
    const OmFileFacts facts = RequireOmFile(path);
    const AclApi* api = nullptr;
    try {
      api = &AclApi::Load(directory);
      api->Initialize();
    } catch (const Error& error) {
      return Fail(NO_CANN, error.what());
    }
    std::printf("%s\n", PassportJson(*api, path, facts).Write().c_str());
    return DONE;
  } catch (const Error& error) {
    return Fail(NOT_DESCRIBED, error.what());
  }
}
