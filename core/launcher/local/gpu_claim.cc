#include "core/launcher/local/gpu_claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/launcher/local/descriptors.h"

namespace det::launcher {

namespace {

// The file of another user in a directory like /tmp is opened, if without O_CREAT, and can be
// locked without being written to.
Fd open_shared(const std::filesystem::path &file) {
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  Fd found(open(file.c_str(), flags));
  if (found || errno != ENOENT) return found;
  Fd made(open(file.c_str(), flags | O_CREAT | O_EXCL, 0644));
  if (made) fchmod(made.get(), 0644);  // whatever this user masks
  return made || errno != EEXIST ? std::move(made) : Fd(open(file.c_str(), flags));
}

}  // namespace

Fd claim_gpu(const std::string &name, const std::filesystem::path &directory) {
  std::string plain = name;  // parts of a GPU are MIG-GPU-.../1/2
  std::ranges::replace(plain, '/', '_');
  const std::filesystem::path file = directory / ("detcore-gpu-" + plain + ".lock");
  Fd claim = above_standard(open_shared(file), "the lock of a GPU");
  if (!claim) OsFailure{errno}.raise("claiming GPU " + name + ": opening '" + file.string() + "'");
  if (flock(claim.get(), LOCK_EX | LOCK_NB) == 0) return claim;
  if (errno != EWOULDBLOCK)
    OsFailure{errno}.raise("claiming GPU " + name + ": locking '" + file.string() + "'");
  return {};
}

}  // namespace det::launcher
