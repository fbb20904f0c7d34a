// The reports of trials on a master.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/client/client.h"
#include "core/codec/reports.h"
#include "core/master/rest/master_session.h"

namespace det::client {

// A master lists training and validation together, by step and page by page, and each other group
// by itself as a whole. Those of the profiler, which it lists series by series, are read only where
// they are asked for. So the cursor is a source (0 for training and validation, then the other
// groups by name) and a place in it. One thread at a time.
class MetricReader {
 public:
  explicit MetricReader(std::shared_ptr<master::MasterSession> session)
      : session_(std::move(session)) {}

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

  const std::shared_ptr<master::MasterSession> session_;

  // The group that is being walked, so that each page need not ask for all of it.
  struct Kept {
    int64_t trial_id = 0;
    std::string group;
    std::vector<codec::StoredReport> reports;
  } kept_;
};

}  // namespace det::client
