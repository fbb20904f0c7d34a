// Trees that a later process finishes where their own did not live to.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/storage/staging.h"

namespace det::storage {

namespace {

constexpr time_t longest_absence = time_t{7} * 24 * 3600;

}  // namespace

void Staging::seal(const std::string &id, const std::string &owner) const {
  const std::string name = id + seal_ending;
  const Fd file(
      openat(root_.fd.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) OsFailure{errno}.raise("making '" + (root() / name).string() + "'");
  const Json text{
      {"version", 1}, {"owner", owner}, {"boot_id", ProcessIdentity::current().boot_id}};
  write_all(file.get(), to_wire(text), (root() / name).string());
}

// Another user's would show what this one never finished.
std::optional<Staging::Seal> Staging::read_seal(const std::string &id, uid_t user) const {
  const std::string name = id + seal_ending;
  const int flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
  const Fd file(openat(root_.fd.get(), name.c_str(), flags));
  struct stat about {};
  if (!file || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_uid != user)
    return std::nullopt;
  try {
    const std::string shown = (root() / name).string();
    const Json text = parse_json_object(read_all(file.get(), shown), "'" + shown + "'");
    if (text.at("version") != 1) return std::nullopt;
    return Seal{text.at("owner"), text.at("boot_id"),
                about.st_mtim.tv_sec + longest_absence < std::time(nullptr)};
  } catch (const std::exception &) {
    return std::nullopt;  // its writer was killed in the middle
  }
}

std::vector<Staging::Sealed> Staging::take_sealed(const std::string &owner, Logger &logger) const {
  std::vector<std::string> ids;
  const std::string_view ending = seal_ending;
  for (const Name &name : names_in(root_.fd, "'" + root().string() + "'"))
    if (name.text.ends_with(ending))
      ids.push_back(name.text.substr(0, name.text.size() - ending.size()));
  std::vector<Sealed> taken;
  if (ids.empty()) return taken;
  const std::optional<uid_t> self = user();
  const std::string boot_id = ProcessIdentity::current().boot_id;
  for (const std::string &id : ids) try {
      const std::optional<Seal> seal = self ? read_seal(id, *self) : std::nullopt;
      if (!seal || seal->owner != owner || !is_own(id, lock_name(id), *self)) continue;
      if (std::optional<OwnerLock> lock = OwnerLock::take_over(lock_of(id)))
        taken.push_back({id, std::move(*lock), seal->boot_id == boot_id});
    } catch (const Error &error) {
      logger.warning("finishing checkpoint '" + id + "': " + error.what());
    }
  return taken;
}

}  // namespace det::storage
