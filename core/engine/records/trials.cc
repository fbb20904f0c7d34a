#include "core/engine/records/trials.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/report.h"
#include "core/base/text/dotted_name.h"
#include "core/base/text/printable.h"
#include "core/base/text/utf8.h"
#include "core/engine/records/entries.h"
#include "core/engine/records/find.h"
#include "core/engine/records/resume.h"
#include "core/engine/runs/ranks.h"

namespace det::engine {

namespace {

namespace fs = std::filesystem;

const char *process_state(bool lives, const std::optional<std::string> &exit) {
  if (lives) return "running";
  return !exit || *exit == run_exit_name(RunExit::died) ? "died" : "ended";
}

// A rank on another machine that does not tell is taken to be what its run is.
const char *rank_state(const RankRecord &rank, bool run_lives) {
  if (rank.exit) return process_state(false, rank.exit);
  const Liveness process = liveness(rank.place.process);
  if (process == Liveness::unknown) return run_lives ? "running" : "ended";
  return process_state(process == Liveness::alive, {});
}

Json ranks_of_run(Database &store, const RunRecord &run, bool lives) {
  Json ranks = Json::array();
  for (const RankRecord &rank : ranks_of(store, run.trial_id, run.run_id))
    ranks.push_back({{"rank", rank.rank},
                     {"node", rank.place.node},
                     {"state", rank_state(rank, lives)},
                     {"exit", rank.exit ? Json(*rank.exit) : Json()},
                     {"ended", time_or_null(rank.ended)},
                     {"host", rank.place.process.host},
                     {"pid", rank.place.process.pid}});
  return ranks;
}

Json runs_of(Database &store, const fs::path &store_directory, int64_t trial_id) {
  Json runs = Json::array();
  Query rows = store.query(
      "SELECT run_id, allocation_id, process, command, started, ended, exit FROM runs"
      " WHERE trial_id=? ORDER BY run_id",
      trial_id);
  while (rows.next()) {
    const Json described = stored_json(rows, 2);
    const auto process = ProcessIdentity::from_json(described);
    const RunRecord record{trial_id, rows.integer(0), process, rows.text(3), rows.maybe_text(6)};
    const bool lives = run_lives(store_directory, record);
    const Json ranks = ranks_of_run(store, record, lives);
    std::set<int64_t> nodes;
    for (const Json &rank : ranks) nodes.insert(rank.at("node").get<int64_t>());
    runs.push_back({{"run_id", record.run_id},
                    {"state", process_state(lives, record.exit)},
                    {"exit", record.exit ? Json(*record.exit) : Json()},
                    {"started", time_or_null(rows.integer(4))},
                    {"ended", time_or_null(rows.maybe_integer(5))},
                    {"host", process.host},
                    {"pid", process.pid},
                    {"allocation_id", rows.text(1)},
                    {"command", record.command},
                    {"directory", described.value("directory", Json())},
                    {"nodes", nodes.size()},
                    {"ranks", ranks}});
  }
  return runs;
}

Json operations_of(Database &store, int64_t trial_id) {
  Json operations = Json::array();
  Query rows = store.query(
      "SELECT length, completed, metric FROM operations WHERE trial_id=? ORDER BY number",
      trial_id);
  while (rows.next())
    operations.push_back({{"length", rows.integer(0)},
                          {"completed", !rows.is_null(1)},
                          {"time", time_or_null(rows.maybe_integer(1))},
                          {"metric", stored_json(rows, 2)}});
  return operations;
}

Json latest_checkpoint_entry(Database &store, int64_t trial_id) {
  Query row = store.query(std::string(checkpoint_columns) +
                              " WHERE trial_id=? AND state='COMPLETED'"
                              " ORDER BY steps DESC, time DESC, id DESC LIMIT 1",
                          trial_id);
  return row.next() ? checkpoint_entry(row) : Json();
}

void add_names(Query rows, std::set<std::string> &names) {
  while (rows.next()) {
    each_dotted_name(stored_json(rows, 0),
                     [&](const std::string &name, const Json &) { names.insert(name); });
  }
}

// By group, from its first and last reports: reading all of them would take too long.
Json metric_names(Database &store, int64_t trial_id) {
  Json groups = Json::object();
  std::string group;
  for (;;) {
    Query next = store.query(
        "SELECT metric_group FROM metrics WHERE trial_id=? AND metric_group>?"
        " ORDER BY metric_group LIMIT 1",
        trial_id, group);
    if (!next.next()) return groups;
    group = next.text(0);
    std::set<std::string> names;
    const std::string some =
        "SELECT metrics FROM metrics WHERE trial_id=? AND metric_group=? AND archived=0"
        " ORDER BY steps ";
    add_names(store.query(some + "ASC LIMIT 200", trial_id, group), names);
    add_names(store.query(some + "DESC LIMIT 200", trial_id, group), names);
    if (!names.empty()) groups[group] = names;
  }
}

const char *level_name(int64_t level) {
  static constexpr std::array<const char *, 4> names{"debug", "info", "warning", "error"};
  return names.at(static_cast<size_t>(std::clamp<int64_t>(level, 0, 3)));
}

}  // namespace

Json Trials::list(int64_t experiment_id, const Page &page) {
  const auto guard = store_.lock();
  const LiveTrials live(records(), store_.directory());
  Filter filter = page.filter;
  if (experiment_id != 0) {
    require_experiment(records(), experiment_id, "listing trials");
    if (filter.archived == Archived::without) filter.archived = Archived::with;
  }
  std::string sql = std::string(trial_columns) +
                    (experiment_id != 0 ? " WHERE experiment_id=?1" : " WHERE ?1=0") +
                    filter_sql(filter, "trials.state", records().dialect());
  if (filter.running) sql += live.only_trials("trials.id");
  const RowOrder by_id{"trials.id"}, by_metric{"trials.id", "best_order", "trials"};
  return list_page(
      records(), "trials", std::move(sql), page.by_metric ? by_metric : by_id, page,
      [&](const Query &row) { return trial_entry(records(), row, live); }, experiment_id,
      glob_from(filter.name), filter.tag);
}

Json Trials::get(int64_t trial_id) {
  const auto guard = store_.lock();
  require_trial(records(), trial_id, "reading a trial");
  Query row = records().query(std::string(trial_columns) + " WHERE trials.id=?", trial_id);
  row.next();
  Json trial = trial_entry(records(), row, LiveTrials(records(), store_.directory()));
  Query more = records().query("SELECT seed, task_id, early_exit, metadata FROM trials WHERE id=?",
                               trial_id);
  more.next();
  trial["trial_seed"] = more.integer(0);
  trial["task_id"] = more.text(1);
  trial["early_exit"] = more.is_null(2) ? Json() : Json(more.text(2));
  trial["metadata"] = stored_json(more, 3);
  trial["runs"] = runs_of(records(), store_.directory(), trial_id);
  trial["operations"] = operations_of(records(), trial_id);
  trial["latest_checkpoint"] = latest_checkpoint_entry(records(), trial_id);
  trial["metric_names"] = metric_names(records(), trial_id);
  trial["error"] = failure_of(records(), trial.at("state"), trial.at("experiment_id"));
  trial["supervised"] = supervised_experiment_of(records(), trial_id).has_value();
  trial["resume"] = resume_command(records(), store_.directory(), trial_id);
  trial["resume_note"] = resume_note(records(), store_.directory(), trial_id);
  return trial;
}

int64_t Trials::find(const std::string &text) {
  const auto guard = store_.lock();
  const TrialText trial = read_trial_text(text);
  if (trial.id && records().query("SELECT 1 FROM trials WHERE id=?", *trial.id).next())
    return *trial.id;
  Query row = records().query("SELECT id FROM trials WHERE external_id=?", trial.external_id);
  if (row.next()) return row.integer(0);
  throw Error(Code::not_found, "looking for a trial: none has the " +
                                   std::string(trial.id ? "id or " : "") + "external id \"" +
                                   trial.external_id + "\" in '" + records().path().string() +
                                   "'; `det ls` shows the ones there are");
}

Json Trials::logs(int64_t trial_id, const Page &page) {
  const auto guard = store_.lock();
  require_no_filter(page, "listing logs");
  require_trial(records(), trial_id, "listing logs");
  return list_page(
      records(), "logs", "SELECT id, time, level, rank, run_id, text FROM logs WHERE trial_id=?1",
      {"id"}, page,
      [](const Query &row) {
        return Json{{"time", time_or_null(row.integer(1))},
                    {"level", level_name(row.integer(2))},
                    {"rank", row.integer(3)},
                    {"trial_run_id", row.integer(4)},
                    {"text", row.text(5)}};
      },
      trial_id);
}

std::vector<DeliveredJournal> Trials::delivered_journals(int64_t trial_id) {
  const auto guard = store_.lock();
  std::vector<DeliveredJournal> journals;
  Query ranks = records().query(
      "SELECT run_id, COALESCE(rank, 0), journal_id FROM runs"
      " LEFT JOIN ranks USING (trial_id, run_id) WHERE trial_id=?",
      trial_id);
  while (ranks.next()) {
    const int rank = static_cast<int>(ranks.integer(1));
    Query delivered = records().query("SELECT sequence FROM journals WHERE journal_id=?",
                                      rank_journal_id(ranks.text(2), rank));
    const auto sequence = delivered.next() ? static_cast<uint64_t>(delivered.integer(0)) : 0;
    journals.push_back({ranks.integer(0), rank, sequence});
  }
  return journals;
}

TrialSummary Trials::summary(int64_t trial_id) {
  const auto guard = store_.lock();
  TrialSummary summary;
  {
    Query row = records().query(
        "SELECT state, status, progress, (SELECT steps FROM metrics WHERE trial_id=trials.id"
        "  AND metric_group='training' AND archived=0 ORDER BY steps DESC LIMIT 1)"
        " FROM trials WHERE id=?",
        trial_id);
    if (!row.next()) return summary;
    summary = {row.text(0), row.text(1), row.number(2), row.integer(3), {}};
  }
  Query row = records().query(
      "SELECT metrics FROM metrics WHERE trial_id=? AND metric_group='validation' AND archived=0"
      " ORDER BY steps DESC LIMIT 1",
      trial_id);
  if (row.next()) summary.validation = parse_json(row.view(0), "stored metrics");
  return summary;
}

// A trial may have millions of them, so they are handed on as the text that
// is stored, without making values of it.
namespace {

// Reports may be long: a page has fewer of them then.
constexpr size_t most_bytes_of_page = 4 << 20;

// A report cannot be taken for JSON without a look: something else may have written to the store.
// Where the column of that answer says no, parsing it tells what is wrong.
void append_stored(std::string &out, const Query &row, int column, int is_json) {
  const std::string_view text = row.view(column);
  if (row.is_null(column)) out += "null";
  else if (row.integer(is_json) != 0 && is_utf8(text)) out += text;
  else out += to_wire(stored_json(row, column));
}

void append_text(std::string &out, std::string_view text) {
  if (is_plain(text) && text.find_first_of("\"\\") == text.npos)
    out.append("\"").append(text).append("\"");
  else out += to_wire(std::string(text));
}

void append_report(std::string &out, const Query &row) {
  out += R"({"group":)";
  append_text(out, row.view(1));
  const int64_t steps = row.integer(2);
  out += R"(,"steps_completed":)";
  out += steps == no_steps ? "null" : std::to_string(steps);
  out += R"(,"trial_run_id":)";
  out += std::to_string(row.integer(3));
  out += R"(,"rank":)";
  out += std::to_string(row.integer(9));
  out += R"(,"time":")";
  out += iso8601(row.integer(4));
  out += R"(","metrics":)";
  append_stored(out, row, 5, 7);
  out += R"(,"batch_metrics":)";
  append_stored(out, row, 6, 8);
  out += '}';
}

}  // namespace

