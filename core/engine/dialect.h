// What each database has its own words for. All other SQL of this room is what SQLite and
// PostgreSQL both read; a database in its folder brings these, its schema and how it locks.
#pragma once

namespace det::engine {

struct Dialect {
  // Columns of experiments.
  const char *searcher_name;         // as JSON
  const char *searcher_metric_name;  // as JSON

  // Conditions on experiments, true where the parameter is empty.
  const char *has_name;  // ?2, a glob
  const char *has_tag;   // ?3

  // Columns of metrics: whether they are JSON.
  const char *is_metrics_json;
  const char *is_batches_json;
  // Behind the table's name: rows of a trial come in the order of their ids, so that no page sorts
  // the whole trial.
  const char *metrics_by_trial;
  // Statement: the groups and names of all that a trial (?1) has reported, each once.
  const char *metric_names;

  // Statements: a trial's best validation, which `best_order` sorts trials by: numbers, then NaN,
  // then none, then trials without a validation.
  // The row ?1 is that of trial ?4, if it is better: its metric is ?2 (JSON), signed ?3.
  const char *keep_best_validation;
  const char *forget_best_validation;  // of trial ?
};

}  // namespace det::engine
