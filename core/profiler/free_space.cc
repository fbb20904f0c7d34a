#include "core/profiler/free_space.h"

#include <sys/statvfs.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/base/thread.h"

namespace det::profiler {

struct FreeSpace::Shared {
  Shared(std::vector<std::filesystem::path> asked, Ask how)
      : paths(std::move(asked)), ask(std::move(how)), answers(paths.size()) {}

  struct Answer {
    std::optional<double> percent;
    uint64_t round = 0;
  };

  const std::vector<std::filesystem::path> paths;
  const Ask ask;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Answer> answers;
  uint64_t round = 1;  // of questions
  bool stopping = false, ended = false;
  std::thread thread;

  void run() {
    std::unique_lock lock(mutex);
    for (uint64_t asked = 0; !stopping; asked = round) {
      changed.wait(lock, [&] { return stopping || round > asked; });
      for (size_t i = 0; i < paths.size() && !stopping; ++i) {
        lock.unlock();
        const std::optional<double> percent = ask(paths[i]);
        lock.lock();
        answers[i] = {percent, round};
      }
    }
    ended = true;
    changed.notify_all();
  }
};

FreeSpace::FreeSpace(std::vector<std::filesystem::path> paths, Ask ask)
    : shared_(std::make_shared<Shared>(std::move(paths), std::move(ask))) {
  shared_->thread = start_thread("det-free-space", [shared = shared_] { shared->run(); });
}

FreeSpace::~FreeSpace() {
  constexpr std::chrono::milliseconds patience{200};
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  const bool ended = shared_->changed.wait_for(lock, patience, [&] { return shared_->ended; });
  lock.unlock();
  if (ended) shared_->thread.join();
  else shared_->thread.detach();  // it has what it needs, and ends with the mount's answer
}

std::vector<std::optional<double>> FreeSpace::ask() {
  const std::lock_guard lock(shared_->mutex);
  std::vector<std::optional<double>> percents;
  bool all = true;
  for (const Shared::Answer &answer : shared_->answers) {
    const bool answered = answer.round == shared_->round;
    percents.push_back(answered ? answer.percent : std::nullopt);
    all = all && answered;
  }
  if (all) {
    ++shared_->round;
    shared_->changed.notify_all();
  }
  return percents;
}

std::optional<double> FreeSpace::used_percent(const std::filesystem::path &path) {
  struct statvfs about {};
  if (statvfs(path.c_str(), &about) != 0) return std::nullopt;
  const auto used = static_cast<double>(about.f_blocks - about.f_bfree);
  const auto available = static_cast<double>(about.f_bavail);
  if (used + available <= 0) return std::nullopt;
  return std::round(used / (used + available) * 1000) / 10;
}

}  // namespace det::profiler
