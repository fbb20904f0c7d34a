#include "core/client/rest_walk.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/client/rest_entries.h"

namespace det::client {

namespace {

constexpr int place_bits = 31;
constexpr int64_t at_once = 32;  // experiments

struct Cursor {
  int64_t experiment = 0;
  int64_t place = 0;

  int64_t number() const { return (place << place_bits) + experiment; }
};

// What was deleted since its experiment was listed is empty.
ListedPart read(const master::MasterSession &session, const ExperimentWalk &walk,
                const codec::Experiment &experiment, http::HttpCall &call) {
  try {
    return walk.read(experiment, session.wait(std::move(call)));
  } catch (const Error &error) {
    if (error.http_status != 404) throw;
    return {};
  }
}

struct Asked {
  const codec::Experiment *experiment;
  std::optional<http::HttpCall> call;  // none where there is nothing to ask for
};

// From the first on, as many as may fill the page.
std::vector<Asked> ask(const ExperimentWalk &walk,
                       const std::vector<codec::Experiment> &experiments, int64_t place,
                       int64_t wanted) {
  std::vector<Asked> asked;
  int64_t expected = 0;
  for (const codec::Experiment &experiment : experiments) {
    if (expected >= wanted) break;
    const auto count = walk.count(experiment);
    const int64_t offset = asked.empty() ? place : 0;
    asked.push_back({&experiment, std::nullopt});
    if (count != 0) asked.back().call = walk.ask(experiment, offset, wanted);
    expected += std::max<int64_t>(0, count.value_or(0) - offset);
  }
  return asked;
}

}  // namespace

Json entry_or_null(Json entry, const engine::Filter &filter) {
  return matches(entry, filter) ? std::move(entry) : Json();
}

Json filter_page(const char *name, engine::Page page,
                 const std::function<ListedPart(const engine::Page &)> &read) {
  const int64_t limit = *part_of(page, "").limit;
  Json entries = Json::array();
  for (;;) {
    ListedPart part = read(page);
    int64_t taken = 0;
    for (Json &entry : part.entries) {
      if (static_cast<int64_t>(entries.size()) == limit) break;
      ++taken;
      if (!entry.is_null()) entries.push_back(std::move(entry));
    }
    Json next = cursor_behind(page.after, static_cast<size_t>(taken), part.pagination);
    if (next.is_null() || static_cast<int64_t>(entries.size()) == limit)
      return {{name, std::move(entries)}, {"next", std::move(next)}};
    page.after = next.get<int64_t>();
  }
}

Json walk_experiments(master::MasterSession &session, const ExperimentWalk &walk,
                      const engine::Page &page) {
  Cursor cursor{page.after & ((int64_t{1} << place_bits) - 1), page.after >> place_bits};
  const int64_t limit = *part_of(page, "").limit;
  Json entries = Json::array();
  const auto missing = [&] { return limit - static_cast<int64_t>(entries.size()); };
  bool more = true;
  while (more && missing() != 0) {
    const engine::Page some{cursor.experiment, at_once, page.descending};
    const auto list = session.call(codec::ListExperiments{.part = part_of(some, sort_by_id),
                                                          .archived = archived_of(page.filter)});
    for (Asked &next : ask(walk, list.experiments, cursor.place, missing())) {
      if (missing() == 0) break;
      ListedPart part;
      if (next.call) part = read(session, walk, *next.experiment, *next.call);
      int64_t taken = 0;
      for (Json &entry : part.entries) {
        if (missing() == 0) break;
        if (!entry.is_null()) entries.push_back(std::move(entry));
        ++taken;
      }
      if (taken != 0 && cursor.place + taken < part.pagination.total) {
        cursor.place += taken;
        if (missing() != 0) break;  // the rest of it first
      } else {
        cursor = {cursor.experiment + 1, 0};
      }
    }
    more = !list.experiments.empty() && cursor.experiment < list.pagination.total;
  }
  return {{walk.name, std::move(entries)}, {"next", more ? Json(cursor.number()) : Json()}};
}

}  // namespace det::client