std::string StoredMetrics::text(int64_t trial_id, const std::optional<std::string> &group,
                                const Page &page) {
  const auto guard = store_.lock();
  require_no_filter(page, "listing metrics");
  require_trial(records(), trial_id, "listing metrics");
  const std::string start = R"({"metrics":[)";
  std::string text = start;
  const Dialect &dialect = records().dialect();
  const Json next = visit_page(
      records(),
      std::string("SELECT id, metric_group, steps, run_id, time, metrics, batches, ") +
          dialect.is_metrics_json + ", " + dialect.is_batches_json + ", rank FROM metrics" +
          dialect.metrics_by_trial +
          " WHERE trial_id=?1 AND archived=0 AND (?2 IS NULL OR metric_group=?2)",
      {"id"}, page,
      [&](const Query &row) {
        if (text.size() > start.size()) text += ',';
        append_report(text, row);
        return text.size() < most_bytes_of_page;
      },
      trial_id, group);
  text += R"(],"next":)";
  text += next.dump();
  return text += '}';
}

Json StoredMetrics::names(int64_t trial_id) {
  const auto guard = store_.lock();
  require_trial(records(), trial_id, "listing the names of metrics");
  Json groups = Json::object();
  Query names = records().query(records().dialect().metric_names, trial_id);
  while (names.next()) groups[names.text(0)].push_back(names.text(1));
  return groups;
}

}  // namespace det::engine
