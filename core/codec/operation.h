// What to train next. From 0.38 on masters no longer say: the one operation follows from the
// experiment's configuration.
#pragma once

#include "core/base/json.h"
#include "core/codec/call.h"

namespace det::codec {

struct Operation {
  uint64_t length = 0;  // absolute

  void fields(Fields &f) {
    f.nested("validateAfter", [&](Fields &inner) {
      std::string request_id;
      inner.repeat("requestId", request_id);
      inner("length", length);
    });
  }
};

struct GetOperation {
  static constexpr Route route{"asking for the next operation", "GET",
                               "/api/v1/trials/{trial}/searcher/operation", WireVersion::v0_19,
                               WireVersion::v0_33};

  int64_t trial_id = 0;

  void fields(Fields &f) { f.in_path("trial", trial_id); }

  struct Response {
    bool completed = false;            // no work for now; then `op` is the last one
    std::optional<Operation> op = {};  // always there unless completed

    void fields(Fields &f) {
      f("op", op);
      f("completed", completed);
      if (!completed && !op) f.refuse("op", "is missing");
    }
  };
};

struct CompleteOperation {
  static constexpr Route route{"completing the operation", "POST",
                               "/api/v1/trials/{trial}/searcher/completed_operation",
                               WireVersion::v0_19, WireVersion::v0_33};

  int64_t trial_id = 0;
  uint64_t length = 0;  // that of the operation
  std::optional<Json> metric = {};

  void fields(Fields &f) {
    f.in_path("trial", trial_id);
    f.nested("op", [&](Fields &op) { op("length", length); });
    f("searcherMetric", metric);
  }

  using Response = Nothing;
};

// The operation for masters that have no GetOperation: as long as searcher.max_length says. Throws
// Code::invalid where it says nothing, or none.
Operation configured_operation(const Json &experiment_config);

}  // namespace det::codec
