#include "wrappers/cli/run/run_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "wrappers/cli/plot/series.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

struct Part {
  std::string text;
  std::optional<Colour> colour = {};
};

// The parts as one line that leaves the last column free: some terminals wrap there.
std::string fitted(const std::vector<Part> &parts, const Terminal &terminal) {
  size_t room = static_cast<size_t>(std::max(terminal.width - 1, 1));
  std::string line;
  for (const auto &[text, colour] : parts) {
    const std::string cut = shortened(text, room, terminal);
    line += colour && !cut.empty() ? painted(terminal, *colour, cut) : cut;
    if (cut.size() != text.size()) break;
    room -= display_width(cut);
    if (room == 0) break;
  }
  return line;
}

// NaN is none.
double within(double fraction) { return fraction > 0 ? std::min(fraction, 1.0) : 0; }

std::string bar(double fraction, int columns, const Terminal &terminal) {
  const int full = static_cast<int>(within(fraction) * columns);
  std::string out;
  for (int i = 0; i < columns; ++i)
    out += i < full ? (terminal.utf8 ? "█" : "#") : (terminal.utf8 ? "░" : "-");
  return out;
}

std::string percent(double fraction) { return percent_of(within(fraction)); }

std::string padded(std::string text, size_t columns) {
  const size_t width = display_width(text);
  return columns > width ? text + std::string(columns - width, ' ') : text;
}

std::string right(const std::string &text, size_t columns) {
  const size_t width = display_width(text);
  return columns > width ? std::string(columns - width, ' ') + text : text;
}

std::string metric_text(const std::string &name, double value) {
  return printable(name.empty() ? "metric" : name) + " " + short_number(value);
}

std::string counts_text(const TrialCounts &counts) {
  std::vector<std::string> texts;
  for (const auto &[state, count] : counts) {
    if (count == 0) continue;
    std::string word = printable(state);
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
    texts.push_back(std::to_string(count) + " " + word);
  }
  return texts.empty() ? "none yet" : joined(texts);
}

bool all_failed(const TrialCounts &counts) {
  const auto failed = counts.find("ERROR");
  if (failed == counts.end() || failed->second == 0) return false;
  return std::ranges::all_of(counts,
                             [](const auto &it) { return it.first == "ERROR" || it.second == 0; });
}

std::string trials_text(const RunState &state) {
  const std::string counts = counts_text(state.counts);
  if (state.planned == 0) return counts;
  return std::to_string(state.over) + " of " + std::to_string(state.planned) + " done; " + counts;
}

std::string time_left(const RunState &state) {
  return state.seconds_left ? "about " + duration_text(*state.seconds_left) + " left" : "";
}

Colour colour_of(const std::string &state) {
  if (state == "ERROR") return Colour::red;
  if (state == "COMPLETED") return Colour::green;
  return state == "ACTIVE" ? Colour::cyan : Colour::yellow;
}

std::string trial_line(const RunningTrial &trial, const RunState &state, size_t id_columns,
                       const Terminal &terminal) {
  std::string line = "  trial " + right(std::to_string(trial.id), id_columns) + "  ";
  const double progress = trial.progress.value_or(0);
  if (terminal.width >= 60) line += bar(progress, terminal.width >= 100 ? 20 : 10, terminal) + " ";
  line += right(trial.progress ? percent(progress) : "-", 4) + "  ";
  line += padded("step " + std::to_string(trial.steps), 12) + "  ";
  line += padded(trial.metric ? metric_text(state.metric_name, *trial.metric) : "", 16);
  for (const std::string &text : {trial.status, trial.hparams})
    if (!text.empty()) line += "  " + printable(text);
  line.erase(line.find_last_not_of(' ') + 1);
  return fitted({{line}}, terminal);
}

void add_fact(std::string &out, const std::string &label, const std::string &value) {
  if (!value.empty()) out += padded(label, 18) + value + "\n";
}

void add_hparams(std::string &out, const std::string &prefix, const Json &value) {
  if (!value.is_object() || value.empty()) {
    out += "  " + padded(printable(prefix), 18) + " " + printable(number_of(value)) + "\n";
    return;
  }
  for (const auto &[name, inner] : value.items())
    add_hparams(out, prefix.empty() ? name : prefix + "." + name, inner);
}

}  // namespace

std::string best_text(const BestTrial &best, const std::string &metric_name) {
  return "trial " + std::to_string(best.id) + ", " + metric_text(metric_name, best.metric);
}

