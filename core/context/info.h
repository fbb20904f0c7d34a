// The facts about this run, ready to be handed out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/comm/communicator.h"
#include "core/config/master_location.h"
#include "core/engine/runs/run_backend.h"

namespace det::context {

class Info {
 public:
  // `on_cluster`: a cluster has started this process.
  Info(const engine::RunInfo &run, const comm::Ranks &ranks, const config::MasterLocation &master,
       const Json &storage, bool on_cluster);

  const engine::RunInfo &run() const { return run_; }
  bool on_cluster() const { return on_cluster_; }
  const std::string &hparams_text() const { return hparams_text_; }
  const std::vector<std::string> &hparam_names() const { return hparam_names_; }  // with dots
  const std::string &config_text() const { return config_text_; }
  const std::string &user_data_text() const { return user_data_text_; }
  const std::string &text() const { return text_; }

  // The value under a name such as "optimizer.lr"; a key that has the dots itself is found first.
  // Null when there is none.
  const Json *find_hparam(const std::string &name) const;

  // As find_hparam(); throws Code::not_found, listing the names there are.
  const Json &hparam(const std::string &name) const;

 private:
  const engine::RunInfo run_;
  const bool on_cluster_;
  std::string hparams_text_, config_text_, user_data_text_, text_;
  std::vector<std::string> hparam_names_;
};

// A hyperparameter as a type, or nothing when it has another one.
std::optional<double> as_double(const Json &value);
std::optional<int64_t> as_integer(const Json &value);
std::optional<bool> as_bool(const Json &value);

}  // namespace det::context
