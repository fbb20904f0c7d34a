#include "core/engine/report_writer.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/engine/checkpoint_records.h"

namespace det::engine {

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
  if (!archived)
    for (const std::string_view name : text_.names()) names_.add(report.group, name);
  store_.run(
      "INSERT INTO metrics (trial_id, run_id, metric_group, steps, time, metrics, batches, "
      "archived, rank)"
      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      journal.trial_id, journal.run_id, report.group, report.steps, report.time_us, text_.metrics(),
      text_.batches(), archived, report.rank != 0 ? report.rank : journal.rank);
  if (kind != validation || archived) return;
  // What is there already was taken out, and counts no second time.
  if (text_.is_reduced()) searched = best_.read(text_.metrics());
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
