// GE as a whole, of which a process has one: started with options that then act on every model, and ended when nobody needs it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ascend/ge_library.h"

namespace npu_console::ascend {

class GeEngine {
 public:
  /** A model's use of GE; ends with it. */
  class Lease {
   public:
    Lease(GeEngine& engine, std::string user, GeOptionMap options) : engine_(engine), user_(std::move(user)), options_(std::move(options)) {}
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    const std::string& user() const { return user_; }
    const GeOptionMap& options() const { return options_; }

   private:
    GeEngine& engine_;
    const std::string user_;
    const GeOptionMap options_;
  };

  /** The one of the process. */
  static GeEngine& Instance();

  /**
   * Starts GE where it does not run, or where it runs for nobody with other options. aclInit comes first.
   * @param user names the model, for the messages of others
   * @param options of the process that this model wants. A key that begins with "env:" is an environment variable that GE reads when it starts
   * @param work_directory into which GE may write
   * @throws Error InvalidArgument where GE runs for others with another value: the sentence names them
   */
  std::shared_ptr<Lease> Start(const GeLibrary& library, const std::string& user, const GeOptionMap& options, const std::string& work_directory);

  /** What GE runs with and the user did not ask for itself: options of other models act on it too. Sentences. */
  std::vector<std::string> ForeignOptions(const Lease& lease);

  /** Why GE's files may land in the server's own current directory instead of the work directory; empty: they do not. */
  std::string DirectoryProblem();

  /** Ends GE where nobody uses it. When the backend goes. */
  void Stop();

 private:
  void Leave(const Lease& lease);
  void StopLocked();
  // Variables that GE reads when it starts, and back to what they were before.
  void SetEnvironment(const GeOptionMap& options);
  void RestoreEnvironment();
  std::string Users() const;

  std::mutex mutex_;
  const GeLibrary* running_ = nullptr;
  GeOptionMap options_;
  std::string directory_problem_;
  std::map<std::string, std::optional<std::string>> former_environment_;
  std::vector<const Lease*> leases_;
};

}  // namespace npu_console::ascend
