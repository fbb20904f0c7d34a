#include "core/profiler/process_tree.h"

#include <dirent.h>

#include <memory>
#include <string>

#include "core/base/error.h"

namespace det::profiler {

namespace {

struct DirectoryCloser {
  void operator()(DIR *directory) const { closedir(directory); }
};

std::vector<pid_t> process_ids(const std::filesystem::path &proc) {
  std::vector<pid_t> ids;
  const std::unique_ptr<DIR, DirectoryCloser> directory(opendir(proc.c_str()));
  if (!directory) return ids;
  while (const dirent *entry = readdir(directory.get()))
    if (const auto id = number_from(entry->d_name)) ids.push_back(static_cast<pid_t>(*id));
  return ids;
}

}  // namespace

// "42 (a name (with all) kinds) S 1 ...": the name ends at the last ')'.
std::optional<ProcessStat> ProcessStat::from(std::string_view text) {
  const size_t begin = text.find('('), end = text.rfind(')');
  if (begin == text.npos || end == text.npos || end < begin) return std::nullopt;
  ProcessStat stat;
  stat.command = text.substr(begin + 1, end - begin - 1);
  text.remove_prefix(end + 1);
  // The numbers of proc(5), which counts from 1.
  constexpr int state = 3, parent = 4, user = 14, waited_system = 17, threads = 20, resident = 24;
  for (int field = state; field <= resident; ++field) {
    const std::string_view word = next_word(text);
    if (word.empty()) return std::nullopt;
    const uint64_t number = number_from(word).value_or(0);
    if (field == parent) stat.parent = static_cast<pid_t>(number);
    if (field >= user && field < user + 2) stat.ticks += number;
    if (field >= user && field <= waited_system) stat.all_ticks += number;
    if (field == threads) stat.threads = number;
    if (field == resident) stat.resident_pages = number;
  }
  return stat;
}

std::optional<ProcessStat> ProcessTree::stat_of(Process &process) try {
  return ProcessStat::from(process.stat.read());
} catch (const Error &) {
  return std::nullopt;
}

std::vector<ProcessTree::Process> &ProcessTree::processes(Clock::time_point now) {
  // Looking costs more than all samples. What a process took before it was found is not lost: it is
  // in its own counters by then, or in those of its parent.
  constexpr std::chrono::milliseconds often{4900};
  if (looked_ && now - *looked_ < often) return processes_;
  const std::optional<uint64_t> newest = newest_process();
  if (!looked_ || !newest || newest != newest_) look(now);
  looked_ = now;
  newest_ = newest;
  return processes_;
}

// "0.20 0.18 0.12 1/80 11206": the last is the number given out last.
std::optional<uint64_t> ProcessTree::newest_process() try {
  std::string_view text = load_.read();
  constexpr int before = 4;
  for (int i = 0; i < before; ++i) next_word(text);
  return next_number(text);
} catch (const Error &) {
  return std::nullopt;
}

// The kernels of some containers do not tell children from others, so all processes are looked
// at; each but once.
void ProcessTree::look(Clock::time_point now) {
  std::vector<pid_t> ids = process_ids(proc_);
  const std::unordered_set<pid_t> here(ids.begin(), ids.end());
  std::erase_if(others_, [&](pid_t id) { return !here.contains(id); });
  std::unordered_set<pid_t> ours{root_};
  for (const Process &process : processes_) ours.insert(process.id);
  std::erase_if(ids, [&](pid_t id) {
    return others_.contains(id) || (ours.contains(id) && (id != root_ || !processes_.empty()));
  });
  std::vector<std::pair<Process, pid_t>> found;
  for (const pid_t id : ids) {
    const std::filesystem::path directory = proc_ / std::to_string(id);
    Process process{id, SystemFile(directory / "stat"), SystemFile(directory / "io"), now};
    if (const auto stat = stat_of(process)) found.emplace_back(std::move(process), stat->parent);
  }
  // Parents before children, however they are numbered.
  for (bool more = true; more;) {
    more = false;
    for (auto it = found.begin(); it != found.end();) {
      if (it->first.id != root_ && !ours.contains(it->second)) {
        ++it;
        continue;
      }
      ours.insert(it->first.id);
      const auto at = it->first.id == root_ ? processes_.begin() : processes_.end();
      processes_.insert(at, std::move(it->first));
      it = found.erase(it);
      more = true;
    }
  }
  for (const auto &[process, parent] : found) others_.insert(process.id);
}

}  // namespace det::profiler
