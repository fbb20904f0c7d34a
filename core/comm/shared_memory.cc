#include "core/comm/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <sstream>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/uuid.h"

namespace det::comm {

namespace {

char *map(const Fd &fd, size_t size) {
  void *data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  return data == MAP_FAILED ? nullptr : static_cast<char *>(data);
}

// Reserving more than that would raise SIGXFSZ.
bool is_above_file_limit(size_t size) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         limit.rlim_cur < size;
}

}  // namespace

SharedMemory::~SharedMemory() {
  hide();
  if (data_ != nullptr) munmap(data_, size_);
}

SharedMemory::SharedMemory(SharedMemory &&other) noexcept { *this = std::move(other); }

SharedMemory &SharedMemory::operator=(SharedMemory &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(name_, other.name_);
  std::swap(has_name_, other.has_name_);
  return *this;
}

void SharedMemory::hide() noexcept {
  if (std::exchange(has_name_, false)) shm_unlink(name_.c_str());
}

SharedMemory SharedMemory::create(size_t size) noexcept try {
  if (is_above_file_limit(size)) return {};
  const std::string name = "/detcore-" + make_uuid();
  const Fd fd(shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd) return {};
  SharedMemory memory(nullptr, size, name);
  memory.has_name_ = true;
  // With its room at once: what is missing later would end the process.
  if (posix_fallocate(fd.get(), 0, static_cast<off_t>(size)) == 0) memory.data_ = map(fd, size);
  return memory.data_ != nullptr ? std::move(memory) : SharedMemory();
} catch (const std::exception &) {
  return {};
}

SharedMemory SharedMemory::open(const std::string &name, size_t size) noexcept try {
  const Fd fd(shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0));
  struct stat about {};
  if (!fd || fstat(fd.get(), &about) != 0 || about.st_uid != geteuid() ||
      about.st_size != static_cast<off_t>(size))
    return {};
  return {map(fd, size), size, name};
} catch (const std::exception &) {
  return {};
}

void read_memory(const Bulk &from, char *to, size_t size) {
  for (size_t done = 0; done < size;) {
    const iovec here{to + done, size - done};
    const iovec there{reinterpret_cast<void *>(from.address + done), size - done};
    const ssize_t got = process_vm_readv(static_cast<pid_t>(from.process), &here, 1, &there, 1, 0);
    const int reason = errno;
    if (got < 0 && reason == EINTR) continue;
    if (got <= 0)
      throw Error(Code::unavailable,
                  "reading a message in the memory of process " + std::to_string(from.process) +
                      ": " + errno_text(reason) + "; see whether that rank still runs",
                  reason);
    done += static_cast<size_t>(got);
  }
}

std::string invite_to_read(const std::string &known) {
  return std::to_string(getpid()) + " " + std::to_string(reinterpret_cast<uintptr_t>(known.data()));
}

bool can_read(const std::string &invitation, const std::string &known) noexcept try {
  std::istringstream numbers(invitation);
  Bulk bulk;
  if (!(numbers >> bulk.process >> bulk.address)) return false;
  std::string found(known.size(), '\0');
  read_memory(bulk, found.data(), found.size());
  return found == known;
} catch (const std::exception &) {
  return false;
}

}  // namespace det::comm
