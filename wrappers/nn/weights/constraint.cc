#include "wrappers/nn/weights/constraint.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "wrappers/nn/configuration/named_config.h"
#include "wrappers/nn/layers/last_axes.h"

namespace det::nn {

namespace {

constexpr float epsilon = 1e-7F;  // Keras'

class NonNegative : public Constraint {
 public:
  void apply(const Array &values) const override {
    for (float &value : values.elements())
      if (value < 0) value = 0;
  }
};

// Each norm is brought towards one between two ends; or every norm to 1.
class Norm : public Constraint {
 public:
  struct Ends {
    double smallest, largest, rate;
  };
  Norm(Shape axes, std::optional<Ends> ends) : axes_(std::move(axes)), ends_(ends) {}

  void apply(const Array &values) const override {
    const Shape &shape = values.shape();
    std::vector<bool> is_joined(shape.size(), axes_.empty());
    for (const int64_t axis : axes_)
      is_joined[axis_of(shape, axis, "constraining a weight")] = true;
    // Which norm an element belongs to.
    std::vector<size_t> strides(shape.size(), 0);
    size_t norms = 1;
    for (size_t axis = shape.size(); axis-- > 0;)
      if (!is_joined[axis]) {
        strides[axis] = norms;
        norms *= static_cast<size_t>(shape[axis]);
      }
    const auto norm_of = [&](size_t element) {
      size_t norm = 0;
      for (size_t axis = shape.size(); axis-- > 0;) {
        const auto size = static_cast<size_t>(shape[axis]);
        norm += element % size * strides[axis];
        element /= size;
      }
      return norm;
    };
    const auto elements = values.elements();
    std::vector<float> factors(norms);
    for (size_t i = 0; i < elements.size(); ++i) factors[norm_of(i)] += elements[i] * elements[i];
    for (float &factor : factors) factor = factor_for(std::sqrt(factor));
    for (size_t i = 0; i < elements.size(); ++i) elements[i] *= factors[norm_of(i)];
  }

 private:
  float factor_for(float norm) const {
    if (!ends_) return 1 / (epsilon + norm);
    const auto smallest = static_cast<float>(ends_->smallest);
    const auto largest = static_cast<float>(ends_->largest);
    const auto rate = static_cast<float>(ends_->rate);
    const float wanted = std::min(std::max(norm, smallest), largest);
    return (rate * wanted + (1 - rate) * norm) / (epsilon + norm);
  }

  const Shape axes_;  // none: all
  const std::optional<Ends> ends_;
};

std::shared_ptr<const Constraint> read_constraint(const std::string &kind, Fields &fields) {
  if (kind == "nonneg") return std::make_shared<NonNegative>();
  const Shape axes = axes_field(fields, 0);
  if (kind == "unitnorm") return std::make_shared<Norm>(axes, std::nullopt);
  Norm::Ends ends{0, 1, 1};
  if (kind == "maxnorm") {
    ends.largest = fields.number("max_value", 2);
  } else {
    ends = {fields.number("min_value", 0), fields.number("max_value", 1), fields.number("rate", 1)};
  }
  return std::make_shared<Norm>(axes, ends);
}

}  // namespace

std::shared_ptr<const Constraint> make_constraint(const Json &config, const std::string &where) {
  if (config.is_null()) return nullptr;
  const NamedConfig named = named_config(config, "the constraint of " + where);
  const std::string kind = folded_name(named.name);
  const std::vector<std::string> known{"max_norm", "min_max_norm", "non_neg", "unit_norm"};
  if (std::none_of(known.begin(), known.end(),
                   [&](const std::string &one) { return folded_name(one) == kind; }))
    throw Error(Code::unsupported, "reading " + where + ": the constraint '" + named.name +
                                       "' is not supported" + suggestion(named.name, known));
  Fields fields(named.config, "the constraint " + named.name + " of " + where);
  auto made = read_constraint(kind, fields);
  fields.finish();
  return made;
}

}  // namespace det::nn
