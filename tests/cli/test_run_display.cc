// What `det run` shows: the lines themselves, and when they are written.
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "tests/cmocka.h"
#include "tests/temporary_directory.h"
#include "wrappers/cli/run/run_display.h"
#include "wrappers/cli/text/field_text.h"

using namespace det::cli;
using namespace std::chrono_literals;

namespace {

// What `body` writes to standard output.
std::string written(const std::function<void()> &body) {
  const det::TemporaryDirectory directory;
  const std::filesystem::path path = directory / "out";
  std::fflush(stdout);
  const int before = dup(STDOUT_FILENO);
  const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  dup2(file, STDOUT_FILENO);
  body();
  std::fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  std::string text(static_cast<size_t>(lseek(file, 0, SEEK_END)), '\0');
  const ssize_t got = pread(file, text.data(), text.size(), 0);
  close(file);
  assert_int_equal(got, text.size());
  return text;
}

RunState searching() {
  RunState state;
  state.experiment_id = 3;
  state.name = "digits";
  state.state = "ACTIVE";
  state.metric_name = "loss";
  state.progress = 0.456;
  state.seconds = 130;
  state.seconds_left = 80;
  state.running = {{9, "training", 1200, 0.25, 0.5}, {12, "", 0, std::nullopt, std::nullopt}};
  state.counts = {{"COMPLETED", 8}, {"ERROR", 1}, {"running", 2}, {"PAUSED", 0}};
  state.best = BestTrial{5, 0.125};
  return state;
}

Terminal screen(int width) {
  Terminal terminal;
  terminal.interactive = terminal.cursor = true;
  terminal.width = width;
  return terminal;
}

std::string joined_lines(const std::vector<std::string> &lines) {
  std::string out;
  for (const std::string &line : lines) out += line + "\n";
  return out;
}

void block_has_a_line_for_each_running_trial_and_a_bar(void **) {
  assert_string_equal(joined_lines(block_lines(searching(), screen(80))).c_str(),
                      "Experiment 3  digits  ACTIVE  2m10s\n"
                      "  trial  9  #####-----  50%  step 1200     loss 0.25         training\n"
                      "  trial 12  ----------    -  step 0\n"
                      "Trials: 8 completed, 1 error, 2 running\n"
                      "Best:   trial 5, loss 0.125\n"
                      "##################----------------------  45%  about 1m20s left\n");
}

void block_tells_how_many_are_planned_and_what_they_try(void **) {
  RunState state = searching();
  state.over = 9;
  state.planned = 16;
  state.running[0].hparams = "lr=0.1 opt=a\x1b";
  state.running[1].hparams = "lr=0.2 opt=b";
  const std::vector<std::string> lines = block_lines(state, screen(90));
  assert_string_equal(lines[1].c_str(),
                      "  trial  9  #####-----  50%  step 1200     loss 0.25         training  "
                      "lr=0.1 opt=a\\x1b");
  assert_string_equal(lines[2].c_str(),
                      "  trial 12  ----------    -  step 0                          lr=0.2 opt=b");
  assert_string_equal(lines[3].c_str(), "Trials: 9 of 16 done; 8 completed, 1 error, 2 running");
  assert_string_equal(progress_line(state).substr(0, 38).c_str(),
                      "45%, trials: 9 of 16 done; 8 completed");
}

void one_that_crashed_is_told_from_one_that_waits(void **) {
  assert_string_equal(left_line({3, "ACTIVE", 0.5, true}, "loss").c_str(),
                      "trial 3 crashed, restarts, loss 0.5");
  assert_string_equal(left_line({3, "ACTIVE", {}, false}, "loss").c_str(), "trial 3 waits");
  assert_string_equal(left_line({3, "ERROR", {}, true}, "loss").c_str(), "trial 3 ERROR");
}

void block_uses_blocks_and_colours_where_the_terminal_has_them(void **) {
  Terminal terminal = screen(50);
  terminal.utf8 = terminal.colour = true;
  RunState state = searching();
  state.running.clear();
  state.seconds_left.reset();
  assert_string_equal(joined_lines(block_lines(state, terminal)).c_str(),
                      "Experiment 3  digits  \x1b[36mACTIVE\x1b[0m  2m10s\n"
                      "Trials: 8 completed, 1 error, 2 running\n"
                      "Best:   \x1b[32mtrial 5, loss 0.125\x1b[0m\n"
                      "█████████░░░░░░░░░░░  45%\n");
}

void narrow_terminal_cuts_lines(void **) {
  const std::vector<std::string> lines = block_lines(searching(), screen(24));
  for (const std::string &line : lines) assert_true(display_width(line) < 24);
  assert_string_equal(lines[0].c_str(), "Experiment 3  digits  ~");
  assert_string_equal(lines[1].c_str(), "  trial  9   50%  step~");
  for (const std::string &line : block_lines(searching(), screen(1)))
    assert_true(display_width(line) <= 1);
}

void low_terminal_leaves_trials_out(void **) {
  Terminal terminal = screen(80);
  terminal.height = 9;
  RunState state = searching();
  for (int64_t id = 20; id < 70; ++id) state.running.push_back({id, "", 0, {}, {}});
  const std::vector<std::string> lines = block_lines(state, terminal);
  assert_int_equal(lines.size(), 8);
  assert_string_equal(lines[4].c_str(), "  and 49 more");
}

void nothing_from_a_trial_steers_the_terminal(void **) {
  RunState state = searching();
  state.name = "\x1b[2J";
  state.running[0].status = "a\nb\x07";
  state.metric_name = "\x1b]0;x";
  state.best->metric = std::nan("");
  state.counts = {{"\x1b[1m", 1}};
  const std::string text = joined_lines(block_lines(state, screen(200))) + progress_line(state) +
                           left_line({1, "\x1b[3m", 1.0}, state.metric_name);
  assert_equal(text.find('\x1b'), text.npos);
  assert_equal(text.find('\x07'), text.npos);
  assert_true(text.find("NaN") != text.npos);
}

void values_beyond_their_range_are_shown_within_it(void **) {
  RunState state = searching();
  state.progress = 1.5;
  state.running[0].progress = -1;
  const std::vector<std::string> lines = block_lines(state, screen(80));
  assert_true(lines[1].find("----------   0%") != std::string::npos);
  assert_true(lines.back().find("# 100%") != std::string::npos);
  state.progress = state.running[0].progress.emplace(std::nan(""));
  assert_true(block_lines(state, screen(80)).back().find("   0%") != std::string::npos);
}

void durations_have_two_units(void **) {
  const struct {
    double seconds;
    const char *text;
  } cases[] = {{0, "0s"},        {59.4, "59s"},        {60, "1m00s"},
               {3599, "59m59s"}, {3900, "1h05m"},      {270'000, "3d03h"},
               {-5, "0s"},       {std::nan(""), "0s"}, {INFINITY, "11574074d01h"}};
  for (const auto &[seconds, text] : cases)
    assert_string_equal(duration_text(seconds).c_str(), text);
}

void terminal_is_drawn_over_and_not_too_often(void **) {
  RunDisplay display(screen(40));
  RunState state = searching();
  state.running.clear();
  state.best.reset();
  const RunDisplay::Clock::time_point start{};
  const std::string first = written([&] { display.show(state, start); });
  assert_string_equal(first.c_str(),
                      "\x1b[?7l\rExperiment 3  digits  ACTIVE  2m10s\x1b[K\n"
                      "\rTrials: 8 completed, 1 error, 2 running\x1b[K\n"
                      "\r####------  45%  about 1m20s left\x1b[K\n\x1b[?7h\x1b[J");
  state.seconds = 131;
  assert_string_equal(written([&] { display.show(state, start + 50ms); }).c_str(), "");
  const std::string second = written([&] { display.show(state, start + 100ms); });
  assert_int_equal(second.find("\x1b[3A\x1b[?7l\rExperiment 3  digits  ACTIVE  2m11s"), 0);
  // Nothing new, nothing written.
  assert_string_equal(written([&] { display.show(state, start + 1s); }).c_str(), "");
}

void line_that_stays_stands_above_the_block(void **) {
  RunDisplay display(screen(40));
  RunState state = searching();
  state.running.clear();
  const std::string block = written([&] { display.show(state); });
  const std::string said = written([&] { display.say("Pausing\x1b[A"); });
  assert_int_equal(said.find("\x1b[4A\r\x1b[JPausing\\x1b[A\n\x1b[?7l"), 0);
  assert_string_equal(written([&] { display.finish({}); }).substr(0, 8).c_str(), "\x1b[4A\r\x1b[J");
}

// What `body` writes to a terminal of this size.
std::string written_to_terminal(const winsize &size, const std::function<void()> &body) {
  int parent = -1, child = -1;
  assert_int_equal(openpty(&parent, &child, nullptr, nullptr, nullptr), 0);
  termios raw{};
  tcgetattr(child, &raw);
  cfmakeraw(&raw);
  tcsetattr(child, TCSANOW, &raw);
  ioctl(child, TIOCSWINSZ, &size);
  std::fflush(stdout);
  const int before = dup(STDOUT_FILENO);
  dup2(child, STDOUT_FILENO);
  body();
  std::fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  std::string text(4096, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(read(parent, text.data(), text.size()), 0)));
  close(child);
  close(parent);
  return text;
}

void terminal_of_another_size_is_drawn_anew(void **) {
  RunDisplay display(screen(40));
  RunState state = searching();
  state.running.clear();
  const RunDisplay::Clock::time_point start{};
  const winsize wide{24, 40, 0, 0}, narrow{6, 20, 0, 0};
  written_to_terminal(wide, [&] {
    display.say("first line");
    display.say("a line of more than twenty columns");
    display.show(state, start);
  });
  // Four lines of the block, and of what was said one row at most.
  const std::string again = written_to_terminal(narrow, [&] { display.show(state, start + 1s); });
  assert_string_equal(again.c_str(),
                      "\x1b[H\x1b[2J\x1b[?7l\rExperiment 3  digi~\x1b[K\n"
                      "\rTrials: 8 complete~\x1b[K\n\rBest:   trial 5, l~\x1b[K\n"
                      "\r####------  45%  a~\x1b[K\n\x1b[?7h\x1b[J");
  const std::string said = written_to_terminal(wide, [&] { display.say("last"); });
  assert_int_equal(said.find("\x1b[H\x1b[2Jfirst line\na line of more than twenty columns\nlast\n"),
                   0);
  assert_int_equal(written_to_terminal(narrow, [&] { display.finish({}); }).find("\x1b[H\x1b[2J"),
                   0);
}

void elsewhere_lines_tell_what_happened(void **) {
  RunDisplay display((Terminal()));
  RunState state = searching();
  state.running[0].hparams = "lr=0.1";
  const RunDisplay::Clock::time_point start{};
  assert_string_equal(written([&] { display.show(state, start); }).c_str(),
                      "experiment 3 (digits) ACTIVE\n"
                      "trial 9 started: lr=0.1\n"
                      "trial 12 started\n"
                      "best so far: trial 5, loss 0.125\n");
  assert_string_equal(written([&] { display.show(state, start + 20s); }).c_str(), "");
  assert_string_equal(written([&] { display.show(state, start + 31s); }).c_str(),
                      "45%, trials: 8 completed, 1 error, 2 running; "
                      "best: trial 5, loss 0.125; about 1m20s left\n");
  state.running.resize(1);
  state.left = {{12, "COMPLETED", 0.1}};
  state.best = BestTrial{12, 0.1};
  assert_string_equal(written([&] { display.show(state, start + 32s); }).c_str(),
                      "trial 12 COMPLETED, loss 0.1\n"
                      "best so far: trial 12, loss 0.1\n");
  state.left.clear();
  state.running.clear();
  state.state = "PAUSED";
  assert_string_equal(written([&] { display.show(state, start + 33s); }).c_str(),
                      "trial 9 stopped\n"
                      "experiment 3 (digits) PAUSED\n");
}

RunSummary ended() {
  RunSummary summary;
  summary.experiment_id = 3;
  summary.name = "digits";
  summary.state = "COMPLETED";
  summary.metric_name = "loss";
  summary.seconds = 95;
  summary.counts = {{"COMPLETED", 16}};
  summary.best = BestTrial{5, 0.125};
  summary.hparams = {{"lr", 0.1}, {"optimizer", {{"momentum", 0.9}}}, {"name", "a\x1b"}};
  summary.checkpoint = "5a1c9f0e-0000-4000-8000-000000000000";
  summary.checkpoint_steps = 1200;
  summary.checkpoint_path = "/data/checkpoints/5a1c9f0e-0000-4000-8000-000000000000";
  return summary;
}

void summary_names_the_best_trial_and_how_to_load_it(void **) {
  assert_string_equal(summary_text(ended(), Terminal()).c_str(),
                      "Experiment 3 COMPLETED after 1m35s: digits\n"
                      "Trials            16 completed\n"
                      "Best trial        trial 5, loss 0.125\n"
                      "Hyperparameters\n"
                      "  lr                 0.1\n"
                      "  optimizer.momentum 0.9\n"
                      "  name               a\\x1b\n"
                      "Checkpoint        5a1c9f0e-0000-4000-8000-000000000000 at step 1200\n"
                      "Stored in         /data/checkpoints/5a1c9f0e-0000-4000-8000-000000000000\n"
                      "Load it           C       det_checkpoint_reader_open(checkpoint, "
                      "\"5a1c9f0e-0000-4000-8000-000000000000\", NULL, &restore, &err)\n"
                      "                  Python  context.checkpoint.restore_path("
                      "\"5a1c9f0e-0000-4000-8000-000000000000\")\n");
}

void summary_says_how_to_fetch_from_a_bucket(void **) {
  RunSummary summary = ended();
  summary.checkpoint_path.clear();
  const std::string text = summary_text(summary, Terminal());
  const std::string fetch = "Fetch it          det checkpoints get " + summary.checkpoint;
  assert_int_not_equal(text.find("\n" + fetch + "\n"), std::string::npos);
  assert_int_equal(text.find("Stored in"), std::string::npos);
}

void summary_of_a_pause_says_how_to_go_on(void **) {
  RunSummary summary = ended();
  summary.state = "PAUSED";
  summary.checkpoint.clear();
  summary.hparams = nullptr;
  summary.counts = {};
  summary.resume = "det run --resume 3";
  assert_string_equal(summary_text(summary, Terminal()).c_str(),
                      "Experiment 3 PAUSED after 1m35s: digits\n"
                      "Trials            none yet\n"
                      "Best trial        trial 5, loss 0.125\n"
                      "Checkpoint        none: the best trial saved none, or it was deleted\n"
                      "Resume with       det run --resume 3\n");
  summary.best.reset();
  assert_string_equal(summary_text(summary, Terminal()).c_str(),
                      "Experiment 3 PAUSED after 1m35s: digits\n"
                      "Trials            none yet\n"
                      "Resume with       det run --resume 3\n");
}

void summary_of_failures_says_where_to_look(void **) {
  RunSummary summary = ended();
  summary.state = "ERROR";
  summary.best.reset();
  summary.checkpoint.clear();
  summary.counts = {{"ERROR", 2}, {"running", 0}};
  summary.metric_name = "loss";
  assert_string_equal(summary_text(summary, Terminal()).c_str(),
                      "Experiment 3 ERROR after 1m35s: digits\n"
                      "Trials            2 error\n"
                      "Best trial        none: every trial failed; `det logs TRIAL` shows what it "
                      "printed\n");
  summary.counts = {{"ERROR", 1}, {"COMPLETED", 1}};
  assert_non_null(strstr(summary_text(summary, Terminal()).c_str(),
                         "no trial reported the searcher's metric, 'loss', in a validation"));
}

}  // namespace

