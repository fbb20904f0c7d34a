#include "core/engine/runs/report_writer.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text/dotted_name.h"
#include "core/engine/checkpoints/checkpoint_records.h"

namespace det::engine {

namespace {

// Names are mostly plain, and need no library to be written.
void append_quoted(std::string &out, std::string_view name) {
  const auto is_plain = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  if (std::ranges::all_of(name, is_plain)) out.append(1, '"').append(name).append(1, '"');
  else out += to_wire(std::string(name));
}

}  // namespace

void MetricText::read(const Report &report) {
  batches_.clear();
  is_reduced_ = false;
  names_.clear();
  if (report.kind == ReportKind::metrics_json) {
    const Json parsed = parse_json_object(report.text, "metrics");
    dotted_.clear();
    each_dotted_name(parsed,
                     [this](const std::string &name, const Json &) { dotted_.push_back(name); });
    names_.assign(dotted_.begin(), dotted_.end());
    metrics_ = to_wire(parsed);
    if (report.batches.empty()) return;
    const Json batches = parse_json(report.batches, "batch metrics");
    if (!batches.empty()) batches_ = to_wire(batches);
    return;
  }
  metrics_ = '{';
  for (const MetricValue &metric : report.values) {
    if (metrics_.size() > 1) metrics_ += ',';
    names_.push_back(metric.name);
    append_quoted(metrics_, metric.name);
    metrics_ += ':';
    if (std::isfinite(metric.value)) {
      append_number(metrics_, metric.value);
    } else {
      metrics_ += '"';
      append_number(metrics_, metric.value);
      metrics_ += '"';
    }
  }
  metrics_ += '}';
}

std::optional<std::string_view> MetricText::batches() const {
  if (batches_.empty()) return std::nullopt;
  return batches_;
}

void MetricText::reduce_metrics(const Json &metrics) {
  metrics_ = to_wire(metrics);
  is_reduced_ = true;
}

namespace {

void add(const Json &metrics, std::map<std::string, Json, std::less<>> &values) {
  for (const auto &[name, value] : metrics.items()) values.emplace(name, value);
}

}  // namespace

void Repeats::begin(int64_t trial_id) {
  // Another connection may have stored reports of the same trial: other ranks, `det sync`.
  const int64_t version = store_.data_version();
  if (trial_id != trial_id_ || version != data_version_) forget();
  trial_id_ = trial_id;
  data_version_ = version;
}

bool Repeats::admit(std::string_view group, int64_t steps, MetricText &text,
                    std::vector<std::string> &conflicts) {
  Step &last = last_step(group);
  if (steps > last.steps) {
    last.steps = steps;
    last.loaded = true;
    last.pending = text.metrics();
    last.values.clear();
    last.batches = text.batches().has_value();
    return true;
  }
  Step earlier;
  earlier.steps = steps;
  Step &known = steps == last.steps ? last : earlier;
  load(group, known);

  const auto tell = [&](const std::string &what) {
    conflicts.push_back("trial " + std::to_string(trial_id_) + ", group \"" + std::string(group) +
                        "\", step " + std::to_string(steps) + ": " + what + "; the first is kept");
  };
  const Json given = parse_json_object(text.metrics(), "metrics");
  Json fresh = Json::object();
  for (const auto &[name, value] : given.items()) {
    const auto found = known.values.find(name);
    if (found == known.values.end()) fresh[name] = value;
    else if (found->second != value)
      tell("\"" + name + "\" was " + to_wire(found->second) + " and is now " + to_wire(value));
  }
  if (text.batches() && known.batches) {
    tell("metrics per batch were reported before");
    text.drop_batches();
  }
  const bool anything = !fresh.empty() || text.batches().has_value();
  if (fresh.size() != given.size()) text.reduce_metrics(fresh);
  add(fresh, known.values);
  known.batches = known.batches || text.batches().has_value();
  return anything;
}

Repeats::Step &Repeats::last_step(std::string_view group) {
  if (const auto found = last_.find(group); found != last_.end()) return found->second;
  Step step;
  Query highest = store_.query(
      "SELECT steps FROM metrics WHERE trial_id=? AND metric_group=? AND archived=0"
      " ORDER BY steps DESC LIMIT 1",
      trial_id_, group);
  if (highest.next()) step.steps = highest.integer(0);
  return last_.emplace(group, std::move(step)).first->second;
}

void Repeats::load(std::string_view group, Step &step) {
  if (!step.loaded) {
    rows_.insert();
    Query rows = store_.query(
        "SELECT metrics, batches IS NOT NULL FROM metrics"
        " WHERE trial_id=? AND metric_group=? AND steps=? AND archived=0 ORDER BY id",
        trial_id_, group, step.steps);
    while (rows.next()) {
      add(parse_json_object(rows.view(0), "stored metrics"), step.values);
      step.batches = step.batches || rows.integer(1) != 0;
    }
    step.loaded = true;
  }
  if (step.pending.empty()) return;
  add(parse_json_object(step.pending, "metrics"), step.values);
  step.pending.clear();
}

void KnownNames::add(std::string_view group, const std::vector<std::string_view> &names) {
  auto known = known_.find(group);
  if (known == known_.end()) known = known_.emplace(group, Names()).first;
  Names &of_group = known->second;
  if (std::ranges::equal(names, of_group.latest)) return;
  constexpr size_t many = 100'000;  // names that are never the same again must not fill the memory
  if (of_group.all.size() > many) of_group.all.clear();
  for (const std::string_view name : names) {
    if (of_group.all.contains(name)) continue;
    of_group.all.emplace(name);
    store_.run(
        "INSERT INTO metric_names (trial_id, metric_group, name) VALUES (?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        trial_id_, group, name);
  }
  of_group.latest.assign(names.begin(), names.end());
}

namespace {

constexpr size_t kinds = 3;
constexpr size_t validation = 1;

size_t kind_of(std::string_view group) {
  return group == "training" ? 0 : group == "validation" ? validation : 2;
}

}  // namespace

Delivery ReportWriter::deliver(const JournalKey &journal, std::span<const Report> reports) {
  Transaction transaction(store_, durability_);
  Delivery delivery;
  try {
    begin(journal);
    uint64_t stored = watermark(journal);
    for (const Report &report : reports) {
      if (report.sequence <= stored) continue;
      store(journal, report, delivery);
      stored = report.sequence;
    }
    rows_.insert();
    if (latest_run_ && status_)
      store_.run("UPDATE trials SET status=? WHERE id=?", *status_, journal.trial_id);
    if (latest_run_ && progress_)
      store_.run("UPDATE trials SET progress=? WHERE id=?", *progress_, journal.trial_id);
    store_.run(
        "INSERT INTO journals (journal_id, sequence) VALUES (?, ?)"
        " ON CONFLICT (journal_id) DO UPDATE SET sequence=excluded.sequence",
        journal.journal_id, stored);
    transaction.commit();
  } catch (...) {
    repeats_.forget();
    names_.forget();
    throw;
  }
  return delivery;
}

uint64_t ReportWriter::watermark(const JournalKey &journal) {
  Query found =
      store_.query("SELECT sequence FROM journals WHERE journal_id=?", journal.journal_id);
  return found.next() ? static_cast<uint64_t>(found.integer(0)) : 0;
}

void ReportWriter::begin(const JournalKey &journal) {
  Query trial = store_.query("SELECT last_run FROM trials WHERE id=?", journal.trial_id);
  if (!trial.next())
    throw Error(Code::not_found, "storing reports: no trial " + std::to_string(journal.trial_id) +
                                     " in '" + store_.path().string() + "'");
  latest_run_ = journal.run_id >= trial.integer(0);
  rows_.begin(journal);
  repeats_.begin(journal.trial_id);
  best_.begin(journal.trial_id);
  names_.begin(journal.trial_id);
  status_.reset();
  progress_.reset();

  own_ = later_ = {};
  Query rollbacks =
      store_.query("SELECT run_id, kind, steps FROM rollbacks WHERE trial_id=? AND run_id>=?",
                   journal.trial_id, journal.run_id);
  while (rollbacks.next()) {
    const bool own = rollbacks.integer(0) == journal.run_id;
    std::optional<int64_t> &steps =
        (own ? own_ : later_).at(static_cast<size_t>(rollbacks.integer(1)));
    steps = std::min(steps.value_or(rollbacks.integer(2)), rollbacks.integer(2));
  }
}

void ReportWriter::store(const JournalKey &journal, const Report &report, Delivery &delivery) {
  switch (report.kind) {
    case ReportKind::metrics:
    case ReportKind::metrics_json:
      store_metrics(journal, report, delivery);
      break;
    case ReportKind::status:
      status_ = report.text;
      break;
    case ReportKind::progress:
      progress_ = report.number;
      break;
    case ReportKind::log:
      store_.run(
          "INSERT INTO logs (trial_id, run_id, rank, time, level, text) VALUES (?, ?, ?, ?, ?, ?)",
          journal.trial_id, journal.run_id, journal.rank, report.time_us, report.level,
          report.text);
      break;
    case ReportKind::checkpoint:
      store_checkpoint(journal, report, delivery);
      break;
  }
}

void ReportWriter::store_checkpoint(const JournalKey &journal, const Report &report,
                                    Delivery &delivery) {
  const CheckpointReport checkpoint =
      checkpoint_report_from_json(unpack(report.text, "a checkpoint's report"));
  RunInfo run;
  run.trial_id = journal.trial_id;
  run.run_id = journal.run_id;
  try {
    record_checkpoint(store_, run, checkpoint);
  } catch (const Error &e) {
    if (e.code != Code::invalid && e.code != Code::conflict) throw;
    delivery.conflicts.push_back(e.what());
  }
}

void ReportWriter::store_metrics(const JournalKey &journal, const Report &report,
                                 Delivery &delivery) {
  const size_t kind = kind_of(report.group);
  if (kind == validation) best_.load();
  std::optional<double> searched;
  try {
    text_.read(report);
    if (kind == validation) searched = best_.read(text_.metrics());
  } catch (const Error &e) {
    if (e.code != Code::invalid) throw;
    // It would be as wrong the next time: it must not keep those behind it from the store.
    delivery.conflicts.push_back(
        "trial " + std::to_string(journal.trial_id) + ", group \"" + std::string(report.group) +
        "\", step " + std::to_string(report.steps) + ": a report was left out: " + e.what());
    return;
  }
  const bool of_step = report.steps != no_steps;
  if (of_step && (!own_[kind] || report.steps < *own_[kind]))
    roll_back(journal, kind, report.steps);
  const bool archived = of_step && is_rolled_back(kind, report.steps);
  if (of_step && !archived &&
      !repeats_.admit(report.group, report.steps, text_, delivery.conflicts))
    return;
  if (!archived) names_.add(report.group, text_.names());
  rows_.add(report, text_.metrics(), text_.batches(), archived);
  if (kind != validation || archived) return;
  // What is there already was taken out, and counts no second time.
  if (text_.is_reduced()) searched = best_.read(text_.metrics());
  rows_.insert();
  best_.add(store_.last_id(), searched);
}

// A report takes the place of what earlier runs reported from its step on: in its own kind of group
// including that step, in the others behind it.
void ReportWriter::roll_back(const JournalKey &journal, size_t kind, int64_t steps) {
  own_[kind] = steps;
  store_.run(
      "INSERT INTO rollbacks (trial_id, run_id, kind, steps) VALUES (?, ?, ?, ?)"
      " ON CONFLICT (trial_id, run_id, kind) DO UPDATE SET steps=excluded.steps",
      journal.trial_id, journal.run_id, static_cast<int64_t>(kind), steps);
  if (journal.run_id <= 1) return;
  rows_.insert();
  std::string group;
  for (;;) {
    {
      Query next = store_.query(
          "SELECT metric_group FROM metrics WHERE trial_id=? AND metric_group>?"
          " ORDER BY metric_group LIMIT 1",
          journal.trial_id, group);
      if (!next.next()) break;
      group = next.text(0);
    }
    store_.run(
        "UPDATE metrics SET archived=1"
        " WHERE trial_id=? AND metric_group=? AND steps>=? AND run_id<? AND archived=0",
        journal.trial_id, group, kind_of(group) == kind ? steps : steps + 1, journal.run_id);
    if (store_.changes() > 0) repeats_.forget();
  }
  best_.rolled_back();
}

// A later run had taken up the work before this step when this report was still on its way.
bool ReportWriter::is_rolled_back(size_t kind, int64_t steps) const {
  for (size_t other = 0; other < kinds; ++other)
    if (later_[other] && (other == kind ? steps >= *later_[other] : steps > *later_[other]))
      return true;
  return false;
}

}  // namespace det::engine
