#include "core/search/hyperparameters.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/search/exact.h"

namespace det::search {

namespace {

[[noreturn]] void refuse(const std::string &path, const std::string &problem) {
  throw Error(Code::invalid, "reading the configuration: " + path + ": " + problem);
}

const Json &required(const Json &section, const char *key, const std::string &path) {
  const auto found = section.find(key);
  if (found == section.end())
    refuse(path, "there is no " + std::string(key) + "; a hyperparameter of type " +
                     to_wire(section.at("type")) + " needs one");
  return *found;
}

double number(const Json &section, const char *key, const std::string &path) {
  const Json &value = required(section, key, path);
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    refuse(path + "." + key, "expected a number, got " + to_wire(value));
  return value.get<double>();
}

int64_t integer(const Json &section, const char *key, const std::string &path) {
  const double value = number(section, key, path);
  if (std::floor(value) != value || std::fabs(value) > largest_exact)
    refuse(path + "." + key, "expected a whole number, got " + to_wire(section.at(key)));
  return static_cast<int64_t>(value);
}

std::optional<uint64_t> point_count(const Json &section, const std::string &path) {
  if (section.value("count", Json()).is_null()) return std::nullopt;
  const int64_t count = integer(section, "count", path);
  if (count < 1) refuse(path + ".count", "is " + std::to_string(count) + "; give 1 or more");
  return static_cast<uint64_t>(count);
}

template <class Range>
Range with_bounds(Range range, const std::string &path) {
  if (!(range.minimum < range.maximum)) refuse(path, "minval must be less than maxval");
  return range;
}

DoubleRange double_range(const Json &section, const std::string &path) {
  return with_bounds(DoubleRange{number(section, "minval", path), number(section, "maxval", path),
                                 point_count(section, path)},
                     path);
}

HyperparameterGroup read_group(const Json &section, const std::string &path);

decltype(Hyperparameter::value) read_value(const Json &section, const std::string &path) {
  if (!section.is_object()) return ConstantValue{section};
  if (!section.contains("type")) return read_group(section, path);
  const Json &type = section.at("type");
  if (type == "const") return ConstantValue{required(section, "val", path)};
  if (type == "int")
    return with_bounds(IntegerRange{integer(section, "minval", path),
                                    integer(section, "maxval", path), point_count(section, path)},
                       path);
  if (type == "double") return double_range(section, path);
  if (type == "log") {
    const LogRange range{double_range(section, path), number(section, "base", path)};
    if (!(range.base > 0)) refuse(path + ".base", "must be more than 0");
    return range;
  }
  if (type == "categorical") {
    const Json &values = required(section, "vals", path);
    if (!values.is_array() || values.empty())
      refuse(path + ".vals", "expected a list with at least one value, got " + to_wire(values));
    return Categories{values.get<std::vector<Json>>()};
  }
  refuse(path + ".type",
         "is " + to_wire(type) + "; the types are const, int, double, log and categorical");
}

HyperparameterGroup read_group(const Json &section, const std::string &path) {
  HyperparameterGroup group;
  for (const auto &[name, child] : section.items())
    group.children.push_back({name, read_value(child, path + "." + name)});
  std::ranges::sort(group.children, {}, &Hyperparameter::name);
  return group;
}

struct Sampler {
  RandomState &random;

  Json operator()(const ConstantValue &constant) const { return constant.value; }
  Json operator()(const IntegerRange &range) const {
    const auto width = static_cast<uint64_t>(range.maximum - range.minimum);
    return range.minimum + static_cast<int64_t>(random.bounded(width));
  }
  Json operator()(const DoubleRange &range) const {
    return random.uniform(range.minimum, range.maximum);
  }
  Json operator()(const LogRange &range) const {
    return std::pow(range.base, random.uniform(range.exponent.minimum, range.exponent.maximum));
  }
  Json operator()(const Categories &categories) const {
    return categories.values[random.below(categories.values.size())];
  }
  Json operator()(const HyperparameterGroup &group) const { return sample(group, random); }
};

}  // namespace

HyperparameterGroup read_hyperparameters(const Json &section) {
  if (section.is_null()) return {};
  if (!section.is_object())
    refuse("hyperparameters", "expected an object like {\"lr\": 0.1}, got " + to_wire(section));
  return read_group(section, "hyperparameters");
}

Json sample(const HyperparameterGroup &space, RandomState &random) {
  Json values = Json::object();
  for (const Hyperparameter &child : space.children)
    values[child.name] = std::visit(Sampler{random}, child.value);
  return values;
}

}  // namespace det::search
