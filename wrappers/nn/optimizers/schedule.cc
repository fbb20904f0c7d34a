#include "wrappers/nn/optimizers/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/error.h"
#include "wrappers/nn/configuration/keras_fields.h"
#include "wrappers/nn/configuration/named_config.h"

namespace det::nn {

namespace {

double steps_of(Fields &fields, const char *key) {
  const double steps = fields.number(key);
  if (!(steps > 0))
    throw Error(Code::invalid,
                "reading " + fields.where() + ": '" + key + "' must be a number above 0");
  return steps;
}

// By so much in so many steps, steadily or at their end.
class RateDecay : public Schedule {
 public:
  explicit RateDecay(Fields &fields)
      : initial_(fields.number("initial_learning_rate")),
        steps_(steps_of(fields, "decay_steps")),
        rate_(fields.number("decay_rate")),
        is_staircase_(fields.flag("staircase", false)) {}

  double at(int64_t step) const override {
    const double times = static_cast<double>(step) / steps_;
    return decayed(is_staircase_ ? std::floor(times) : times);
  }

 protected:
  virtual double decayed(double times) const = 0;

  const double initial_, steps_, rate_;
  const bool is_staircase_;
};

class ExponentialDecay : public RateDecay {
 public:
  using RateDecay::RateDecay;

 private:
  double decayed(double times) const override { return initial_ * std::pow(rate_, times); }
};

class InverseTimeDecay : public RateDecay {
 public:
  using RateDecay::RateDecay;

 private:
  double decayed(double times) const override { return initial_ / (1 + rate_ * times); }
};

class PolynomialDecay : public Schedule {
 public:
  explicit PolynomialDecay(Fields &fields)
      : initial_(fields.number("initial_learning_rate")),
        steps_(steps_of(fields, "decay_steps")),
        end_(fields.number("end_learning_rate", 0.0001)),
        power_(fields.number("power", 1)),
        is_cyclic_(fields.flag("cycle", false)) {}

  double at(int64_t step) const override {
    const auto now = static_cast<double>(step);
    const double steps = is_cyclic_ ? steps_ * std::max(1.0, std::ceil(now / steps_)) : steps_;
    return (initial_ - end_) * std::pow(1 - std::min(now, steps) / steps, power_) + end_;
  }

 private:
  const double initial_, steps_, end_, power_;
  const bool is_cyclic_;
};

class PiecewiseConstantDecay : public Schedule {
 public:
  explicit PiecewiseConstantDecay(Fields &fields)
      : boundaries_(fields.numbers("boundaries")), values_(fields.numbers("values")) {
    if (values_.size() != boundaries_.size() + 1 ||
        !std::is_sorted(boundaries_.begin(), boundaries_.end()))
      throw Error(Code::invalid, "reading " + fields.where() +
                                     ": 'boundaries' must rise, and 'values' be one more of them");
  }

  double at(int64_t step) const override {
    const auto above =
        std::lower_bound(boundaries_.begin(), boundaries_.end(), static_cast<double>(step));
    return values_.at(static_cast<size_t>(above - boundaries_.begin()));
  }

 private:
  const std::vector<double> boundaries_, values_;
};

double cosine(double part, double alpha) {
  return (1 - alpha) * 0.5 * (1 + std::cos(std::numbers::pi * part)) + alpha;
}

class CosineDecay : public Schedule {
 public:
  explicit CosineDecay(Fields &fields)
      : initial_(fields.number("initial_learning_rate")),
        steps_(steps_of(fields, "decay_steps")),
        alpha_(fields.number("alpha", 0)),
        has_warmup_(fields.has("warmup_target")),
        top_(has_warmup_ ? fields.number("warmup_target") : initial_),
        warmup_(fields.number("warmup_steps", 0)) {
    if (!has_warmup_) fields.any("warmup_target");
  }

  double at(int64_t step) const override {
    double now = static_cast<double>(step);
    if (has_warmup_ && now < warmup_) return initial_ + (top_ - initial_) * now / warmup_;
    if (has_warmup_) now -= warmup_;
    return top_ * cosine(std::min(now, steps_) / steps_, alpha_);
  }

 private:
  const double initial_, steps_, alpha_;
  const bool has_warmup_;
  const double top_, warmup_;
};

class CosineDecayRestarts : public Schedule {
 public:
  explicit CosineDecayRestarts(Fields &fields)
      : initial_(fields.number("initial_learning_rate")),
        first_(steps_of(fields, "first_decay_steps")),
        longer_(fields.number("t_mul", 2)),
        lower_(fields.number("m_mul", 1)),
        alpha_(fields.number("alpha", 0)) {}

  // Round number n is first * longer^n steps long.
  double at(int64_t step) const override {
    const double part = static_cast<double>(step) / first_;
    double round = std::floor(part);
    double within = part - round;
    if (longer_ != 1) {
      round = std::floor(std::log(1 - part * (1 - longer_)) / std::log(longer_));
      const double length = std::pow(longer_, round);
      within = (part - (1 - length) / (1 - longer_)) / length;
    }
    const double top = std::pow(lower_, round);
    return initial_ *
           ((1 - alpha_) * 0.5 * top * (1 + std::cos(std::numbers::pi * within)) + alpha_);
  }

 private:
  const double initial_, first_, longer_, lower_, alpha_;
};

template <class S>
std::shared_ptr<const Schedule> make_one(Fields &fields) {
  return std::make_shared<S>(fields);
}

const std::map<std::string, std::shared_ptr<const Schedule> (*)(Fields &)> &schedules() {
  static const std::map<std::string, std::shared_ptr<const Schedule> (*)(Fields &)> all{
      {"CosineDecay", make_one<CosineDecay>},
      {"CosineDecayRestarts", make_one<CosineDecayRestarts>},
      {"ExponentialDecay", make_one<ExponentialDecay>},
      {"InverseTimeDecay", make_one<InverseTimeDecay>},
      {"PiecewiseConstantDecay", make_one<PiecewiseConstantDecay>},
      {"PolynomialDecay", make_one<PolynomialDecay>},
  };
  return all;
}

}  // namespace

std::shared_ptr<const Schedule> make_schedule(const Json &config, const std::string &where) {
  const NamedConfig named = named_config(config, "the schedule of " + where);
  const auto known = schedules().find(named.name);
  if (known == schedules().end()) refuse_name(named.name, "schedule", keys_of(schedules()));
  Fields fields(named.config, "the schedule " + named.name);
  auto schedule = known->second(fields);
  fields.without_effect("name");
  fields.finish();
  return schedule;
}

}  // namespace det::nn
