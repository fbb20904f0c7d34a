#include "core/client/resume.h"

#include <string>

#include "core/base/file.h"
#include "core/master/embedded/lifecycle.h"

namespace det {

namespace {

// For a POSIX shell.
std::string quoted(const std::string &text) {
  constexpr const char *plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(plain) == text.npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

Json resume_command(Database &store, const std::filesystem::path &store_directory,
                    int64_t trial_id) {
  const auto run = latest_run(store, trial_id);
  if (!run || run->command.empty()) return {};
  std::string command = "DET_TRIAL_ID=" + std::to_string(trial_id) + " ";
  if (const auto home = store_directory.parent_path(); home != user_data_directory())
    command += "DET_HOME=" + quoted(home.string()) + " ";
  return command + run->command;
}

}  // namespace det
