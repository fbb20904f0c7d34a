#include "core/engine/records/stored_metrics.h"

#include "core/base/clock.h"
#include "core/base/report.h"
#include "core/base/utf8.h"
#include "core/engine/records/entries.h"

namespace det::engine {

// A trial may have millions of them, so they are handed on as the text that
// is stored, without making values of it.
namespace {

// Reports may be long: a page has fewer of them then.
constexpr size_t most_bytes_of_page = 4 << 20;

// A report cannot be taken for JSON without a look: something else may have written to the store.
// Where the column of that answer says no, parsing it tells what is wrong.
void append_stored(std::string &out, const Query &row, int column, int is_json) {
  if (row.is_null(column)) out += "null";
  else if (row.integer(is_json) != 0 && is_utf8(row.view(column))) out += row.view(column);
  else out += to_wire(stored_json(row, column));
}

void append_report(std::string &out, const Query &row) {
  out += R"({"group":)" + to_wire(row.text(1));
  const int64_t steps = row.integer(2);
  out += R"(,"steps_completed":)" + (steps == no_steps ? "null" : std::to_string(steps));
  out += R"(,"trial_run_id":)" + std::to_string(row.integer(3));
  out += R"(,"rank":)" + std::to_string(row.integer(9));
  out += R"(,"time":")" + iso8601(row.integer(4));
  out += R"(","metrics":)";
  append_stored(out, row, 5, 7);
  out += R"(,"batch_metrics":)";
  append_stored(out, row, 6, 8);
  out += '}';
}

}  // namespace

std::string StoredMetrics::text(int64_t trial_id, const std::optional<std::string> &group,
                                const Page &page) {
  const auto guard = store_.lock();
  require_no_filter(page, "listing metrics");
  require_trial(records(), trial_id, "listing metrics");
  const std::string start = R"({"metrics":[)";
  std::string text = start;
  const Dialect &dialect = records().dialect();
  const Json next = visit_page(
      records(),
      std::string("SELECT id, metric_group, steps, run_id, time, metrics, batches, ") +
          dialect.is_metrics_json + ", " + dialect.is_batches_json + ", rank FROM metrics" +
          dialect.metrics_by_trial +
          " WHERE trial_id=?1 AND archived=0 AND (?2 IS NULL OR metric_group=?2)",
      {"id"}, page,
      [&](const Query &row) {
        if (text.size() > start.size()) text += ',';
        append_report(text, row);
        return text.size() < most_bytes_of_page;
      },
      trial_id, group);
  return text + R"(],"next":)" + next.dump() + "}";
}

Json StoredMetrics::names(int64_t trial_id) {
  const auto guard = store_.lock();
  require_trial(records(), trial_id, "listing the names of metrics");
  Json groups = Json::object();
  Query names = records().query(records().dialect().metric_names, trial_id);
  while (names.next()) groups[names.text(0)].push_back(names.text(1));
  return groups;
}

}  // namespace det::engine
