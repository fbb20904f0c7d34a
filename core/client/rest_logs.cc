#include "core/client/rest_logs.h"

#include <algorithm>
#include <charconv>

#include "core/base/error.h"
#include "core/client/rest_entries.h"

namespace det::client {

namespace {

// Lines come to the master up to so much later than lines of other sources that are newer.
constexpr int64_t lateness_us = 60'000'000;

int64_t id_of(const codec::StoredLogLine &line, const master::MasterSession &session) {
  int64_t id = 0;
  const char *end = line.id.data() + line.id.size();
  if (line.id.empty() || std::from_chars(line.id.data(), end, id).ptr != end || id <= 0)
    throw Error(Code::unsupported,
                "reading the trial's log: " + session.url() +
                    " keeps its logs where lines have no numbers, so they cannot be read in parts; "
                    "look at them in the master's web pages");
  return id;
}

}  // namespace

codec::ListTrialLogs LogReader::request(int64_t trial_id, const engine::Page &page) const {
  const engine::Page whole{0, page.limit, page.descending};
  codec::ListTrialLogs call{.trial_id = trial_id, .follow = false, .part = part_of(whole, "")};
  call.part.offset.reset();
  call.part.sort.reset();
  if (page.after == 0 || mark_.trial_id != trial_id || mark_.id != page.after) return call;
  if (page.descending) call.before = codec::Time{mark_.time.us + lateness_us};
  else call.after = codec::Time{mark_.time.us - lateness_us};
  return call;
}

Json LogReader::list(int64_t trial_id, const engine::Page &page) {
  codec::ListTrialLogs call = request(trial_id, page);
  const auto wanted = static_cast<size_t>(*call.part.limit);
  // One more tells whether there are more.
  for (int64_t limit = *call.part.limit + 1;; limit *= 2) {
    call.part.limit = limit;
    const auto lines = session_->call(call).lines;
    const bool is_all = static_cast<int64_t>(lines.size()) < limit;
    std::vector<const codec::StoredLogLine *> unread;
    for (const codec::StoredLogLine &line : lines) {
      const int64_t id = id_of(line, *session_);
      if (page.after == 0 || (page.descending ? id < page.after : id > page.after))
        unread.push_back(&line);
    }
    if (!is_all && unread.size() <= wanted) continue;  // mostly what was read before
    Json entries = Json::array();
    for (size_t i = 0; i < std::min(wanted, unread.size()); ++i)
      entries.push_back(log_entry(*unread[i]));
    if (unread.size() <= wanted) return {{"logs", std::move(entries)}, {"next", nullptr}};
    const codec::StoredLogLine &last = *unread[wanted - 1];
    const int64_t next = id_of(last, *session_);
    mark_ = {last.time ? trial_id : 0, next, last.time.value_or(codec::Time())};
    return {{"logs", std::move(entries)}, {"next", next}};
  }
}

}  // namespace det::client
