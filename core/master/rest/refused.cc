#include "core/master/rest/refused.h"

#include <fcntl.h>

#include <sstream>
#include <system_error>

#include "core/base/error.h"
#include "core/base/file.h"

namespace det {

namespace fs = std::filesystem;

namespace {

uint64_t size_of(const fs::path &file) {
  std::error_code absent;
  const uintmax_t size = fs::file_size(file, absent);
  return absent ? 0 : size;
}

}  // namespace

// The name counts as a journal's: a directory that has one is not removed.
RefusedReports::RefusedReports(const fs::path &run_directory)
    : path_(run_directory / "refused.spool.jsonl") {}

bool RefusedReports::empty() const { return size_of(path_) == 0; }

bool RefusedReports::keep(const Json &report) {
  if (size_of(path_) >= limit_bytes) return false;
  const Fd file = open_file(path_, O_WRONLY | O_CREAT | O_APPEND, 0600);
  write_all(file.get(), to_wire(report) + "\n", path_.string());
  return true;
}

uint64_t RefusedReports::offer(const std::function<bool(const Json &)> &take) {
  if (empty()) return 0;
  std::istringstream lines(read_file(path_));
  std::string left;
  uint64_t stay = 0;
  for (std::string line; std::getline(lines, line);) {
    Json report;
    try {
      report = parse_json_object(line, "a line");
    } catch (const Error &) {
      continue;  // torn by a kill; the journal still has it
    }
    if (take(report)) continue;
    left += line + "\n";
    ++stay;
  }
  if (stay > 0) write_file_durably(path_, left, 0600);
  else fs::remove(path_);
  return stay;
}

}  // namespace det
