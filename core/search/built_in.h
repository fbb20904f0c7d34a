// A search by one of the methods that come with the library.
#pragma once

#include <memory>
#include <string>

#include "core/search/bookkeeping.h"
#include "core/search/method.h"
#include "core/search/search.h"
#include "core/search/settings.h"

namespace det::search {

class BuiltInSearch : public Search {
 public:
  // Throws Code::invalid.
  BuiltInSearch(const SearchSettings &settings, SearchRules rules, HyperparameterGroup space,
                uint32_t seed);

  Decisions initial() override;
  Decisions created(const std::string &request_id) override;
  Decisions validation_completed(const std::string &request_id, uint64_t length,
                                 const Json &metric) override;
  Decisions validated(const std::string &request_id, const Json &metrics) override;
  Decisions exited_early(const std::string &request_id, ExitReason reason) override;
  Decisions closed(const std::string &request_id) override;
  void trial_progress(const std::string &request_id, double progress) override;
  double progress() const override;
  Json snapshot() const override;
  void restore(const Json &snapshot) override;

 private:
  TrialIndex known(const std::string &request_id) const;
  // What the method decides in `ask`; its new trials are counted.
  template <class Ask>
  Decisions decide(Ask ask);

  const SearchRules rules_;
  TrialTable trials_;
  Bookkeeping book_;
  std::unique_ptr<Method> method_;
};

}  // namespace det::search
