#include "run_display.h"

namespace det::cli {

namespace {

using namespace std::chrono_literals;

constexpr auto between_blocks = 100ms;
constexpr auto between_progress_lines = 30s;

std::string joined_lines(const std::vector<std::string> &lines) {
  // Without wrapping, so that a line stays one when the terminal has become narrower.
  std::string out = "\x1b[?7l";
  for (const std::string &line : lines) out += "\r" + line + "\x1b[K\n";
  return out + "\x1b[?7h";
}

}  // namespace

void RunDisplay::show(const RunState &state, Clock::time_point now) {
  if (!terminal_.cursor) return tell(state, now);
  if (last_ && now - *last_ < between_blocks) return;
  last_ = now;
  draw(state);
}

void RunDisplay::say(const std::string &line) {
  const std::vector<std::string> block = block_;
  std::string out = erased() + printable(line) + "\n";
  if (!block.empty()) out += joined_lines(block);
  block_ = block;
  print(out);
  flush_output();
}

void RunDisplay::finish(const RunSummary &summary) {
  print(erased() + summary_text(summary, terminal_));
  flush_output();
}

void RunDisplay::draw(const RunState &state) {
  measure(terminal_);
  std::vector<std::string> lines = block_lines(state, terminal_);
  if (lines == block_) return;
  std::string out;
  if (!block_.empty()) out = "\x1b[" + std::to_string(block_.size()) + "A";
  // What is left of a longer one before goes.
  print(out + joined_lines(lines) + "\x1b[J");
  flush_output();
  block_ = std::move(lines);
}

void RunDisplay::tell(const RunState &state, Clock::time_point now) {
  std::string out;
  const auto add = [&](const std::string &line) { out += line + "\n"; };
  if (!last_) last_ = now;
  const bool is_news = state.state != state_;
  const auto add_experiment = [&] {
    add("experiment " + std::to_string(state.experiment_id) + " (" + printable(state.name) + ") " +
        printable(state.state));
  };
  if (is_news && state_.empty()) add_experiment();
  for (const LeftTrial &trial : state.left) {
    add(left_line(trial, state.metric_name));
    running_.erase(trial.id);
  }
  std::set<int64_t> running;
  for (const RunningTrial &trial : state.running) running.insert(trial.id);
  for (const int64_t id : running_)
    if (!running.contains(id)) add("trial " + std::to_string(id) + " left");
  for (const int64_t id : running)
    if (!running_.contains(id)) add("trial " + std::to_string(id) + " started");
  running_ = std::move(running);
  if (state.best && (!best_ || best_->id != state.best->id || best_->metric != state.best->metric))
    add("best so far: " + best_text(*state.best, state.metric_name));
  best_ = state.best;
  if (is_news && !state_.empty()) add_experiment();
  state_ = state.state;
  if (now - *last_ >= between_progress_lines) {
    add(progress_line(state));
    last_ = now;
  }
  if (out.empty()) return;
  print(out);
  flush_output();
}

std::string RunDisplay::erased() {
  if (block_.empty()) return "";
  const std::string out = "\x1b[" + std::to_string(block_.size()) + "A\r\x1b[J";
  block_.clear();
  return out;
}

}  // namespace det::cli
