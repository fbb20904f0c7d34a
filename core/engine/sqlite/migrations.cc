#include "core/engine/sqlite/migrations.h"

#include <array>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/engine/experiment.h"
#include "core/engine/runs/best_validation.h"
#include "core/engine/store_places.h"

namespace det::engine {

namespace {

// "detc": tells our databases from those of other programs.
constexpr int64_t application = 0x64657463;

// States are those of the platform (ACTIVE, PAUSED, STOPPING_CANCELED, ...); times are microseconds
// since 1970; JSON is kept as text.
constexpr const char *first = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE experiments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  config TEXT NOT NULL,
  created INTEGER NOT NULL,
  ended INTEGER
);

CREATE TABLE trials (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  experiment_id INTEGER NOT NULL REFERENCES experiments,
  external_id TEXT UNIQUE,
  state TEXT NOT NULL,
  hparams TEXT NOT NULL,
  seed INTEGER NOT NULL,
  task_id TEXT NOT NULL,
  last_run INTEGER NOT NULL DEFAULT 0,
  status TEXT,
  progress REAL,
  early_exit TEXT,
  created INTEGER NOT NULL,
  ended INTEGER
);
CREATE INDEX trials_by_experiment ON trials (experiment_id);

-- `exit` is NULL while the run lives, then ok, error, invalid_hp, preempted, killed or died.
CREATE TABLE runs (
  trial_id INTEGER NOT NULL REFERENCES trials,
  run_id INTEGER NOT NULL,
  allocation_id TEXT NOT NULL,
  journal_id TEXT NOT NULL,
  process TEXT NOT NULL,
  command TEXT NOT NULL,
  started INTEGER NOT NULL,
  ended INTEGER,
  exit TEXT,
  out_of_operations INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (trial_id, run_id)
) WITHOUT ROWID;

CREATE TABLE operations (
  trial_id INTEGER NOT NULL REFERENCES trials,
  number INTEGER NOT NULL,
  length INTEGER NOT NULL,
  completed INTEGER,
  metric TEXT,
  PRIMARY KEY (trial_id, number)
) WITHOUT ROWID;

CREATE TABLE metrics (
  id INTEGER PRIMARY KEY,
  trial_id INTEGER NOT NULL REFERENCES trials,
  run_id INTEGER NOT NULL,
  metric_group TEXT NOT NULL,
  steps INTEGER NOT NULL,
  time INTEGER NOT NULL,
  metrics TEXT NOT NULL,
  batches TEXT,
  archived INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX metrics_by_step ON metrics (trial_id, metric_group, steps);

-- The first step each run reported in training, in validation and in all other groups: what came
-- later than that in earlier runs is archived.
CREATE TABLE rollbacks (
  trial_id INTEGER NOT NULL REFERENCES trials,
  run_id INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  PRIMARY KEY (trial_id, run_id, kind)
) WITHOUT ROWID;

-- The last report of each journal that is stored.
CREATE TABLE journals (
  journal_id TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE checkpoints (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  trial_id INTEGER NOT NULL REFERENCES trials,
  run_id INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  state TEXT NOT NULL,
  size INTEGER NOT NULL,
  time INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  resources TEXT NOT NULL,
  storage TEXT NOT NULL
);

-- That a run was asked to stop: set once, never taken back.
CREATE TABLE signals (
  trial_id INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  reason TEXT NOT NULL,
  time INTEGER NOT NULL,
  acknowledged INTEGER,
  PRIMARY KEY (trial_id, run_id)
) WITHOUT ROWID;
)sql";

constexpr const char *logs_and_order = R"sql(
CREATE TABLE logs (
  id INTEGER PRIMARY KEY,
  trial_id INTEGER NOT NULL REFERENCES trials,
  run_id INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  time INTEGER NOT NULL,
  level INTEGER NOT NULL,
  text TEXT NOT NULL
);
CREATE INDEX logs_by_trial ON logs (trial_id);
CREATE INDEX metrics_by_trial ON metrics (trial_id);
CREATE INDEX checkpoints_by_trial ON checkpoints (trial_id);
)sql";

// The processes of a run of several; that of a run of one is in `runs`. `node` counts the machines
// from 0. `exit` as that of a run, NULL while the rank lives.
constexpr const char *ranks_table = R"sql(
CREATE TABLE ranks (
  trial_id INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  node INTEGER NOT NULL,
  process TEXT NOT NULL,
  ended INTEGER,
  exit TEXT,
  PRIMARY KEY (trial_id, run_id, rank),
  FOREIGN KEY (trial_id, run_id) REFERENCES runs
) WITHOUT ROWID;
)sql";

