// The configuration of a layer, loss, optimizer or the like, as Keras writes it: read field by
// field, and kept whole, so that what is written is what was read with all defaults filled in.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "wrappers/nn/arrays/array_shape.h"

namespace det::nn {

class Fields {
 public:
  // `where` names whose configuration it is, in errors: "the layer 'dense_1' (Dense)". `config`
  // outlives this.
  Fields(const Json &config, std::string where);
  ~Fields();
  Fields(const Fields &) = delete;
  Fields &operator=(const Fields &) = delete;

  // Each throws Code::invalid for a value of another kind, and where there is neither a value nor
  // a default.
  int64_t integer(const char *key, std::optional<int64_t> usual = {});
  // 1 and more.
  int64_t positive_integer(const char *key, std::optional<int64_t> usual = {});
  double number(const char *key, std::optional<double> usual = {});
  bool flag(const char *key, std::optional<bool> usual = {});
  std::string text(const char *key, std::optional<std::string> usual = {});
  // One for each of `count` dimensions; a single number is meant for all of them.
  Shape integers(const char *key, size_t count, std::optional<Shape> usual = {});
  std::vector<double> numbers(const char *key);
  // Also NaN and infinite ones, for who refuses them in better words.
  std::vector<double> any_numbers(const char *key);
  // A number, or none where there is null or nothing.
  std::optional<double> number_or_none(const char *key);
  // null is `unknown`.
  Shape shape(const char *key);
  // With a value that is not null.
  bool has(const char *key) const;
  // With any value.
  bool is_given(const char *key) const { return find(key) != nullptr; }
  // Any value, to be read by others; null where there is none.
  const Json &any(const char *key, const Json &usual);
  const Json &any(const char *key);

  // A field of Keras that has no other value here. Throws Code::unsupported.
  void only(const char *key, const Json &value);
  void only_null(const char *key);
  // Taken as it is, and of no effect.
  void without_effect(const char *key);

  // Call it when all is read: throws Code::invalid for a field that nobody asked for.
  void finish() const;
  const Json &complete() const;
  const std::string &where() const { return where_; }

 private:
  const Json *find(const char *key) const;
  const Json &keep(const char *key, const Json &value);
  [[noreturn]] void refuse(const char *key, const char *wanted, const Json &value) const;
  [[noreturn]] void refuse_missing(const char *key) const;

  struct Kept;
  const Json &config_;
  const std::string where_;
  const std::unique_ptr<Kept> kept_;
};

}  // namespace det::nn
