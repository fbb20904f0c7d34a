// Reports as the requests that carry them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/report.h"
#include "core/codec/metrics.h"
#include "core/engine/runs/run_backend.h"
#include "core/http/http_client.h"
#include "core/master/rest/master_session.h"

namespace det::master {

// Whose reports they are.
struct ReportOrigin {
  bool managed = true;  // by the master's cluster
  int64_t trial_id = 0;
  int64_t run_id = 0;
  int rank = 0;
  std::string task_id, allocation_id;
  std::optional<int64_t> storage_id = {};  // for checkpoints
};

// What goes in one request: a report of metrics, a checkpoint, the last status or progress of a
// batch, lines of log together, or what the profiler found in one sample, for groups that masters
// do not know, with its group "cpu".
struct ReportRequest {
  ReportKind kind = ReportKind::metrics;
  std::vector<uint64_t> sequences;
  const Report *report = nullptr;       // the last one
  std::vector<const Report *> lines{};  // of log
  std::vector<const Report *> parts{};  // of the sample, besides `report`

  bool has_batches() const { return !report->batches.empty(); }
  bool is_metrics() const {
    return kind == ReportKind::metrics || kind == ReportKind::metrics_json;
  }
};

// In the order in which they should leave; without the reports up to `delivered` and in `done`.
std::vector<ReportRequest> make_requests(std::span<const Report> reports, uint64_t delivered,
                                         const std::set<uint64_t> &done);

// For masters before 0.33: puts what was reported of training before what was reported of
// validation at the same step: afterwards these masters refuse it as a duplicate.
void put_training_first(std::vector<ReportRequest> &requests);

// Whether masters of this version have a place for it.
bool is_wanted(const ReportRequest &request, const ReportOrigin &origin,
               codec::WireVersion version);

// `operation_length`: 0 where there is none.
http::HttpCall send_request(MasterSession &session, const ReportOrigin &origin,
                            const ReportRequest &request, uint64_t operation_length,
                            const CallOptions &attempt);

// Throws as MasterSession::read().
void read_response(MasterSession &session, const ReportRequest &request, const ReportOrigin &origin,
                   const http::HttpResponse &answer);

// Of a request of that kind. A request of its own kind: checkpoint_call.h.
engine::CheckpointReport checkpoint_of(const ReportRequest &request);

// For people: "a report of group 'training' at step 10".
std::string name_of(const ReportRequest &request);

// A report of metrics for the file of refused ones, and its request again.
Json to_json(const ReportRequest &request, const std::string &reason);
codec::ReportMetrics metrics_from_json(const Json &refused, const ReportOrigin &origin);

}  // namespace det::master
