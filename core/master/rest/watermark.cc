#include "core/master/rest/watermark.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/file.h"

namespace det::master {

Watermark::Watermark(const std::filesystem::path &run_directory) {
  const std::filesystem::path path = run_directory / "watermark";
  const std::string tried = "keeping account in '" + path.string() + "'";
  const Fd file = open_file(path, O_RDWR | O_CREAT, 0600);
  // With its space, so that a store never faults on a full disk.
  if (const int failed = posix_fallocate(file.get(), 0, sizeof(Marks)); failed != 0)
    OsFailure{failed}.raise(tried);
  void *mapped = mmap(nullptr, sizeof(Marks), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) OsFailure{errno}.raise(tried);
  marks_ = static_cast<Marks *>(mapped);
}

Watermark::~Watermark() { munmap(marks_, sizeof(Marks)); }

void Watermark::set_attempted(uint64_t sequence) noexcept {
  marks_->attempted = std::max(marks_->attempted, sequence);
}

}  // namespace det::master
