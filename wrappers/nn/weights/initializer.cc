#include "wrappers/nn/weights/initializer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/configuration/keras_fields.h"
#include "wrappers/nn/configuration/named_config.h"

namespace det::nn {

namespace {

double product(const std::vector<double> &a, const std::vector<double> &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void take_off(std::vector<double> &from, const std::vector<double> &direction) {
  const double along = product(from, direction);
  for (size_t i = 0; i < from.size(); ++i) from[i] -= along * direction[i];
}

// A matrix, of all but the last axis by the last, whose shorter side are vectors at right angles,
// `gain` long: it keeps the length of what it is multiplied with, as recurrent layers want it.
class Orthogonal : public Initializer {
 public:
  explicit Orthogonal(double gain) : gain_(gain) {}
  // Throws Code::invalid for a vector.
  // Gram and Schmidt, twice: once leaves a rest where vectors were nearly parallel.
  void fill(std::span<float> values, const Shape &shape, RandomStream &random) const override {
    if (shape.size() < 2)
      throw Error(Code::invalid, "filling a weight of " + text_of(shape) +
                                     ": only matrices are orthogonal; use another initializer");
    const auto columns = static_cast<size_t>(shape.back());
    const size_t rows = columns == 0 ? 0 : values.size() / columns;
    const bool is_tall = rows >= columns;
    check_memory(values.size() * sizeof(double), "making an orthogonal matrix");
    std::vector<std::vector<double>> vectors;
    while (vectors.size() < (is_tall ? columns : rows)) {
      std::vector<double> next(is_tall ? rows : columns);
      for (double &number : next) number = random.normal();
      const double before = std::sqrt(product(next, next));
      for (int round = 0; round < 2; ++round)
        for (const std::vector<double> &other : vectors) take_off(next, other);
      const double length = std::sqrt(product(next, next));
      if (length <= 1e-6 * before) continue;  // nothing of it was new
      for (double &number : next) number /= length;
      vectors.push_back(std::move(next));
    }
    for (size_t i = 0; i < vectors.size(); ++i)
      for (size_t j = 0; j < vectors[i].size(); ++j)
        values[is_tall ? j * columns + i : i * columns + j] =
            static_cast<float>(gain_ * vectors[i][j]);
  }

 private:
  const double gain_;
};

// The deviation of a normal distribution that is drawn again beyond two of its deviations.
constexpr double truncated_deviation = 0.87962566103423978;

void fill_uniformly(std::span<float> values, double low, double high, RandomStream &random) {
  for (float &value : values)
    value = random.uniform(static_cast<float>(low), static_cast<float>(high));
}

void fill_normally(std::span<float> values, double mean, double deviation, RandomStream &random) {
  for (float &value : values) value = static_cast<float>(mean + deviation * random.normal());
}

void fill_truncated(std::span<float> values, double mean, double deviation, RandomStream &random) {
  for (float &value : values) {
    double drawn = random.normal();
    while (std::fabs(drawn) > 2) drawn = random.normal();
    value = static_cast<float>(mean + deviation * drawn);
  }
}

class Constant : public Initializer {
 public:
  explicit Constant(double value) : value_(static_cast<float>(value)) {}
  void fill(std::span<float> values, const Shape &, RandomStream &) const override {
    std::fill(values.begin(), values.end(), value_);
  }

 private:
  const float value_;
};

class Identity : public Initializer {
 public:
  explicit Identity(double gain) : gain_(static_cast<float>(gain)) {}
  void fill(std::span<float> values, const Shape &shape, RandomStream &) const override {
    if (shape.size() != 2)
      throw Error(Code::invalid, "filling a weight of " + text_of(shape) +
                                     ": an identity is a matrix; use another initializer");
    const auto columns = static_cast<size_t>(shape[1]);
    std::fill(values.begin(), values.end(), 0.0F);
    for (size_t i = 0; i < columns && i < static_cast<size_t>(shape[0]); ++i)
      values[i * columns + i] = gain_;
  }

 private:
  const float gain_;
};

class RandomUniform : public Initializer {
 public:
  RandomUniform(double low, double high) : low_(low), high_(high) {}
  void fill(std::span<float> values, const Shape &, RandomStream &random) const override {
    fill_uniformly(values, low_, high_, random);
  }

 private:
  const double low_, high_;
};

class RandomNormal : public Initializer {
 public:
  RandomNormal(double mean, double deviation, bool is_truncated)
      : mean_(mean), deviation_(deviation), is_truncated_(is_truncated) {}
  void fill(std::span<float> values, const Shape &, RandomStream &random) const override {
    if (is_truncated_) fill_truncated(values, mean_, deviation_, random);
    else fill_normally(values, mean_, deviation_, random);
  }

 private:
  const double mean_, deviation_;
  const bool is_truncated_;
};

// How many elements each result comes from, and each input goes to.
struct Fans {
  double in = 1;
  double out = 1;
};

Fans fans_of(const Shape &shape) {
  if (shape.empty()) return {};
  if (shape.size() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double window = 1;
  for (size_t i = 0; i + 2 < shape.size(); ++i) window *= static_cast<double>(shape[i]);
  return {window * static_cast<double>(shape[shape.size() - 2]),
          window * static_cast<double>(shape.back())};
}

enum class Fan { in, out, average };
enum class Distribution { truncated_normal, normal, uniform };

// Glorot's, He's and LeCun's are kinds of it.
class VarianceScaling : public Initializer {
 public:
  VarianceScaling(double scale, Fan fan, Distribution distribution)
      : scale_(scale), fan_(fan), distribution_(distribution) {}

  void fill(std::span<float> values, const Shape &shape, RandomStream &random) const override {
    const Fans fans = fans_of(shape);
    const double of = fan_ == Fan::in    ? fans.in
                      : fan_ == Fan::out ? fans.out
                                         : (fans.in + fans.out) / 2;
    const double variance = scale_ / std::max(of, 1.0);
    const double deviation = std::sqrt(variance);
    if (distribution_ == Distribution::uniform)
      fill_uniformly(values, -std::sqrt(3 * variance), std::sqrt(3 * variance), random);
    else if (distribution_ == Distribution::normal) fill_normally(values, 0, deviation, random);
    else fill_truncated(values, 0, deviation / truncated_deviation, random);
  }

 private:
  const double scale_;
  const Fan fan_;
  const Distribution distribution_;
};

using Made = std::shared_ptr<const Initializer>;

template <class Choice>
Choice choice(Fields &fields, const char *key, const char *usual,
              const std::map<std::string, Choice> &choices) {
  const std::string name = fields.text(key, usual);
  const auto known = choices.find(name);
  if (known == choices.end())
    throw Error(Code::invalid, "reading " + fields.where() + ": there is no '" + key +
                                   "' called '" + name + "'" + suggestion(name, keys_of(choices)));
  return known->second;
}

Made make_variance_scaling(Fields &fields) {
  const double scale = fields.number("scale", 1);
  if (!(scale > 0))
    throw Error(Code::invalid, "reading " + fields.where() + ": 'scale' must be above 0");
  const Fan fan =
      choice<Fan>(fields, "mode", "fan_in",
                  {{"fan_in", Fan::in}, {"fan_out", Fan::out}, {"fan_avg", Fan::average}});
  const auto distribution =
      choice<Distribution>(fields, "distribution", "truncated_normal",
                           {{"normal", Distribution::truncated_normal},
                            {"truncated_normal", Distribution::truncated_normal},
                            {"uniform", Distribution::uniform},
                            {"untruncated_normal", Distribution::normal}});
  return std::make_shared<VarianceScaling>(scale, fan, distribution);
}

template <int scale, Fan fan, Distribution distribution>
Made make_scaled(Fields &) {
  return std::make_shared<VarianceScaling>(scale, fan, distribution);
}

template <bool is_truncated>
Made make_normal(Fields &fields) {
  return std::make_shared<RandomNormal>(fields.number("mean", 0), fields.number("stddev", 0.05),
                                        is_truncated);
}

const std::map<std::string, Made (*)(Fields &)> &initializers() {
  using enum Distribution;
  static const std::map<std::string, Made (*)(Fields &)> all{
      {"constant",
       [](Fields &fields) -> Made {
         return std::make_shared<Constant>(fields.number("value", 0));
       }},
      {"glorotnormal", make_scaled<1, Fan::average, truncated_normal>},
      {"glorotuniform", make_scaled<1, Fan::average, uniform>},
      {"henormal", make_scaled<2, Fan::in, truncated_normal>},
      {"heuniform", make_scaled<2, Fan::in, uniform>},
      {"identity",
       [](Fields &fields) -> Made { return std::make_shared<Identity>(fields.number("gain", 1)); }},
      {"lecunnormal", make_scaled<1, Fan::in, truncated_normal>},
      {"lecununiform", make_scaled<1, Fan::in, uniform>},
      {"ones", [](Fields &) -> Made { return std::make_shared<Constant>(1); }},
      {"orthogonal",
       [](Fields &fields) -> Made {
         return std::make_shared<Orthogonal>(fields.number("gain", 1));
       }},
      {"randomnormal", make_normal<false>},
      {"randomuniform",
       [](Fields &fields) -> Made {
         const double low = fields.number("minval", -0.05);
         return std::make_shared<RandomUniform>(low, fields.number("maxval", 0.05));
       }},
      {"truncatednormal", make_normal<true>},
      {"variancescaling", make_variance_scaling},
      {"zeros", [](Fields &) -> Made { return std::make_shared<Constant>(0); }},
  };
  return all;
}

}  // namespace

std::shared_ptr<const Initializer> make_initializer(const Json &config, const std::string &where) {
  const NamedConfig named = named_config(config, "an initializer of " + where);
  const auto known = initializers().find(folded_name(named.name));
  if (known == initializers().end())
    throw Error(
        Code::invalid,
        "reading " + where + ": there is no initializer '" + named.name + "'" +
            suggestion(named.name, {"constant", "glorot_normal", "glorot_uniform", "he_normal",
                                    "he_uniform", "identity", "lecun_normal", "lecun_uniform",
                                    "ones", "orthogonal", "random_normal", "random_uniform",
                                    "truncated_normal", "variance_scaling", "zeros"}));
  Fields fields(named.config, "the initializer " + named.name + " of " + where);
  Made made = known->second(fields);
  // The model's seed and the weight's place say what is drawn.
  for (const char *key : {"seed", "dtype"}) fields.without_effect(key);
  fields.finish();
  return made;
}

}  // namespace det::nn
