#include "wrappers/cli/library_client.h"

#include <algorithm>
#include <limits>

#include "core/base/json.h"
#include "core/base/text/dotted_name.h"
#include "wrappers/cli/exit_code.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

// The first screen comes soon, and what follows it in few calls. With the second page a table has
// the rows that fix its widths.
constexpr int64_t first_page = 100, second_page = 400, later_pages = 1000;

constexpr const char *answer_name = "an answer of the library";

[[noreturn]] void fail(det_status status, const det_error &error) {
  const std::string message = error.message[0] ? error.message : det_status_name(status);
  throw Failure(exit_code_of(status), message);
}

const char *given(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

// What a function of the library answers in JSON.
template <class Function, class... Arguments>
Json answer_of(const Function &function, const Arguments &...arguments) {
  return ask_library(
      [&](char **out, det_error *error) { return function(arguments..., out, error); });
}

// Reads the entries under `key`, page after page, of a function that takes a page behind these
// `arguments`.
template <class Function, class... Arguments>
void walk(const char *key, const Listing &listing, const Read &read, const Function &function,
          const Arguments &...arguments) {
  const Order order = listing.order;
  det_client_page page = DET_CLIENT_PAGE_INIT;
  page.descending = order == Order::newest_first || order == Order::worst_first;
  page.by_metric = order == Order::best_first || order == Order::worst_first;
  page.limit = first_page;
  page.state = given(listing.filter.state);
  page.name = given(listing.filter.name);
  page.tag = given(listing.filter.tag);
  page.archived = listing.filter.archived ? 1 : 0;
  int64_t left = listing.count == 0 ? std::numeric_limits<int64_t>::max() : listing.count;
  for (bool more = true; more;) {
    page.limit = std::min(page.limit, left);
    const LibraryText text = ask_library_for_text(
        [&](char **out, det_error *error) { return function(arguments..., &page, out, error); });
    JsonCursor answer(text.get(), answer_name);
    Json next;
    answer.enter_object();
    for (std::string_view name; answer.next_member(name);) {
      if (name != key) {
        next = answer.value();
        continue;
      }
      answer.enter_list();
      while (answer.next_element())
        if (!read(answer) || --left == 0) return;
    }
    more = !next.is_null();
    if (more) page.after = next.get<int64_t>();
    page.limit = page.limit == first_page ? second_page : later_pages;
  }
}

// For lists whose entries are wanted as a whole.
Read reading(const Visit &visit) {
  return [&visit](JsonCursor &entry) { return visit(entry.value()); };
}

det_client_options options_of(const std::string &master, const std::string &user = {}) {
  det_client_options options = DET_CLIENT_OPTIONS_INIT;
  options.master = given(master);
  options.user = given(user);
  return options;
}

}  // namespace

ExitCode exit_code_of(det_status status) {
  switch (status) {
    case DET_OK:
      return ExitCode::ok;
    case DET_E_INVALID:
      return ExitCode::usage;
    case DET_E_NOT_FOUND:
      return ExitCode::not_found;
    case DET_E_BUSY:
    case DET_E_TIMEOUT:
      return ExitCode::busy;
    case DET_E_STATE:
    case DET_E_CONFLICT:
      return ExitCode::state;
    case DET_E_IO:
    case DET_E_ACCESS:
    case DET_E_CORRUPT:
    case DET_E_FULL:
      return ExitCode::io;
    case DET_E_UNSUPPORTED:
      return ExitCode::unsupported;
    case DET_E_UNAVAILABLE:
    case DET_E_HTTP:
      return ExitCode::unavailable;
    default:
      return ExitCode::internal;
  }
}

det_status call_library(const std::function<det_status(det_error *error)> &call) {
  det_error error = DET_ERROR_INIT;
  const det_status status = call(&error);
  if (status < DET_OK) fail(status, error);
  return status;
}

