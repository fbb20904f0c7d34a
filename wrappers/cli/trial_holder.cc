#include "trial_holder.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "exit_code.h"
#include "field_text.h"

namespace det::cli {

namespace {

// The system allows a variable 128 KiB.
constexpr size_t longest_variable = 100'000;

// A letter, digit or _ for each: "optimizer.lr" is optimizer_lr.
std::string identifier(std::string name) {
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

Json failed(ExitCode code, const std::string &message) {
  return {{"exit", static_cast<int>(code)}, {"message", message}};
}

}  // namespace

TrialHolder::TrialHolder(const det_core_options &options) {
  det_core *core = nullptr;
  call_library([&](det_error *error) { return det_core_init(&options, &core, error); });
  core_.reset(core);
  if (const char *id = det_info_latest_checkpoint(det_core_info(core))) latest_checkpoint_ = id;
}

std::map<std::string, std::string> TrialHolder::variables() const {
  const det_info *info = det_core_info(core_.get());
  std::map<std::string, std::string> variables = {
      {"DET_EXPERIMENT_ID", std::to_string(det_info_experiment_id(info))},
      {"DET_TRIAL_ID", std::to_string(det_info_trial_id(info))},
      {"DET_TRIAL_SEED", std::to_string(det_info_trial_seed(info))},
      {"DET_STEPS_COMPLETED", std::to_string(det_info_steps_completed(info))},
      {"DET_LATEST_CHECKPOINT", latest_checkpoint_},
      {"DET_HPARAMS", det_info_hparams_json(info)},
  };
  for (const auto &[name, value] :
       flattened(parse_json(variables["DET_HPARAMS"], "hyperparameters")))
    variables["DET_HPARAM_" + identifier(name)] = text_of(value);
  std::erase_if(variables, [](const auto &it) { return it.second.size() > longest_variable; });
  return variables;
}

void TrialHolder::preempt() { det_preempt_request(det_core_preempt(core_.get())); }

Json TrialHolder::answer(const Json &request) noexcept {
  using Action = Json (TrialHolder::*)(const Json &);
  static const std::map<std::string, Action> actions = {
      {"report", &TrialHolder::report},     {"next", &TrialHolder::next},
      {"complete", &TrialHolder::complete}, {"progress", &TrialHolder::progress},
      {"save", &TrialHolder::save},         {"restore", &TrialHolder::restore},
  };
  try {
    Json answer = (this->*actions.at(request.at("do").get<std::string>()))(request);
    answer["exit"] = static_cast<int>(ExitCode::ok);
    return answer;
  } catch (const Ended &ended) {
    return {{"exit", static_cast<int>(ended.code)}};
  } catch (const Failure &failure) {
    return failed(failure.code, failure.what());
  } catch (const std::exception &error) {
    return failed(ExitCode::usage, std::string("'det trial' does not understand its script; is it "
                                               "of another release? ") +
                                       error.what());
  }
}

void TrialHolder::close(det_outcome how) {
  call_library([&](det_error *error) { return det_core_close(core_.get(), how, error); });
}

Json TrialHolder::report(const Json &request) {
  std::vector<det_metric> metrics;
  for (const auto &[name, value] : request.at("metrics").items())
    metrics.push_back({name.c_str(), value.get<double>()});
  call_library([&](det_error *error) {
    return det_train_report_metrics(
        det_core_train(core_.get()), request.at("group").get_ref<const std::string &>().c_str(),
        request.at("steps").get<int64_t>(), metrics.data(), metrics.size(), error);
  });
  return Json::object();
}

Json TrialHolder::next(const Json &) {
  const std::scoped_lock lock(searching_);
  if (!operation_) {
    const det_status status = call_library([&](det_error *error) {
      return det_searcher_next(det_core_searcher(core_.get()), &operation_, error);
    });
    if (status == DET_DONE) throw Ended{ExitCode::no_more_work};
  }
  const det_status status = call_library([&](det_error *error) {
    return det_preempt_should_preempt(det_core_preempt(core_.get()), error);
  });
  if (status == DET_PREEMPTED) throw Ended{ExitCode::asked_to_stop};
  return {{"length", det_searcher_op_length(operation_)}};
}

Json TrialHolder::complete(const Json &request) {
  const std::scoped_lock lock(searching_);
  if (!operation_)
    throw Failure(ExitCode::state, "nothing is under way to complete; ask for it with 'det next'");
  call_library([&](det_error *error) {
    return det_searcher_op_report_completed(operation_, request.at("metric").get<double>(), error);
  });
  operation_ = nullptr;
  return Json::object();
}

Json TrialHolder::progress(const Json &request) {
  const std::scoped_lock lock(searching_);
  if (!operation_)
    throw Failure(ExitCode::state, "nothing is under way; ask for it with 'det next'");
  call_library([&](det_error *error) {
    return det_searcher_op_report_progress(operation_, request.at("length").get<double>(), error);
  });
  return Json::object();
}

Json TrialHolder::save(const Json &request) {
  char *id = nullptr;
  const std::scoped_lock lock(saving_);
  call_library([&](det_error *error) {
    return det_checkpoint_upload(det_core_checkpoint(core_.get()),
                                 request.at("directory").get_ref<const std::string &>().c_str(),
                                 request.at("metadata").dump().c_str(), nullptr, &id, error);
  });
  const std::unique_ptr<char, void (*)(void *)> owned(id, det_free);
  latest_checkpoint_ = id;
  return {{"uuid", id}};
}

Json TrialHolder::restore(const Json &request) {
  std::string id = request.at("uuid").get<std::string>();
  const std::scoped_lock lock(saving_);
  if (id.empty()) id = latest_checkpoint_;
  if (id.empty()) return {{"uuid", nullptr}, {"steps_completed", 0}};
  det_checkpoint_context *checkpoint = det_core_checkpoint(core_.get());
  const Json metadata = ask_library([&](char **out, det_error *error) {
    return det_checkpoint_get_metadata(checkpoint, id.c_str(), out, error);
  });
  call_library([&](det_error *error) {
    return det_checkpoint_download(checkpoint, id.c_str(),
                                   request.at("directory").get_ref<const std::string &>().c_str(),
                                   nullptr, error);
  });
  return {{"uuid", id}, {"steps_completed", field(metadata, "steps_completed")}};
}

}  // namespace det::cli
