#include "core/tensors/header_parser.h"

#include <cstring>

#include "core/tensors/tensor.h"

namespace det::tensors {

namespace {
constexpr unsigned all_fields = 0b1110;  // of Field
}

bool HeaderParser::refuse(const std::string &found) const {
  refuse_(name_.empty() ? found + " in its header" : found + " at " + quoted_name(name_));
  return false;
}

bool HeaderParser::start_object(size_t) {
  if (place_ == Place::outside) {
    place_ = Place::top;
  } else if (place_ == Place::top && name_ == metadata_key) {
    place_ = Place::metadata;
  } else if (place_ == Place::top) {
    place_ = Place::tensor;
    header_.tensors.push_back({name_, Dtype::u8, {}});
    fields_ = 0;
  } else {
    return refuse("an object too many");
  }
  return true;
}

bool HeaderParser::key(std::string &name) {
  if (place_ == Place::tensor) return tensor_key(name);
  if (place_ == Place::metadata) {
    if (header_.metadata.contains(name)) return refuse("the key " + quoted_name(name) + " twice");
    metadata_name_ = std::move(name);
    return true;
  }
  name_ = std::move(name);
  if (!names_.insert(name_).second) {
    refuse_("tensor " + quoted_name(name_) + " is there twice");
    return false;
  }
  return true;
}

bool HeaderParser::tensor_key(const std::string &name) {
  field_ = name == "dtype"          ? Field::dtype
           : name == "shape"        ? Field::shape
           : name == "data_offsets" ? Field::offsets
                                    : Field::none;
  const unsigned bit = 1U << static_cast<unsigned>(field_);
  if (field_ == Field::none) return refuse("the unknown field " + quoted_name(name));
  if ((fields_ & bit) != 0) return refuse("the field " + quoted_name(name) + " twice");
  fields_ |= bit;
  return true;
}

bool HeaderParser::end_object() {
  if (place_ == Place::tensor && fields_ != all_fields)
    return refuse("no dtype, shape or data_offsets");
  field_ = Field::none;
  place_ = place_ == Place::top ? Place::outside : Place::top;
  return true;
}

bool HeaderParser::start_array(size_t) {
  if (in_array_ || (field_ != Field::shape && field_ != Field::offsets))
    return refuse("an array too many");
  in_array_ = true;
  offsets_.clear();
  return true;
}

bool HeaderParser::end_array() {
  in_array_ = false;
  if (field_ == Field::offsets) {
    if (offsets_.size() != 2) return refuse("data_offsets that are not two");
    header_.tensors.back().begin = offsets_[0];
    header_.tensors.back().end = offsets_[1];
  }
  return true;
}

bool HeaderParser::string(std::string &value) {
  if (place_ == Place::metadata) {
    header_.metadata.emplace(metadata_name_, std::move(value));
    return true;
  }
  if (field_ != Field::dtype) return refuse("a text");
  const std::optional<Dtype> dtype = dtype_named(value);
  if (!dtype) return refuse("the unknown dtype " + quoted_name(value));
  header_.tensors.back().dtype = *dtype;
  return true;
}

bool HeaderParser::number_unsigned(uint64_t value) {
  if (!in_array_) return refuse("a number");
  Shape &numbers = field_ == Field::shape ? header_.tensors.back().shape : offsets_;
  if (numbers.size() == most_dimensions) return refuse("too many dimensions");
  numbers.push_back(value);
  return true;
}

bool HeaderParser::parse_error(size_t, const std::string &, const Json::exception &e) {
  const char *detail = std::strstr(e.what(), "] ");
  refuse_(std::string("its header is not valid JSON: ") +
          (detail != nullptr ? detail + 2 : e.what()));
  return false;
}

}  // namespace det::tensors