constexpr const char *metadata = R"sql(
ALTER TABLE trials ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';
)sql";

// Experiments that a supervisor runs (`managed`), and their trials.
// - experiments: `launch` is the command, the directory and the slots, for who takes up the work of
//   a supervisor that is gone; `control` counts what people did.
// - trials: `closed`, the search has no more operations for it; `restarts_forbidden_by`, the log
//   policy after which it is not started again when it fails; `last_validation`, the row of metrics
//   that the search heard of last; best validations as BestValidations has them.
// - operations: `asked`, the event in which the search asked for it; `decided`, when it heard that
//   it is completed.
// - runs: `leader`, what the launcher of the supervisor knows it by, mostly a process, until the
//   supervisor has judged its end; `log_offset`, how much of what it printed is stored.
// - checkpoints: `registered`, a person has pinned it, so that it is never garbage.
// - search_events: what the search was told, in order; `kind` as RecordedSearch names it.
// - search_queue: the events of a custom search that nobody has acknowledged.
// - search_posts: what was decided about them outside; `accepted` is NULL until it was heard, and
//   `answer` says what was refused of it.
constexpr const char *supervised = R"sql(
ALTER TABLE experiments ADD COLUMN managed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE experiments ADD COLUMN original_config TEXT;
ALTER TABLE experiments ADD COLUMN launch TEXT;
ALTER TABLE experiments ADD COLUMN progress REAL;
ALTER TABLE experiments ADD COLUMN control INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trials ADD COLUMN request_id TEXT;
ALTER TABLE trials ADD COLUMN restarts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trials ADD COLUMN closed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trials ADD COLUMN restarts_forbidden_by TEXT;
ALTER TABLE trials ADD COLUMN last_validation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trials ADD COLUMN best_validation INTEGER;
ALTER TABLE trials ADD COLUMN best_metric TEXT;
ALTER TABLE trials ADD COLUMN best_order NOT NULL DEFAULT x'';
CREATE INDEX trials_by_metric ON trials (experiment_id, best_order);
ALTER TABLE checkpoints ADD COLUMN registered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE operations ADD COLUMN asked INTEGER;
ALTER TABLE operations ADD COLUMN decided INTEGER;
ALTER TABLE runs ADD COLUMN leader TEXT;
CREATE INDEX runs_by_leader ON runs (leader) WHERE leader IS NOT NULL;
ALTER TABLE runs ADD COLUMN log_offset INTEGER NOT NULL DEFAULT 0;
CREATE TABLE search_queue (
  experiment_id INTEGER NOT NULL REFERENCES experiments,
  number INTEGER NOT NULL,
  event TEXT NOT NULL,
  PRIMARY KEY (experiment_id, number)
) WITHOUT ROWID;
CREATE TABLE search_posts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  experiment_id INTEGER NOT NULL REFERENCES experiments,
  event_id INTEGER NOT NULL,
  operations TEXT NOT NULL,
  accepted INTEGER,
  answer TEXT
);
CREATE TABLE search_events (
  experiment_id INTEGER NOT NULL REFERENCES experiments,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL,
  trial_id INTEGER,
  value TEXT,
  time INTEGER NOT NULL,
  PRIMARY KEY (experiment_id, number)
) WITHOUT ROWID;
)sql";

// What people say about experiments. `tags` is a list, at first the labels of the configuration.
// Where a run has no exit, its process may live.
constexpr const char *notes = R"sql(
ALTER TABLE experiments ADD COLUMN notes TEXT NOT NULL DEFAULT '';
ALTER TABLE experiments ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
ALTER TABLE experiments ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
UPDATE experiments SET tags=json_extract(config, '$.labels')
  WHERE json_type(config, '$.labels')='array' AND NOT EXISTS
    (SELECT 1 FROM json_each(config, '$.labels') WHERE type<>'text');
CREATE INDEX trials_done ON trials (experiment_id, ended) WHERE ended IS NOT NULL;
CREATE INDEX runs_open ON runs (trial_id) WHERE exit IS NULL;
)sql";

