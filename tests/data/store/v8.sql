-- A store of version 8, of the release before places were relative: /HOME stands for its home.
PRAGMA application_id=1684370531;
PRAGMA user_version=8;
BEGIN TRANSACTION;
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
, registered INTEGER NOT NULL DEFAULT 0);
INSERT INTO "checkpoints" VALUES(1,'11111111-1111-4111-8111-111111111111',1,1,10,'COMPLETED',100,1767225600000010,'{"steps_completed":10}','{"model":100}','{"type":"shared_fs","host_path":"/HOME"}',0);
INSERT INTO "checkpoints" VALUES(2,'22222222-2222-4222-8222-222222222222',1,1,20,'COMPLETED',100,1767225600000020,'{"steps_completed":20}','{"model":100}','{"type":"shared_fs","host_path":"/HOME","storage_path":"inner"}',0);
INSERT INTO "checkpoints" VALUES(3,'33333333-3333-4333-8333-333333333333',1,1,30,'COMPLETED',100,1767225600000030,'{"steps_completed":30}','{"model":100}','{"type":"shared_fs","host_path":"/elsewhere"}',0);
INSERT INTO "checkpoints" VALUES(4,'44444444-4444-4444-8444-444444444444',1,1,40,'COMPLETED',100,1767225600000040,'{"steps_completed":40}','{"model":100}','{"type":"s3","bucket":"b","prefix":"p"}',0);
CREATE TABLE experiments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  config TEXT NOT NULL,
  created INTEGER NOT NULL,
  ended INTEGER
, managed INTEGER NOT NULL DEFAULT 0, original_config TEXT, launch TEXT, progress REAL, control INTEGER NOT NULL DEFAULT 0, notes TEXT NOT NULL DEFAULT '', tags TEXT NOT NULL DEFAULT '[]', archived INTEGER NOT NULL DEFAULT 0);
INSERT INTO "experiments" VALUES(1,'digits','COMPLETED','{"name":"digits","searcher":{"name":"single","metric":"loss","max_length":{"batches":30}},"checkpoint_storage":{"type":"shared_fs","host_path":"/HOME","save_trial_best":2}}',1767225600000000,NULL,1,NULL,'{"command":["./digits"],"directory":"/work","slots":null,"by_metrics":false,"warm_start":null}',1.0,0,'','[]',0);
INSERT INTO "experiments" VALUES(2,'heir','ACTIVE','{"searcher":{"name":"single","metric":"loss","max_length":10,"source_checkpoint_uuid":"22222222-2222-4222-8222-222222222222"}}',1767225700000000,NULL,0,NULL,NULL,NULL,0,'','[]',0);
CREATE TABLE journals (
  journal_id TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE logs (
  id INTEGER PRIMARY KEY,
  trial_id INTEGER NOT NULL REFERENCES trials,
  run_id INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  time INTEGER NOT NULL,
  level INTEGER NOT NULL,
  text TEXT NOT NULL
);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('cluster_id','7b0c2f0e-4d7e-4b53-9a55-0d8c1f6a2e11');
CREATE TABLE metric_names (
  id INTEGER PRIMARY KEY,
  trial_id INTEGER NOT NULL REFERENCES trials,
  metric_group TEXT NOT NULL,
  name TEXT NOT NULL,
  UNIQUE (trial_id, metric_group, name)
);
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
, rank INTEGER NOT NULL DEFAULT 0);
CREATE TABLE operations (
  trial_id INTEGER NOT NULL REFERENCES trials,
  number INTEGER NOT NULL,
  length INTEGER NOT NULL,
  completed INTEGER,
  metric TEXT, asked INTEGER, decided INTEGER,
  PRIMARY KEY (trial_id, number)
) WITHOUT ROWID;
INSERT INTO "operations" VALUES(1,1,30,1767225660000000,'0.5',NULL,NULL);
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
CREATE TABLE rollbacks (
  trial_id INTEGER NOT NULL REFERENCES trials,
  run_id INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  PRIMARY KEY (trial_id, run_id, kind)
) WITHOUT ROWID;
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
  out_of_operations INTEGER NOT NULL DEFAULT 0, leader TEXT, log_offset INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (trial_id, run_id)
) WITHOUT ROWID;
INSERT INTO "runs" VALUES(1,1,'1.4d0f.1','9d1e','{"host":"old","pid":7,"start_time":1,"boot_id":"b"}','./digits',1767225600000000,1767225660000000,'ok',0,NULL,0);
CREATE TABLE search_events (
  experiment_id INTEGER NOT NULL REFERENCES experiments,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL,
  trial_id INTEGER,
  value TEXT,
  time INTEGER NOT NULL,
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
CREATE TABLE search_queue (
  experiment_id INTEGER NOT NULL REFERENCES experiments,
  number INTEGER NOT NULL,
  event TEXT NOT NULL,
  PRIMARY KEY (experiment_id, number)
) WITHOUT ROWID;
CREATE TABLE signals (
  trial_id INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  reason TEXT NOT NULL,
  time INTEGER NOT NULL,
  acknowledged INTEGER,
  PRIMARY KEY (trial_id, run_id)
) WITHOUT ROWID;
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
, metadata TEXT NOT NULL DEFAULT '{}', request_id TEXT, restarts INTEGER NOT NULL DEFAULT 0, closed INTEGER NOT NULL DEFAULT 0, restarts_forbidden_by TEXT, last_validation INTEGER NOT NULL DEFAULT 0, best_validation INTEGER, best_metric TEXT, best_order NOT NULL DEFAULT x'');
INSERT INTO "trials" VALUES(1,1,NULL,'COMPLETED','{"lr":0.1}',42,'1.4d0f',1,NULL,NULL,NULL,1767225600000000,NULL,'{}',NULL,0,0,NULL,0,NULL,NULL,X'');
CREATE INDEX trials_by_experiment ON trials (experiment_id);
CREATE INDEX metrics_by_step ON metrics (trial_id, metric_group, steps);
CREATE INDEX logs_by_trial ON logs (trial_id);
CREATE INDEX metrics_by_trial ON metrics (trial_id);
CREATE INDEX checkpoints_by_trial ON checkpoints (trial_id);
CREATE INDEX trials_by_metric ON trials (experiment_id, best_order);
CREATE INDEX runs_by_leader ON runs (leader) WHERE leader IS NOT NULL;
CREATE INDEX trials_done ON trials (experiment_id, ended) WHERE ended IS NOT NULL;
CREATE INDEX runs_open ON runs (trial_id) WHERE exit IS NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('experiments',2);
INSERT INTO "sqlite_sequence" VALUES('trials',1);
INSERT INTO "sqlite_sequence" VALUES('checkpoints',4);
COMMIT;
