#include "core/launcher/local/process_session.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/base/error.h"
#include "core/base/process/pidfd.h"

namespace det::launcher {

namespace {

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  for (const std::string &name : entry_names("/proc")) {
    pid_t pid = 0;
    const char *const last = name.data() + name.size();
    if (std::from_chars(name.data(), last, pid).ptr == last && pid > 0) pids.push_back(pid);
  }
  return pids;
}

std::vector<std::string> environment_of(pid_t pid) {
  std::string text;
  try {
    text = read_file("/proc/" + std::to_string(pid) + "/environ");
  } catch (const Error &) {
    return {};
  }
  std::vector<std::string> variables;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    variables.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return variables;
}

// An orphan may have become a child of this process, where this is the first one of a container.
void reap(const Fd &process) {
  siginfo_t ignored{};
  waitid(by_pidfd, static_cast<id_t>(process.get()), &ignored, WEXITED | WNOHANG);
}

}  // namespace

std::vector<Fd> kill_session(pid_t session, const std::function<bool(pid_t)> &belongs) {
  std::vector<Fd> left;
  if (session <= 0) return left;
  for (const pid_t pid : all_processes()) {
    if (getsid(pid) != session) continue;
    Fd process = open_process(pid);
    // Asked again of what is now held: the number may have changed hands before.
    if (!process || getsid(pid) != session || !belongs(pid)) continue;
    if (has_ended(process)) {
      if (pid != session) reap(process);
      continue;
    }
    send_kill(process);
    left.push_back(std::move(process));
  }
  return left;
}

bool started_with(pid_t pid, const std::vector<std::string> &variables) {
  const std::vector<std::string> has = environment_of(pid);
  return std::ranges::all_of(variables, [&](const std::string &variable) {
    return std::ranges::find(has, variable) != has.end();
  });
}

std::string variable_of(pid_t pid, const std::string &name) {
  for (const std::string &variable : environment_of(pid))
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  return {};
}

}  // namespace det::launcher