int test_run_display() {
  std::setlocale(LC_CTYPE, "C.UTF-8");
  unsetenv("COLUMNS");
  unsetenv("LINES");
  const CMUnitTest tests[] = {
      cmocka_unit_test(block_has_a_line_for_each_running_trial_and_a_bar),
      cmocka_unit_test(block_tells_how_many_are_planned_and_what_they_try),
      cmocka_unit_test(one_that_crashed_is_told_from_one_that_waits),
      cmocka_unit_test(terminal_of_another_size_is_drawn_anew),
      cmocka_unit_test(block_uses_blocks_and_colours_where_the_terminal_has_them),
      cmocka_unit_test(narrow_terminal_cuts_lines),
      cmocka_unit_test(low_terminal_leaves_trials_out),
      cmocka_unit_test(nothing_from_a_trial_steers_the_terminal),
      cmocka_unit_test(values_beyond_their_range_are_shown_within_it),
      cmocka_unit_test(durations_have_two_units),
      cmocka_unit_test(terminal_is_drawn_over_and_not_too_often),
      cmocka_unit_test(line_that_stays_stands_above_the_block),
      cmocka_unit_test(elsewhere_lines_tell_what_happened),
      cmocka_unit_test(summary_names_the_best_trial_and_how_to_load_it),
      cmocka_unit_test(summary_says_how_to_fetch_from_a_bucket),
      cmocka_unit_test(summary_of_a_pause_says_how_to_go_on),
      cmocka_unit_test(summary_of_failures_says_where_to_look),
  };
  return cmocka_run_group_tests_name("run_display", tests, nullptr, nullptr);
}
