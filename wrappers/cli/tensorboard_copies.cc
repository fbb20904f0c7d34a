#include "tensorboard_copies.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <utility>

#include "core/base/printable.h"
#include "core/storage/progress.h"
#include "exit_code.h"
#include "progress_bar.h"

namespace det::cli {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t longest_wait = 3'600'000;  // milliseconds that poll(2) surely takes

bool is_readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

}  // namespace

void fetch_copies(const ChildProgram &board, TensorboardLogdir &logdir) {
  ProgressBar bar("fetching");
  storage::Progress progress([&](const storage::ProgressCount &count) {
    if (is_readable(board.signals())) throw Ended{static_cast<ExitCode>(128 + SIGINT)};
    const auto number = [](uint64_t value) { return static_cast<int64_t>(value); };
    const det_progress told{sizeof told, number(count.bytes), number(count.total_bytes),
                            number(count.files), number(count.total_files)};
    ProgressBar::tell(&told, &bar);
  });
  logdir.refresh(&progress);
}

void follow_copies(const ChildProgram &board, TensorboardLogdir &logdir,
                   std::chrono::milliseconds interval) {
  struct BoardEnded {};
  bool has_failed = false;
  std::array<pollfd, 2> waiting = {{{board.ended(), POLLIN, 0}, {board.signals(), POLLIN, 0}}};
  const auto pass_on = [&] { board.pass_on_signals([](int) { return false; }); };
  for (auto due = Clock::now() + interval; !is_readable(board.ended());) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
    poll(waiting.data(), waiting.size(),
         static_cast<int>(std::clamp<int64_t>(left.count(), 0, longest_wait)));
    pass_on();
    if (Clock::now() < due) continue;
    try {
      storage::Progress progress([&](const storage::ProgressCount &) {
        pass_on();
        if (is_readable(board.ended())) throw BoardEnded();
      });
      logdir.refresh(&progress);
      has_failed = false;
    } catch (const BoardEnded &) {
      return;
    } catch (const std::exception &failure) {
      if (!std::exchange(has_failed, true))
        std::fprintf(stderr, "det: fetching events: %s; it is tried again and again\n",
                     printable(failure.what()).c_str());
    }
    due = Clock::now() + interval;
  }
}

}  // namespace det::cli
