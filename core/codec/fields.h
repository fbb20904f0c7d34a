// The fields of a message, listed once for both directions:
//
//   void fields(Fields &f) { f("runId", run_id); f("checkpointStorage", storage); }
//
// fills JSON from the members where a message is written, and the members from JSON where one is
// read. Unknown fields are ignored; a name is understood in camelCase and in snake_case; an
// optional that is empty is left out, and null counts as left out. A wrong type or a missing field
// throws, naming the message and the field: Code::invalid in a request, Code::corrupt in an answer.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/codec/route.h"

namespace det::codec {

struct Time {
  int64_t us = 0;  // since 1970 in UTC
  bool operator==(const Time &) const = default;
};

using Sizes = std::map<std::string, uint64_t>;  // relative path → bytes

// What the fields of one message share.
struct WireMessage {
  std::string what;  // "starting the run: the answer"
  bool is_read = false;
  bool is_answer = false;
  WireVersion version = WireVersion::v0_38;
  bool is_old_form = false;  // goes to the route's old path
  bool is_bare = false;      // the body is one value or list, no object
  Parameters path = {};
  Parameters query = {};
};

class Fields {
 public:
  Fields(WireMessage &message, Json &body) : message_(message), body_(body) {}

  const WireMessage &message() const { return message_; }

  template <class T>
  void operator()(const char *name, T &value) {
    if (!message_.is_read) return convert(add(name), name, value);
    Json *found = find(name);
    if (found == nullptr) refuse(name, "is missing");
    convert(*found, name, value);
  }
  template <class T>
  void operator()(const char *name, std::optional<T> &value) {
    Json *found = message_.is_read ? find(name) : nullptr;
    if (found != nullptr) value.emplace();
    if (value) convert(found != nullptr ? *found : add(name), name, *value);
  }
  // Always written; where it is missing, the member keeps its value.
  template <class T>
  void or_default(const char *name, T &value) {
    if (!message_.is_read || find(name) != nullptr) (*this)(name, value);
  }
  // Left out where it is empty.
  template <class T>
  void unless_empty(const char *name, T &value) {
    if (message_.is_read ? find(name) != nullptr : !value.empty()) (*this)(name, value);
  }
  // JSON that must be an object.
  void object(const char *name, Json &value);
  void object(const char *name, std::optional<Json> &value);
  // Written since masters may want it, and never read: the path says the same and decides.
  template <class T>
  void repeat(const char *name, T &value) {
    if (!message_.is_read) (*this)(name, value);
  }
  // An object whose fields `list` lists.
  template <class List>
  void nested(const char *name, List list) {
    Json *object = message_.is_read ? find(name) : &add(name);
    if (object == nullptr) refuse(name, "is missing");
    Fields inner(message_, *object, this, name);
    list(inner);
  }
  template <class T>
  void in_path(const char *name, T &value) {
    parameter(message_.path, name, value);
  }
  template <class T>
  void in_query(const char *name, T &value) {
    if (!message_.is_read || message_.query.contains(name)) parameter(message_.query, name, value);
  }
  template <class T>
  void in_query(const char *name, std::optional<T> &value) {
    if (message_.is_read && message_.query.contains(name)) value.emplace();
    if (value) parameter(message_.query, name, *value);
  }
  // The body itself is the value.
  template <class T>
  void whole(const char *name, T &value) {
    message_.is_bare = true;
    convert(body_, name, value);
  }

  // Throws; `problem` follows the name of the field: "is missing".
  [[noreturn]] void refuse(const std::string &name, const std::string &problem) const;
  void expect_object() const;

 private:
  // Of an object inside of it: made where it is written.
  Fields(WireMessage &message, Json &body, const Fields *parent, std::string name);

  Json *find(const char *name);
  Json &add(const char *name);
  std::string written(const char *name) const;
  std::string full_name(const std::string &name) const;

  using Name = const std::string &;
  void convert(Json &json, Name name, bool &value);
  void convert(Json &json, Name name, int64_t &value);
  void convert(Json &json, Name name, uint64_t &value);
  void convert(Json &json, Name name, double &value);
  void convert(Json &json, Name name, std::string &value);
  void convert(Json &json, Name name, Time &value);
  void convert(Json &json, Name name, Sizes &value);
  void convert(Json &json, Name name, Json &value);  // any
  void convert_enum(Json &json, Name name, size_t &value, std::span<const char *const> names);

  template <class T>
  requires std::is_enum_v<T>
  void convert(Json &json, Name name, T &value) {
    auto index = static_cast<size_t>(value);
    convert_enum(json, name, index, wire_names(value));
    value = static_cast<T>(index);
  }
  template <class T>
  requires requires(T t, Fields f) { t.fields(f); }
  void convert(Json &json, Name name, T &value) {
    Fields inner(message_, json, this, name);
    inner.expect_object();
    value.fields(inner);
  }
  template <class T>
  void convert(Json &json, Name name, std::vector<T> &values) {
    values.resize(list_size(json, name, values.size()));
    for (size_t i = 0; i < values.size(); ++i)
      convert(element(json, i), name + "[" + std::to_string(i) + "]", values[i]);
  }
  // Of a list, which is made with `size` elements where it is written.
  size_t list_size(Json &json, Name name, size_t size);
  static Json &element(Json &list, size_t index);
  template <class T>
  void parameter(Parameters &parameters, const char *name, T &value) {
    convert_parameter(parameters, name, std::is_same_v<T, bool>,
                      [&](Json &json) { convert(json, name, value); });
  }
  void convert_parameter(Parameters &parameters, const char *name, bool is_bool,
                         const std::function<void(Json &)> &convert_value);

  WireMessage &message_;
  Json &body_;
  const Fields *parent_ = nullptr;
  std::string name_;
};

}  // namespace det::codec
