#include "core/master/rest/refused.h"

#include <fcntl.h>

#include <sstream>
#include <system_error>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/journal/run_directory.h"

namespace det::master {

namespace fs = std::filesystem;

namespace {

uint64_t size_of(const fs::path &file) {
  std::error_code absent;
  const uintmax_t size = fs::file_size(file, absent);
  return absent ? 0 : size;
}

}  // namespace

RefusedReports::RefusedReports(const fs::path &run_directory)
    : path_(journal::kept_file(run_directory, "refused", ".jsonl")) {}

bool RefusedReports::empty() const { return size_of(path_) == 0; }

bool RefusedReports::has_room() const { return size_of(path_) < limit_bytes; }

bool RefusedReports::keep(const Json &report) {
  if (!has_room()) return false;
  const Fd file = open_file(path_, O_WRONLY | O_CREAT | O_APPEND, 0600);
  // A line that a kill cut short must not swallow this one.
  write_all(file.get(), "\n" + to_wire(report) + "\n", path_.string());
  return true;
}

uint64_t RefusedReports::count() const {
  if (empty()) return 0;
  std::istringstream lines(read_file(path_));
  uint64_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line.empty() ? 0 : 1;
  return count;
}

void RefusedReports::offer(const std::function<bool(const Json &)> &take) {
  if (empty()) return;
  std::istringstream lines(read_file(path_));
  std::string left;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    Json report;
    try {
      report = parse_json_object(line, "a line");
    } catch (const Error &) {
      // Torn by a kill: for people to look at.
    }
    if (!report.is_object() || !take(report)) left += line + "\n";
  }
  if (!left.empty()) write_file_durably(path_, left, 0600);
  else fs::remove(path_);
}

}  // namespace det::master
