// Lines of a task's output.
#pragma once

#include "core/codec/lists.h"

namespace det::codec {

struct LogLine {
  std::optional<std::string> task_id = {};
  std::optional<std::string> allocation_id = {};
  std::optional<std::string> agent_id = {};
  std::optional<std::string> container_id = {};
  std::optional<int64_t> rank = {};
  std::optional<Time> time = {};
  std::optional<std::string> level = {};  // "INFO" for ShipLogs, "LOG_LEVEL_INFO" for ShipTaskLogs
  std::optional<std::string> source = {};
  std::optional<std::string> stream = {};  // "stdout" or "stderr"
  std::string text = {};                   // with its newline

  void fields(Fields &f) {
    f("task_id", task_id);
    f("allocation_id", allocation_id);
    f("agent_id", agent_id);
    f("container_id", container_id);
    f("rank_id", rank);
    f("timestamp", time);
    f("level", level);
    f("source", source);
    f("stdtype", stream);
    f.or_default("log", text);
  }
};

// Of unmanaged trials. A master takes or refuses all lines of a request.
struct ShipLogs {
  static constexpr Route route{"shipping logs", "POST", "/task-logs"};

  std::vector<LogLine> lines = {};

  void fields(Fields &f) { f.whole("lines", lines); }

  struct Response {
    std::string ignored = {};

    void fields(Fields &f) { f.whole("text", ignored); }
  };
};

// Of the containers of a cluster; all lines of a request are of one task.
struct ShipTaskLogs {
  static constexpr Route route{"shipping the task's logs", "POST", "/api/v1/task/logs",
                               WireVersion::v0_33};

  std::vector<LogLine> lines = {};

  void fields(Fields &f);

  using Response = Nothing;
};

struct StoredLogLine {
  std::string id = {};  // a number that grows, unless the master keeps logs elsewhere
  std::optional<Time> time = {};
  std::string level = {};  // "LOG_LEVEL_INFO"
  std::optional<int64_t> rank = {};
  std::optional<std::string> log = {};  // not of older masters
  std::string message = {};             // the same with the time and the container before it

  void fields(Fields &f) {
    f("id", id);
    f("timestamp", time);
    f.or_default("level", level);
    f("rankId", rank);
    f("log", log);
    f.or_default("message", message);
  }
};

struct ListTrialLogs {
  static constexpr Route route{"reading the trial's log", "GET", "/api/v1/trials/{trial}/logs"};

  int64_t trial_id = 0;
  std::optional<bool> follow = {};
  ListPart part = {};  // without an offset; always by id
  std::optional<Time> after = {};
  std::optional<Time> before = {};  // or at

  void fields(Fields &f) {
    f.in_path("trial", trial_id);
    f.in_query("follow", follow);
    part.fields(f);
    f.in_query("timestampAfter", after);
    f.in_query("timestampBefore", before);
  }

  struct Response {
    static constexpr bool comes_in_parts = true;

    std::vector<StoredLogLine> lines = {};

    void fields(Fields &f) { f.whole("lines", lines); }
  };
};

}  // namespace det::codec
