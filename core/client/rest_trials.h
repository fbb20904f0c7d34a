// The trials of a master over HTTP, with their reports and logs.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/client/rest_experiments.h"
#include "core/codec/lists.h"
#include "core/codec/logs.h"
#include "core/codec/reports.h"
#include "core/codec/trial.h"
#include "core/engine/records/page.h"
#include "core/master/rest/master_session.h"

namespace det::client {

// The logs of trials on a master.
// The cursor is the id of a line: masters list lines by id, but cannot begin behind one. They can
// begin at a time, so we begin a little before that of the cursor's line and drop what was read
// before. One thread at a time.
class LogReader {
 public:
  explicit LogReader(master::MasterSession &session) : session_(session) {}

  Json list(int64_t trial_id, const engine::Page &page);

 private:
  codec::ListTrialLogs request(int64_t trial_id, const engine::Page &page) const;

  master::MasterSession &session_;

  // The line of the last cursor given out.
  struct Mark {
    int64_t trial_id = 0;
    int64_t id = 0;
    codec::Time time = {};
  } mark_;
};

// The reports of trials on a master.
// A master lists training and validation together, by step and page by page, and each other group
// by itself as a whole. Those of the profiler, which it lists series by series, are read only where
// they are asked for. So the cursor is a source (0 for training and validation, then the other
// groups by name) and a place in it. One thread at a time.
class MetricReader {
 public:
  explicit MetricReader(master::MasterSession &session) : session_(session) {}

  Json list(const codec::Trial &trial, const std::optional<std::string> &group,
            const engine::Page &page);

 private:
  struct Cursor;

  void add_workloads(int64_t trial_id, const std::optional<std::string> &group,
                     const engine::Page &page, Cursor &cursor, Json &entries);
  std::vector<codec::StoredReport> reports_of(int64_t trial_id, const std::string &group) const;
  std::vector<codec::StoredReport> measured(int64_t trial_id, const std::string &group) const;
  void add_reports(int64_t trial_id, const std::string &group, const engine::Page &page,
                   Cursor &cursor, Json &entries);

  master::MasterSession &session_;

  // The group that is being walked, so that each page need not ask for all of it.
  struct Kept {
    int64_t trial_id = 0;
    std::string group;
    std::vector<codec::StoredReport> reports;
  } kept_;
};

// Any thread.
class RestTrials {
 public:
  RestTrials(master::MasterSession &session, RestExperiments &experiments)
      : session_(session), experiments_(experiments), metrics_(session), logs_(session) {}

  // Throws Code::not_found, naming what was tried.
  codec::Trial find(int64_t id, const std::string &tried);

  Json list(int64_t experiment_id, const engine::Page &page);
  Json get(int64_t trial_id);
  Json find_by_text(const std::string &text);
  std::string metrics_text(int64_t trial_id, const std::optional<std::string> &group,
                           const engine::Page &page);
  Json metric_names(int64_t trial_id);
  Json logs(int64_t trial_id, const engine::Page &page);

 private:
  Json list_by_metric(const codec::Experiment &experiment, const engine::Page &page);
  Json latest_checkpoint(int64_t trial_id);
  // Where a master does not tell: those of so many of the first reports.
  Json names_in(const codec::Trial &trial, int64_t most);

  master::MasterSession &session_;
  RestExperiments &experiments_;
  std::mutex mutex_;  // guards the two below
  MetricReader metrics_;
  LogReader logs_;
};

}  // namespace det::client
