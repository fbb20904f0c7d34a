// A search under test, told in numbers of trials, answering in short: C1 creates the first trial,
// V1:8 has it validate after 8, X1 closes it, S1 stops it, "end", "end failure" and "end cancel"
// are shutdowns.
#pragma once

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/json.h"
#include "core/search/search.h"

namespace det::search {

inline Json read_vectors(const std::string &name) {
  std::ifstream file(std::string(TEST_DATA) + "/search/" + name);
  return Json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
}

class Driver {
 public:
  explicit Driver(Json config, SearchRules rules = SearchRules::operations)
      : config_(std::move(config)), rules_(rules), search_(make_search(config_, rules_)) {}

  std::string initial() { return in_short(search_->initial()); }
  std::string created(size_t trial) { return in_short(search_->created(id(trial))); }
  std::string done(size_t trial, uint64_t length, const Json &metric) {
    return in_short(search_->validation_completed(id(trial), length, metric));
  }
  std::string report(size_t trial, const Json &metrics) {
    return in_short(search_->validated(id(trial), metrics));
  }
  std::string exit(size_t trial, ExitReason reason) {
    return in_short(search_->exited_early(id(trial), reason));
  }
  std::string closed(size_t trial) { return in_short(search_->closed(id(trial))); }
  void units(size_t trial, double units) { search_->trial_progress(id(trial), units); }
  double progress() const { return search_->progress(); }
  Search &search() { return *search_; }

  const std::vector<CreateTrial> &trials() const { return trials_; }
  const std::string &id(size_t trial) const { return trials_.at(trial - 1).request_id; }
  size_t number(const std::string &id) const { return numbers_.at(id); }

  // Goes on with a search that was made from what this one wrote down.
  void restore(const Json &snapshot) {
    search_ = make_search(config_, rules_);
    search_->restore(snapshot);
  }

  std::string in_short(const Decisions &decisions) {
    std::string text;
    for (const Decision &decision : decisions)
      text += (text.empty() ? "" : " ") +
              std::visit([this](const auto &d) { return word(d); }, decision);
    return text;
  }

 private:
  std::string word(const CreateTrial &create) {
    trials_.push_back(create);
    numbers_[create.request_id] = trials_.size();
    return "C" + std::to_string(trials_.size());
  }
  std::string word(const ValidateAfter &validate) {
    return "V" + std::to_string(number(validate.request_id)) + ":" +
           std::to_string(validate.length);
  }
  std::string word(const CloseTrial &close) {
    return "X" + std::to_string(number(close.request_id));
  }
  std::string word(const StopTrial &stop) { return "S" + std::to_string(number(stop.request_id)); }
  std::string word(const Shutdown &shutdown) {
    return std::string("end") + (shutdown.failure ? " failure" : "") +
           (shutdown.cancel ? " cancel" : "");
  }
  std::string word(const SetProgress &) { return "progress"; }

  const Json config_;
  const SearchRules rules_;
  std::unique_ptr<Search> search_;
  std::vector<CreateTrial> trials_;
  std::map<std::string, size_t> numbers_;
};

}  // namespace det::search