// Whose measurement a report is.
constexpr const char *rank_of_metrics = R"sql(
ALTER TABLE metrics ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;
)sql";

// The names of metrics, each once and in the order in which they came; those of older reports are
// in the reports only.
constexpr const char *names_of_metrics = R"sql(
CREATE TABLE metric_names (
  id INTEGER PRIMARY KEY,
  trial_id INTEGER NOT NULL REFERENCES trials,
  metric_group TEXT NOT NULL,
  name TEXT NOT NULL,
  UNIQUE (trial_id, metric_group, name)
);
INSERT INTO meta (key, value)
  SELECT 'last_unnamed_metric', id FROM metrics ORDER BY id DESC LIMIT 1;
)sql";

// Places of what lies in the home of the store are relative to it, in checkpoints.storage and in
// the storage of experiments.config. `source`: the checkpoint that the trials of an experiment
// start from.
constexpr const char *places_and_sources = R"sql(
ALTER TABLE experiments ADD COLUMN source TEXT;
UPDATE experiments SET source=COALESCE(
  (SELECT uuid FROM checkpoints WHERE trial_id=json_extract(config, '$.searcher.source_trial_id')
    AND state='COMPLETED' AND time<=experiments.created ORDER BY steps DESC, time DESC, id DESC
    LIMIT 1),
  json_extract(config, '$.searcher.source_checkpoint_uuid'));
CREATE INDEX experiments_by_source ON experiments (source) WHERE source IS NOT NULL;
CREATE INDEX checkpoints_there ON checkpoints (trial_id) WHERE state<>'DELETED';
)sql";

// Version N of the layout is what the first N of these make. Never change one that was released.
constexpr std::array<const char *, 9> migrations{
    first, logs_and_order,  ranks_table,      metadata,          supervised,
    notes, rank_of_metrics, names_of_metrics, places_and_sources};
constexpr auto current = static_cast<int64_t>(migrations.size());
constexpr int64_t without_best_validations = 4;
constexpr int64_t with_places_and_secrets = 8;

void find_best_validations(Database &database) {
  std::vector<int64_t> trials;
  Query found = database.query(
      "SELECT DISTINCT trial_id FROM metrics WHERE metric_group='validation' AND archived=0");
  while (found.next()) trials.push_back(found.integer(0));
  BestValidations best(database);
  for (const int64_t trial : trials) {
    best.begin(trial);
    best.find_again();
  }
}

}  // namespace

bool is_outdated(Database &database) {
  // One statement sees one moment: another process may be making the store.
  Query query = database.query(
      "SELECT application_id, user_version, EXISTS(SELECT 1 FROM sqlite_schema) "
      "FROM pragma_application_id, pragma_user_version");
  query.next();
  const int64_t owner = query.integer(0);
  const int64_t version = query.integer(1);
  const bool is_empty = query.integer(2) == 0;
  const std::string where = "opening the store '" + database.path().string() + "': ";
  if (owner != application && (owner != 0 || version != 0 || !is_empty))
    throw Error(Code::corrupt, where +
                                   "this is the database of another program; set DET_HOME to "
                                   "another directory");
  if (version > current)
    throw Error(Code::unsupported, where + "it has version " + std::to_string(version) +
                                       ", made by a newer release, and this release knows "
                                       "versions up to " +
                                       std::to_string(current) +
                                       "; update detcore, or set DET_HOME to another directory");
  return owner != application || version < current;
}

void migrate(Database &database, SqliteConnection &connection) {
  Transaction transaction(database);
  if (!is_outdated(database)) return;  // another process was faster
  int64_t before = 0;
  {
    Query version = database.query("PRAGMA user_version");
    if (version.next()) before = version.integer(0);
  }
  for (int64_t version = before; version < current; ++version)
    connection.run_script(migrations[static_cast<size_t>(version)]);
  if (before <= without_best_validations) find_best_validations(database);
  if (before <= with_places_and_secrets) {
    relate_places(database);
    hide_recorded_secrets(database);
  }
  database.run("INSERT OR IGNORE INTO meta (key, value) VALUES ('cluster_id', ?)", make_uuid());
  database.run("PRAGMA application_id=" + std::to_string(application));
  database.run("PRAGMA user_version=" + std::to_string(current));
  transaction.commit();
}

}  // namespace det::engine