LibraryText ask_library_for_text(const LibraryCall &call) {
  char *text = nullptr;
  det_error error = DET_ERROR_INIT;
  const det_status status = call(&text, &error);
  LibraryText owned(text, det_free);
  if (status != DET_OK) fail(status, error);
  return owned;
}

Json ask_library(const LibraryCall &call) {
  return parse_json(ask_library_for_text(call).get(), answer_name);
}

Client::Client(const std::string &master) {
  det_client *handle = nullptr;
  det_error error = DET_ERROR_INIT;
  const det_client_options options = options_of(master);
  const det_status status = det_client_open(&options, &handle, &error);
  handle_.reset(handle);
  if (status != DET_OK) fail(status, error);
}

void Client::each_experiment(const Visit &visit, const Listing &listing) {
  walk("experiments", listing, reading(visit), det_client_list_experiments, handle_.get());
}

void Client::each_trial(int64_t experiment_id, const Visit &visit, const Listing &listing) {
  walk("trials", listing, reading(visit), det_client_list_trials, handle_.get(), experiment_id);
}

void Client::each_checkpoint(int64_t trial_id, const Visit &visit, const Listing &listing) {
  walk("checkpoints", listing, reading(visit), det_client_list_checkpoints, handle_.get(),
       trial_id);
}

void Client::each_report(int64_t trial_id, const std::optional<std::string> &group,
                         const Read &read, const Listing &listing) {
  walk("metrics", listing, read, det_client_list_metrics, handle_.get(), trial_id,
       group ? group->c_str() : nullptr);
}

void Client::each_metric(int64_t trial_id, const std::optional<std::string> &group,
                         const Visit &visit, const Listing &listing) {
  const auto is_object = [](const Json &value) { return value.is_object(); };
  each_report(
      trial_id, group,
      [&](JsonCursor &entry) {
        const Json report = entry.value();
        const Json &metrics = field(report, "metrics");
        if (std::none_of(metrics.begin(), metrics.end(), is_object)) return visit(report);
        Json flat = report;
        flat["metrics"] = Json::object();
        each_dotted_name(metrics, [&](const std::string &name, const Json &value) {
          flat["metrics"][name] = value;
        });
        return visit(flat);
      },
      listing);
}

void Client::each_report_page(int64_t trial_id, const std::optional<std::string> &group,
                              const ReadPage &read) {
  det_client_page page = DET_CLIENT_PAGE_INIT;
  page.limit = later_pages;
  for (std::optional<int64_t> next = 0; next;) {
    page.after = *next;
    next = read(ask_library_for_text([&](char **out, det_error *error) {
                  return det_client_list_metrics(
                      handle_.get(), trial_id, group ? group->c_str() : nullptr, &page, out, error);
                }).get());
  }
}

Json Client::LogReader::page(const det_client_page &part) {
  return answer_of(det_client_list_logs, client_.handle_.get(), trial_id_, &part);
}

std::deque<Json> Client::LogReader::read_last(int64_t count, const Visit &is_wanted) {
  std::deque<Json> last;
  det_client_page part = DET_CLIENT_PAGE_INIT;
  part.descending = part.limit = 1;
  const Json newest = page(part);
  if (newest.at("next").is_null()) {  // at most one line
    read_new([&](const Json &entry) {
      if (is_wanted(entry)) last.push_back(entry);
      return true;
    });
    while (last.size() > static_cast<size_t>(count)) last.pop_front();
    return last;
  }
  cursor_ = newest.at("next").get<int64_t>();
  part.after = cursor_ + 1;
  part.limit = std::clamp(count, first_page, later_pages);
  for (;;) {
    const Json answer = page(part);
    for (const Json &entry : answer.at("logs")) {
      if (is_wanted(entry)) last.push_front(entry);
      if (last.size() == static_cast<size_t>(count)) return last;
    }
    if (answer.at("next").is_null()) return last;
    part.after = answer.at("next").get<int64_t>();
    part.limit = later_pages;
  }
}

