// The C API of det/client.h with C++ values: JSON answers are parsed, lists are walked page by
// page, and a failure is thrown with its exit code.
#pragma once

#include <det/client.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/base/json_cursor.h"

namespace det::cli {

using Json = nlohmann::ordered_json;

// Called for each entry of a list. False ends the walk.
using Visit = std::function<bool(const Json &entry)>;

// The same for lists that are long: it steps over the entry, and makes values of what it needs.
using Read = std::function<bool(JsonCursor &entry)>;

// The status of a call that did not fail. Throws Failure.
det_status call_library(const std::function<det_status(det_error *error)> &call);

// The answer of a call that gives JSON. Throws Failure.
using LibraryCall = std::function<det_status(char **out_json, det_error *error)>;
Json ask_library(const LibraryCall &call);
using LibraryText = std::unique_ptr<char, void (*)(void *)>;
LibraryText ask_library_for_text(const LibraryCall &call);  // as it is

enum class Order { oldest_first, newest_first, best_first, worst_first };

// Which experiments or trials are wanted; empty: any.
struct Filter {
  std::string state, name, tag;  // states with commas between them, a glob, and a tag
  bool archived = false;         // those instead of the others
};

// In which order entries are visited, and how many; 0: all of them. They are read as they are
// visited, a page at a time.
struct Listing {
  Order order = Order::newest_first;
  int64_t count = 0;
  Filter filter = {};
};

class Client {
 public:
  // `master` as -m; empty for the default.
  explicit Client(const std::string &master);

  void each_experiment(const Visit &visit, const Listing &listing = {});
  void each_trial(int64_t experiment_id, const Visit &visit,  // 0: of all
                  const Listing &listing = {});
  void each_checkpoint(int64_t trial_id, const Visit &visit,  // 0: of all trials
                       const Listing &listing = {});
  void each_report(int64_t trial_id, const std::optional<std::string> &group, const Read &read,
                   const Listing &listing = {Order::oldest_first});
  // The same with one name for each value: "agent.memory_free" is that of what stands in an object.
  void each_metric(int64_t trial_id, const std::optional<std::string> &group, const Visit &visit,
                   const Listing &listing = {Order::oldest_first});

  // The same reports as the texts that they come as. `read` answers the cursor of the next one.
  using ReadPage = std::function<std::optional<int64_t>(const std::string &answer)>;
  void each_report_page(int64_t trial_id, const std::optional<std::string> &group,
                        const ReadPage &read);

  // Lines behind the place where the walk before stopped, so that a log can be followed.
  class LogReader {
   public:
    LogReader(Client &client, int64_t trial_id) : client_(client), trial_id_(trial_id) {}
    void read_new(const Visit &visit);
    // The last `count` that are wanted, the oldest first, read from the end; read_new() then goes
    // on behind them.
    std::deque<Json> read_last(int64_t count, const Visit &is_wanted);

   private:
    Json page(const det_client_page &part);

    Client &client_;
    int64_t trial_id_;
    int64_t cursor_ = 0;
    size_t seen_ = 0;  // entries behind `cursor_` that were visited before
  };

  std::string trace(int64_t trial_id);  // as a text: it is long
  Json metric_names(int64_t trial_id);  // by group
  Json experiment(int64_t id);
  Json trial(int64_t id);
  Json checkpoint(const std::string &id);
  Json find_trial(const std::string &text);       // by its id or external id
  Json find_checkpoint(const std::string &text);  // by the beginning of its id
  // That a checkpoint is in; the caller's.
  det_storage *open_storage(const std::string &id);
  Json control(det_client_target target, int64_t id, det_client_action action);
  // An empty object changes nothing, and tells what there is.
  Json update_experiment(int64_t id, const Json &changes);
  Json delete_experiment(int64_t id);
  Json sync();
  Json best_trial(int64_t experiment_id);
  Json hparam_importance(int64_t experiment_id);
  Json collect_garbage(int64_t experiment_id, bool dry_run);
  Json delete_checkpoint(const std::string &id);
  Json pin_checkpoint(const std::string &id, bool pinned);
  Json checkpoint_usage();

 private:
  std::unique_ptr<det_client, void (*)(det_client *)> handle_{nullptr, det_client_free};
};

// Accounts on a master. `master` as -m; empty texts, but for the password, for the defaults.
Json log_in(const std::string &master, const std::string &user, const std::string &password,
            const std::string &cert_file);
Json log_out(const std::string &master, const std::string &user);
Json who_am_i(const std::string &master);

}  // namespace det::cli
