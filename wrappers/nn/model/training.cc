#include "wrappers/nn/model/training.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/configuration/named_config.h"

namespace det::nn {

namespace {

// One for each result: an object has them by name, an array in their order, and of a single result
// it may be the thing itself.
std::vector<Json> by_result(const Json &given, const std::vector<std::string> &results,
                            const std::string &what) {
  std::vector<Json> each(results.size());
  const bool is_object = given.is_object() && !given.contains("class_name");
  if (given.is_null()) return each;
  if (is_object) {
    for (const auto &[name, value] : given.items()) {
      const auto place = std::find(results.begin(), results.end(), name);
      if (place == results.end())
        throw Error(Code::invalid, "compiling a model: '" + what + "' names a result '" + name +
                                       "' that there is not" + suggestion(name, results));
      each[static_cast<size_t>(place - results.begin())] = value;
    }
    return each;
  }
  if (given.is_array() && given.size() == results.size()) {
    std::copy(given.begin(), given.end(), each.begin());
    return each;
  }
  if (results.size() != 1 || given.is_array())
    throw Error(Code::invalid, "compiling a model: '" + what + "' is not one for each of the " +
                                   std::to_string(results.size()) + " results");
  return {given};
}

// Of each result an array.
std::vector<Json> metrics_by_result(Fields &fields, const std::vector<std::string> &results,
                                    const std::string &what) {
  Json given = fields.any(what.c_str());
  // Of a single result the list is that of its metrics.
  if (results.size() == 1 && given.is_array()) given = Json::array({given});
  std::vector<Json> metrics = by_result(given, results, what);
  for (Json &named : metrics)
    if (!named.is_array()) named = named.is_null() ? Json::array() : Json::array({named});
  return metrics;
}

}  // namespace

Training::Training(const Json &options, const std::vector<std::string> &results)
    : has_several_(results.size() > 1) {
  Fields fields(options, "what a model is compiled with");
  const std::vector<Json> losses = by_result(fields.any("loss"), results, "loss");
  const std::vector<Json> loss_weights =
      by_result(fields.any("loss_weights"), results, "loss_weights");
  const std::vector<Json> metrics = metrics_by_result(fields, results, "metrics");
  const std::vector<Json> weighted = metrics_by_result(fields, results, "weighted_metrics");
  for (size_t i = 0; i < results.size(); ++i) {
    if (losses[i].is_null()) {
      if (metrics[i].empty() && weighted[i].empty()) continue;
      throw Error(Code::invalid, "compiling a model: the result '" + results[i] +
                                     "' has metrics and no loss; it is compared with nothing");
    }
    const Json &weight = loss_weights[i];
    if (!weight.is_null() && !weight.is_number())
      throw Error(Code::invalid,
                  "compiling a model: a loss weight is no number: " + to_wire(weight));
    compared_.push_back(results[i]);
    named_metrics_.push_back(metrics[i]);
    named_weighted_metrics_.push_back(weighted[i]);
    objective_.results.push_back(i);
    objective_.losses.push_back(make_loss(losses[i]));
    objective_.loss_weights.push_back(weight.is_null() ? 1 : weight.get<double>());
  }
  if (compared_.empty())
    throw Error(Code::invalid, "compiling a model: no result has a loss; give one");
  loss_sums_.resize(compared_.size() + 1);
  trains_ = options.contains("optimizer");
  optimizer_ = make_optimizer(fields.any("optimizer", "sgd"));
  objective_.is_scaled = optimizer_->loss_scale().has_value();
  checks_numerics_ = fields.flag("check_numerics", false);
  fields.finish();
}

void Training::scale_loss(const LossScale &scale) {
  if (!optimizer_->loss_scale()) optimizer_->scale_loss(scale);
  objective_.is_scaled = true;
}

ArrayType Training::truth_of(size_t compared, const ArrayType &prediction) const {
  return objective_.losses[compared]->truth_for(prediction);
}

void Training::make_metrics(const std::function<const ArrayType &(size_t result)> &type_of) {
  const auto is_known = [&](size_t i) { return predictions_[i] == type_of(objective_.results[i]); };
  bool are_known = has_metrics_;
  for (size_t i = 0; are_known && i < compared_.size(); ++i) are_known = is_known(i);
  if (are_known) return;
  std::vector<ArrayType> predictions;
  for (const size_t result : objective_.results) predictions.push_back(type_of(result));
  for (const Gathered &one : gathered_)
    one.metric->check(truth_of(one.compared, predictions[one.compared]), predictions[one.compared]);
  predictions_ = std::move(predictions);
  if (has_metrics_) return;
  std::vector<Gathered> made;
  std::vector<Told> told;
  bool limits_values = false;
  for (size_t i = 0; i < compared_.size(); ++i) {
    const ArrayType &prediction = predictions_[i];
    const ArrayType truth = truth_of(i, prediction);
    for (const bool is_weighted : {false, true})
      for (const Json &named : (is_weighted ? named_weighted_metrics_ : named_metrics_)[i]) {
        made.push_back({i, is_weighted, make_metric(named, truth, prediction)});
        const Metric &metric = *made.back().metric;
        limits_values = limits_values || metric.limits_values();
        const std::vector<std::string> names = metric.names();
        for (size_t k = 0; k < names.size(); ++k)
          told.push_back({&metric, k, told_name(told, made.back(), names[k])});
      }
  }
  gathered_ = std::move(made);
  told_ = std::move(told);
  limits_values_ = limits_values;
  has_metrics_ = true;
}

std::string Training::told_name(const std::vector<Told> &told, const Gathered &one,
                                const std::string &name) const {
  const std::string whose = has_several_ ? compared_[one.compared] + "_" : "";
  const auto is_taken = [&](const std::string &wanted) {
    return std::any_of(told.begin(), told.end(),
                       [&](const Told &other) { return other.name == wanted; });
  };
  const std::string usual =
      whose + (one.is_weighted && is_taken(whose + name) ? "weighted_" : "") + name;
  std::string unused = usual;
  for (int number = 1; is_taken(unused); ++number) unused = usual + "_" + std::to_string(number);
  return unused;
}

void Training::check_values(const Plan &plan) const {
  for (const Gathered &one : gathered_)
    one.metric->check_values(plan.truth(one.compared), plan.compared(one.compared));
}

void Training::gather(const Plan &plan) {
  const auto records = static_cast<double>(plan.prediction(0).shape().at(0));
  records_ += records;
  loss_sums_[0] += plan.loss() * records;
  for (size_t i = 0; i < compared_.size(); ++i) loss_sums_[i + 1] += plan.loss_of(i) * records;
  // As in Keras, the weights of records are those of the loss, and of metrics that ask for them.
  for (const Gathered &one : gathered_)
    one.metric->update(plan.truth(one.compared), plan.compared(one.compared),
                       plan.metric_weights(one.compared, one.is_weighted));
}

void Training::reset_metrics() {
  records_ = 0;
  std::fill(loss_sums_.begin(), loss_sums_.end(), 0.0);
  for (const Gathered &one : gathered_) one.metric->reset();
}

std::vector<std::string> Training::metric_names() const {
  std::vector<std::string> names{"loss"};
  for (size_t i = 0; has_several_ && i < compared_.size(); ++i)
    names.push_back(compared_[i] + "_loss");
  for (const Told &one : told_) names.push_back(one.name);
  return names;
}

double Training::metric(size_t index) const {
  if (index >= loss_count()) {
    const Told &one = told_.at(index - loss_count());
    return one.metric->result(one.index);
  }
  return records_ == 0 ? 0 : loss_sums_[index] / records_;
}

std::vector<double> Training::metrics() const {
  std::vector<double> values;
  for (size_t i = 0; i < metric_count(); ++i) values.push_back(metric(i));
  return values;
}

}  // namespace det::nn