void Client::LogReader::read_new(const Visit &visit) {
  det_client_page part = DET_CLIENT_PAGE_INIT;
  for (bool more = true; more;) {
    part.after = cursor_;
    const Json answer = page(part);
    const Json &lines = answer.at("logs");
    for (; seen_ < lines.size(); ++seen_) {
      if (!visit(lines[seen_])) return;
    }
    more = !answer.at("next").is_null();
    if (more) {
      cursor_ = answer.at("next").get<int64_t>();
      seen_ = 0;
    }
  }
}

std::string Client::trace(int64_t trial_id) {
  return ask_library_for_text([&](char **out, det_error *error) {
           return det_client_get_trace(handle_.get(), trial_id, out, error);
         })
      .get();
}

Json Client::metric_names(int64_t trial_id) {
  return answer_of(det_client_list_metric_names, handle_.get(), trial_id);
}

Json Client::experiment(int64_t id) {
  return answer_of(det_client_get_experiment, handle_.get(), id);
}

Json Client::trial(int64_t id) { return answer_of(det_client_get_trial, handle_.get(), id); }

Json Client::checkpoint(const std::string &id) {
  return answer_of(det_client_get_checkpoint, handle_.get(), id.c_str());
}

Json Client::find_trial(const std::string &text) {
  return answer_of(det_client_find_trial, handle_.get(), text.c_str());
}

Json Client::find_checkpoint(const std::string &text) {
  return answer_of(det_client_find_checkpoint, handle_.get(), text.c_str());
}

det_storage *Client::open_storage(const std::string &id) {
  det_storage *storage = nullptr;
  call_library([&](det_error *error) {
    return det_client_open_storage(handle_.get(), id.c_str(), &storage, error);
  });
  return storage;
}

Json Client::control(det_client_target target, int64_t id, det_client_action action) {
  return answer_of(det_client_control, handle_.get(), target, id, action);
}

Json Client::update_experiment(int64_t id, const Json &changes) {
  const std::string text = changes.dump(-1, ' ', false, Json::error_handler_t::replace);
  return answer_of(det_client_update_experiment, handle_.get(), id, text.c_str());
}

Json Client::delete_experiment(int64_t id) {
  return answer_of(det_client_delete_experiment, handle_.get(), id);
}

Json Client::sync() { return answer_of(det_client_sync, handle_.get()); }

Json Client::best_trial(int64_t experiment_id) {
  return answer_of(det_client_best_trial, handle_.get(), experiment_id);
}

Json Client::hparam_importance(int64_t experiment_id) {
  return answer_of(det_client_hparam_importance, handle_.get(), experiment_id);
}

Json Client::delete_checkpoint(const std::string &id) {
  return answer_of(det_client_delete_checkpoint, handle_.get(), id.c_str());
}

Json Client::pin_checkpoint(const std::string &id, bool pinned) {
  return answer_of(det_client_pin_checkpoint, handle_.get(), id.c_str(), pinned ? 1 : 0);
}

Json Client::checkpoint_usage() { return answer_of(det_client_checkpoint_usage, handle_.get()); }

Json Client::collect_garbage(int64_t experiment_id, bool dry_run) {
  return answer_of(det_client_collect_garbage, handle_.get(), experiment_id, dry_run ? 1 : 0);
}

Json log_in(const std::string &master, const std::string &user, const std::string &password,
            const std::string &cert_file) {
  det_client_options options = options_of(master, user);
  options.password = password.c_str();
  options.cert_file = given(cert_file);
  return answer_of(det_client_login, &options);
}

Json log_out(const std::string &master, const std::string &user) {
  const det_client_options options = options_of(master, user);
  return answer_of(det_client_logout, &options);
}

Json who_am_i(const std::string &master) {
  const det_client_options options = options_of(master);
  return answer_of(det_client_whoami, &options);
}

}  // namespace det::cli