std::vector<std::string> block_lines(const RunState &state, const Terminal &terminal) {
  std::vector<std::string> lines;
  lines.push_back(fitted({{"Experiment " + std::to_string(state.experiment_id) + "  "},
                          {printable(state.name) + "  "},
                          {printable(state.state), colour_of(state.state)},
                          {"  " + duration_text(state.seconds)}},
                         terminal));
  size_t id_columns = 1;
  for (const RunningTrial &trial : state.running)
    id_columns = std::max(id_columns, std::to_string(trial.id).size());
  // Besides these: the head, the counts, the bar, perhaps the best and "more", and the cursor.
  const size_t most = static_cast<size_t>(std::max(terminal.height - 6, 1));
  for (const RunningTrial &trial : state.running) {
    if (lines.size() > most) break;
    lines.push_back(trial_line(trial, state, id_columns, terminal));
  }
  if (state.running.size() > most)
    lines.push_back(
        fitted({{"  and " + std::to_string(state.running.size() - most) + " more"}}, terminal));
  lines.push_back(fitted({{"Trials: " + trials_text(state)}}, terminal));
  if (state.best)
    lines.push_back(fitted(
        {{"Best:   "}, {best_text(*state.best, state.metric_name), Colour::green}}, terminal));
  const std::string left = time_left(state);
  lines.push_back(fitted({{bar(state.progress, std::clamp(terminal.width - 30, 10, 40), terminal)},
                          {" " + right(percent(state.progress), 4)},
                          {left.empty() ? "" : "  " + left}},
                         terminal));
  return lines;
}

std::string progress_line(const RunState &state) {
  std::string line = percent(state.progress) + ", trials: " + trials_text(state);
  if (state.best) line += "; best: " + best_text(*state.best, state.metric_name);
  if (const std::string left = time_left(state); !left.empty()) line += "; " + left;
  return line;
}

std::string left_line(const LeftTrial &trial, const std::string &metric_name) {
  // One that is active goes on: when it starts again, or when the search has more for it to do.
  std::string line = "trial " + std::to_string(trial.id) + " " +
                     (trial.state != "ACTIVE" ? printable(trial.state)
                      : trial.crashed         ? "crashed, restarts"
                                              : "waits");
  if (trial.metric) line += ", " + metric_text(metric_name, *trial.metric);
  return line;
}

std::string summary_text(const RunSummary &summary, const Terminal &terminal) {
  std::string out = "Experiment " + std::to_string(summary.experiment_id) + " " +
                    painted(terminal, colour_of(summary.state), printable(summary.state)) +
                    " after " + duration_text(summary.seconds) + ": " + printable(summary.name) +
                    "\n";
  add_fact(out, "Trials", counts_text(summary.counts));
  if (summary.best) {
    add_fact(out, "Best trial",
             painted(terminal, Colour::green, best_text(*summary.best, summary.metric_name)));
    if (summary.hparams.is_object() && !summary.hparams.empty()) {
      out += "Hyperparameters\n";
      add_hparams(out, "", summary.hparams);
    }
  }
  if (!summary.best && !summary.metric_name.empty() && summary.resume.empty())
    add_fact(out, "Best trial",
             all_failed(summary.counts)
                 ? "none: every trial failed; `det logs TRIAL` shows what it printed"
                 : "none: no trial reported the searcher's metric, '" +
                       printable(summary.metric_name) + "', in a validation");
  if (!summary.checkpoint.empty()) {
    const std::string id = printable(summary.checkpoint);
    add_fact(out, "Checkpoint", id + " at step " + std::to_string(summary.checkpoint_steps));
    const bool in_bucket = summary.checkpoint_path.empty();
    add_fact(out, in_bucket ? "Fetch it" : "Stored in",
             in_bucket ? "det checkpoints get " + id : printable(summary.checkpoint_path));
    add_fact(
        out, "Load it",
        "C       det_checkpoint_reader_open(checkpoint, \"" + id + "\", NULL, &restore, &err)");
    add_fact(out, "", "Python  context.checkpoint.restore_path(\"" + id + "\")");
  } else if (summary.best) {
    add_fact(out, "Checkpoint", "none: the best trial saved none, or it was deleted");
  }
  add_fact(out, "Resume with", printable(summary.resume));
  return out;
}

}  // namespace det::cli
