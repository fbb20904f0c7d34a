-- A store of version 2: version 1 with logs.
PRAGMA application_id=1684370531;
PRAGMA user_version=2;
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
);
INSERT INTO "checkpoints" VALUES(1,'3f8a1c52-77de-4a0f-b1d5-5b1f9a2c4e60',1,1,10,'COMPLETED',100,1767225600000000,'{"steps_completed":10}','{"weights":100}','{"type":"directory","container_path":"/data"}');
CREATE TABLE experiments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  config TEXT NOT NULL,
  created INTEGER NOT NULL,
  ended INTEGER
);
INSERT INTO "experiments" VALUES(1,'digits','ACTIVE','{"searcher":{"metric":"accuracy","smaller_is_better":false,"max_length":20}}',1767225600000000,NULL);
CREATE TABLE journals (
  journal_id TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "journals" VALUES('9d0f3c1a-2b4e-4f6a-8c7d-1e2f3a4b5c6d',2);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('cluster_id','7b0c2f0e-4d7e-4b53-9a55-0d8c1f6a2e11');
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
INSERT INTO "metrics" VALUES(1,1,1,'training',10,1767225600000000,'{"loss":0.5}',NULL,0);
INSERT INTO "metrics" VALUES(2,1,1,'validation',10,1767225600000001,'{"accuracy":0.875}',NULL,0);
CREATE TABLE operations (
  trial_id INTEGER NOT NULL REFERENCES trials,
  number INTEGER NOT NULL,
  length INTEGER NOT NULL,
  completed INTEGER,
  metric TEXT,
  PRIMARY KEY (trial_id, number)
) WITHOUT ROWID;
INSERT INTO "operations" VALUES(1,1,20,NULL,NULL);
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
  out_of_operations INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (trial_id, run_id)
) WITHOUT ROWID;
INSERT INTO "runs" VALUES(1,1,'1.5d3b7c9e-10f4-4d0b-8a6e-2f1c0b9a8d77.1','9d0f3c1a-2b4e-4f6a-8c7d-1e2f3a4b5c6d','{"host":"old","boot_id":"","pid_namespace":0,"pid":1,"start_ticks":0}','./digits',1767225600000000,1767225605000000,'preempted',0);
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
);
INSERT INTO "trials" VALUES(1,1,'job-7','ACTIVE','{"lr":0.1}',42,'1.5d3b7c9e-10f4-4d0b-8a6e-2f1c0b9a8d77',1,'training',0.5,NULL,1767225600000000,NULL);
CREATE INDEX trials_by_experiment ON trials (experiment_id);
CREATE INDEX metrics_by_step ON metrics (trial_id, metric_group, steps);
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
INSERT INTO "logs" VALUES(1,1,1,0,1767225600000002,1,'started');
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('experiments',1);
INSERT INTO "sqlite_sequence" VALUES('trials',1);
INSERT INTO "sqlite_sequence" VALUES('checkpoints',1);
COMMIT;
