// What a trial has reported, read back.
#pragma once

#include "core/base/json.h"
#include "core/codec/lists.h"

namespace det::codec {

// One of the three.
struct Workload {
  std::optional<StepMetrics> training = {};
  std::optional<StepMetrics> validation = {};
  std::optional<Json> checkpoint = {};

  void fields(Fields &f) {
    f("training", training);
    f("validation", validation);
    f.object("checkpoint", checkpoint);
  }
};

// By step: training, validation and checkpoints. Other groups are not in it.
struct ListWorkloads {
  static constexpr Route route{"listing the trial's workloads", "GET",
                               "/api/v1/trials/{trial}/workloads"};

  int64_t trial_id = 0;
  ListPart part = {};
  std::optional<bool> with_batches = {};

  void fields(Fields &f) {
    f.in_path("trial", trial_id);
    part.fields(f);
    f.in_query("includeBatchMetrics", with_batches);
  }

  struct Response {
    std::vector<Workload> workloads = {};
    Pagination pagination = {};

    void fields(Fields &f) {
      f("workloads", workloads);
      f("pagination", pagination);
    }
  };
};

struct StoredReport {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  int64_t steps_completed = 0;
  std::optional<Time> end_time = {};
  std::string group = {};
  bool archived = false;
  Json metrics = Json::object();  // {"avg_metrics": {}, "batch_metrics": []}

  void fields(Fields &f) {
    f("trialId", trial_id);
    f.or_default("trialRunId", run_id);
    f.or_default("totalBatches", steps_completed);
    f("endTime", end_time);
    f.or_default("group", group);
    f.or_default("archived", archived);
    f.object("metrics", metrics);
  }
};

// All reports of a group, by step.
struct ListReports {
  static constexpr Route route{"listing the group's reports", "GET",
                               "/api/v1/trials/metrics/trial_metrics", WireVersion::v0_33};

  int64_t trial_id = 0;
  std::string group = {};

  void fields(Fields &f) {
    f.in_query("trialIds", trial_id);
    f.in_query("group", group);
  }

  struct Response {
    static constexpr bool comes_in_parts = true;

    struct Part {
      std::vector<StoredReport> reports = {};

      void fields(Fields &f) { f("metrics", reports); }
    };
    std::vector<Part> parts = {};

    void fields(Fields &f) { f.whole("parts", parts); }
  };
};

// What the profiler measured is listed series by series.
struct ProfilerSeries {
  std::string name = {};
  std::string agent_id = {};
  std::string gpu_uuid = {};     // empty but for GPUs
  std::string metric_type = {};  // "PROFILER_METRIC_TYPE_SYSTEM": of the machine

  void fields(Fields &f) {
    f.or_default("name", name);
    f.or_default("agentId", agent_id);
    f.or_default("gpuUuid", gpu_uuid);
    f.or_default("metricType", metric_type);
  }
};

struct ListProfilerSeries {
  static constexpr Route route{"listing what the profiler measured", "GET",
                               "/api/v1/trials/{trial}/profiler/available_series"};

  int64_t trial_id = 0;

  void fields(Fields &f) { f.in_path("trial", trial_id); }

  struct Response {
    static constexpr bool comes_in_parts = true;

    struct Part {
      std::vector<ProfilerSeries> series = {};

      void fields(Fields &f) { f.or_default("labels", series); }
    };
    std::vector<Part> parts = {};

    void fields(Fields &f) { f.whole("parts", parts); }
  };
};

// The values of one series, by time.
struct ReadProfilerSeries {
  static constexpr Route route{"reading what the profiler measured", "GET",
                               "/api/v1/trials/{trial}/profiler/metrics"};

  int64_t trial_id = 0;
  ProfilerSeries series = {};

  void fields(Fields &f) {
    f.in_path("trial", trial_id);
    f.in_query("labels.name", series.name);
    f.in_query("labels.agentId", series.agent_id);
    f.in_query("labels.gpuUuid", series.gpu_uuid);
    f.in_query("labels.metricType", series.metric_type);
  }

  struct Response {
    static constexpr bool comes_in_parts = true;

    struct Part {
      std::vector<Json> values = {};
      std::vector<Time> times = {};  // one for each value

      void fields(Fields &f) {
        f.nested("batch", [&](Fields &batch) {
          batch.or_default("values", values);
          batch.or_default("timestamps", times);
        });
      }
    };
    std::vector<Part> parts = {};

    void fields(Fields &f) { f.whole("parts", parts); }
  };
};

}  // namespace det::codec
