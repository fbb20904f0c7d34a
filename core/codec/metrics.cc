#include "core/codec/metrics.h"

namespace det::codec {

void ReportMetrics::fields(Fields &f) {
  const bool is_old = f.message().is_old_form;
  const auto report = [&](Fields &inner) {
    if (!is_old) inner.repeat("trialId", trial_id);
    inner.or_default("trialRunId", run_id);
    inner("stepsCompleted", steps_completed);
    inner("reportTime", report_time);
    inner.nested("metrics", [&](Fields &metrics) {
      metrics.object("avgMetrics", values);
      metrics.unless_empty("batchMetrics", batches);
      for (const Json &batch : batches)
        if (f.message().is_read && !batch.is_object())
          metrics.refuse("batchMetrics", "must hold JSON objects only");
    });
  };

  f.in_path("trial", trial_id);
  if (!is_old) {
    f("group", group);
    if (group.empty() || group.find('.') != group.npos)
      f.refuse("group", "must not be empty nor contain a '.'");
    f.nested("metrics", report);
    return;
  }
  f.in_path("group", group);
  if (group != "training" && group != "validation")
    throw Error(Code::unsupported, f.message().what +
                                       ": a master of version 0.19 takes the groups training and "
                                       "validation only, not '" +
                                       for_people(group) + "'");
  report(f);
}

}  // namespace det::codec
