#include "wrappers/cli/run/run_display.h"

#include <algorithm>
#include <map>

namespace det::cli {

namespace {

using namespace std::chrono_literals;

constexpr auto between_blocks = 100ms;
constexpr auto between_progress_lines = 30s;
constexpr size_t most_said = 100;

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
  said_.push_back(printable(line));
  if (said_.size() > most_said) said_.pop_front();
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
  const bool resized = measure(terminal_) && !block_.empty();
  std::vector<std::string> lines = block_lines(state, terminal_);
  if (!resized && lines == block_) return;
  std::string out;
  if (resized) out = cleared(lines.size());
  else if (!block_.empty()) out = "\x1b[" + std::to_string(block_.size()) + "A";
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
  std::map<int64_t, std::string> running;
  for (const RunningTrial &trial : state.running) running[trial.id] = trial.hparams;
  for (const int64_t id : running_)
    if (!running.contains(id)) add("trial " + std::to_string(id) + " stopped");
  for (const auto &[id, hparams] : running)
    if (!running_.contains(id))
      add("trial " + std::to_string(id) + " started" +
          (hparams.empty() ? "" : ": " + printable(hparams)));
  running_.clear();
  for (const auto &[id, hparams] : running) running_.insert(id);
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

// Where the lines of a block have come to on a terminal of another size, only the terminal knows:
// all goes, and what was said is written again, as far as there is room above the block.
std::string RunDisplay::cleared(size_t block_lines) const {
  const auto width = static_cast<size_t>(terminal_.width);
  size_t rows = block_lines + 1;
  std::string said;
  for (auto line = said_.rbegin(); line != said_.rend(); ++line) {
    rows += std::max<size_t>((display_width(*line) + width - 1) / width, 1);
    if (rows > static_cast<size_t>(terminal_.height)) break;
    said.insert(0, *line + "\n");
  }
  return "\x1b[H\x1b[2J" + said;
}

std::string RunDisplay::erased() {
  if (block_.empty()) return "";
  const std::string out = measure(terminal_)
                              ? cleared(block_.size())
                              : "\x1b[" + std::to_string(block_.size()) + "A\r\x1b[J";
  block_.clear();
  return out;
}

}  // namespace det::cli
