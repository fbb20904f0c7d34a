// Takes the JSON of a header apart while it is read: no document of it is made, which would be many
// times as large, and nothing else than what the format has is let through.
#pragma once

#include <functional>
#include <string>
#include <unordered_set>

#include "core/base/json.h"
#include "core/tensors/header.h"

namespace det::tensors {

// What the JSON library calls.
class HeaderParser {
 public:
  // `refuse` must throw.
  using Refuse = std::function<void(const std::string &problem)>;
  HeaderParser(Header &header, Refuse refuse) : header_(header), refuse_(std::move(refuse)) {}

  bool start_object(size_t);
  bool key(std::string &name);
  bool end_object();
  bool start_array(size_t);
  bool end_array();
  bool string(std::string &value);
  bool number_unsigned(uint64_t value);
  bool null() { return refuse("null"); }
  bool boolean(bool) { return refuse("true or false"); }
  bool number_integer(int64_t) { return refuse("a negative number"); }
  bool number_float(double, const std::string &) { return refuse("a fraction"); }
  bool binary(Json::binary_t &) { return refuse("binary data"); }
  bool parse_error(size_t, const std::string &, const Json::exception &e);

 private:
  enum class Place { outside, top, metadata, tensor };
  enum class Field { none, dtype, shape, offsets };

  bool refuse(const std::string &found) const;
  bool tensor_key(const std::string &name);

  Header &header_;
  const Refuse refuse_;
  Place place_ = Place::outside;
  Field field_ = Field::none;
  bool in_array_ = false;
  std::string name_;  // the last key on top
  std::string metadata_name_;
  std::unordered_set<std::string> names_;
  unsigned fields_ = 0;  // those that the tensor has, a bit for each
  Shape offsets_;
};

}  // namespace det::tensors
