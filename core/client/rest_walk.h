// Lists of a master in the form of pages, and lists over all its experiments, which it has by
// experiment only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/client/client.h"
#include "core/codec/lists.h"
#include "core/master/rest/master_session.h"

namespace det::client {

// A part of a list; null for entries that do not match the filter.
struct ListedPart {
  std::vector<Json> entries;
  codec::Pagination pagination;
};

// The entry, where it matches.
Json entry_or_null(Json entry, const engine::Filter &filter);

// Reads on until as many entries as a page wants match its filter.
Json filter_page(const char *name, engine::Page page,
                 const std::function<ListedPart(const engine::Page &)> &read);

struct ExperimentWalk {
  const char *name;  // of the list
  // How many entries the experiment has; none where that is not known.
  std::function<std::optional<int64_t>(const codec::Experiment &)> count;
  std::function<http::HttpCall(const codec::Experiment &, int64_t offset, int64_t limit)> ask;
  std::function<ListedPart(const codec::Experiment &, const http::HttpResponse &)> read;
};

// One experiment after the other, several asked at a time. The cursor is the place of an experiment
// in the list of experiments, and above it the place in the experiment.
Json walk_experiments(master::MasterSession &session, const ExperimentWalk &walk,
                      const engine::Page &page);

}  // namespace det::client
