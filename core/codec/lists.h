// What there is on a master, page by page.
#pragma once

#include "core/codec/checkpoints.h"
#include "core/codec/trial.h"

namespace det::codec {

enum class ListOrder { unspecified, ascending, descending };
std::span<const char *const> wire_names(ListOrder);

// Which part of a list. What is left out is the master's choice.
struct ListPart {
  std::optional<int64_t> offset = {};
  std::optional<int64_t> limit = {};  // 0: none
  std::optional<std::string> sort = {};
  std::optional<ListOrder> order = {};

  void fields(Fields &f, const char *sort_name = "sortBy") {
    f.in_query("offset", offset);
    f.in_query("limit", limit);
    f.in_query(sort_name, sort);
    f.in_query("orderBy", order);
  }
};

// Where the part is in the list.
struct Pagination {
  int64_t offset = 0;
  int64_t limit = 0;
  int64_t start = 0;
  int64_t end = 0;
  int64_t total = 0;

  void fields(Fields &f) {
    f.or_default("offset", offset);
    f.or_default("limit", limit);
    f.or_default("startIndex", start);
    f("endIndex", end);
    f("total", total);
  }
};

struct ListExperiments {
  static constexpr Route route{"listing experiments", "GET", "/api/v1/experiments"};

  ListPart part = {};                        // by "SORT_BY_ID"
  std::optional<bool> archived = {};         // none: both
  std::optional<std::string> username = {};  // none: of all users

  void fields(Fields &f) {
    part.fields(f);
    f.in_query("archived", archived);
    f.in_query("users", username);
  }

  struct Response {
    std::vector<Experiment> experiments = {};
    Pagination pagination = {};

    void fields(Fields &f) {
      f("experiments", experiments);
      f("pagination", pagination);
    }
  };
};

struct GetExperiment {
  static constexpr Route route{"asking for the experiment", "GET",
                               "/api/v1/experiments/{experiment}"};

  int64_t experiment_id = 0;

  void fields(Fields &f) { f.in_path("experiment", experiment_id); }

  struct Response {
    Experiment experiment = {};

    void fields(Fields &f) { f("experiment", experiment); }
  };
};

struct ListTrials {
  static constexpr Route route{"listing the experiment's trials", "GET",
                               "/api/v1/experiments/{experiment}/trials"};

  int64_t experiment_id = 0;
  ListPart part = {};  // by "SORT_BY_ID"

  void fields(Fields &f) {
    f.in_path("experiment", experiment_id);
    part.fields(f);
  }

  struct Response {
    std::vector<Trial> trials = {};
    Pagination pagination = {};

    void fields(Fields &f) {
      f("trials", trials);
      f("pagination", pagination);
    }
  };
};

struct CheckpointList {
  std::vector<Checkpoint> checkpoints = {};
  Pagination pagination = {};

  void fields(Fields &f) {
    f("checkpoints", checkpoints);
    f("pagination", pagination);
  }
};

// The name of the parameter that sorts checkpoints.
inline const char *checkpoint_sort(const Fields &f) {
  return f.message().version >= WireVersion::v0_33 ? "sortByAttr" : "sortBy";
}

struct ListExperimentCheckpoints {
  static constexpr Route route{"listing the experiment's checkpoints", "GET",
                               "/api/v1/experiments/{experiment}/checkpoints"};

  int64_t experiment_id = 0;
  ListPart part = {};  // by "SORT_BY_END_TIME"

  void fields(Fields &f) {
    f.in_path("experiment", experiment_id);
    part.fields(f, checkpoint_sort(f));
  }

  using Response = CheckpointList;
};

struct ListTrialCheckpoints {
  static constexpr Route route{"listing the trial's checkpoints", "GET",
                               "/api/v1/trials/{trial}/checkpoints"};

  int64_t trial_id = 0;
  ListPart part = {};  // by "SORT_BY_END_TIME", "SORT_BY_BATCH_NUMBER"

  void fields(Fields &f) {
    f.in_path("trial", trial_id);
    part.fields(f, checkpoint_sort(f));
  }

  using Response = CheckpointList;
};

}  // namespace det::codec
