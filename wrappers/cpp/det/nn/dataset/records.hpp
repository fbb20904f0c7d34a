// Converts elements of a dataset to bytes of one size.
#pragma once

#include <det/nlohmann_json.hpp>
#include <det/nn/batch.hpp>

namespace det {
inline namespace v1 {
namespace nn {
namespace detail {

// The form of a single record in memory: types and shapes of its arrays, one after the other.
class RecordLayout {
 public:
  explicit RecordLayout(const Batch &record) {
    layout_["names"] = record.input_names;
    for (const auto &[part, arrays] :
         {std::pair("inputs", &record.inputs), std::pair("truths", &record.truths),
          std::pair("weights", &record.sample_weights)}) {
      layout_[part] = nlohmann::json::array();
      for (const Array &array : *arrays)
        layout_[part].push_back(
            {{"dtype", static_cast<int>(array.dtype())}, {"shape", array.shape()}});
    }
  }
  // `text` is the result of text().
  explicit RecordLayout(const std::string &text) : layout_(nlohmann::json::parse(text)) {}

  [[nodiscard]] std::string text() const { return layout_.dump(); }
  [[nodiscard]] bool operator==(const RecordLayout &other) const {
    return layout_ == other.layout_;
  }

  [[nodiscard]] static std::string bytes_of(const Batch &record) {
    std::string bytes;
    for (const auto *arrays : {&record.inputs, &record.truths, &record.sample_weights})
      for (const Array &array : *arrays)
        bytes.append(static_cast<const char *>(array.capi().data), array.bytes());
    return bytes;
  }
  [[nodiscard]] Batch record_of(const std::string &bytes) const {
    Batch record;
    record.input_names = layout_.at("names").get<std::vector<std::string>>();
    size_t at = 0;
    for (const auto &[part, arrays] :
         {std::pair("inputs", &record.inputs), std::pair("truths", &record.truths),
          std::pair("weights", &record.sample_weights)})
      for (const nlohmann::json &one : layout_.at(part)) {
        Array array = Array::unset(static_cast<Dtype>(one.at("dtype").get<int>()),
                                   one.at("shape").get<Shape>());
        if (array.bytes() > bytes.size() - at)
          throw std::runtime_error("reading a cached dataset: a record is too short");
        std::memcpy(array.capi().data, bytes.data() + at, array.bytes());
        at += array.bytes();
        arrays->push_back(std::move(array));
      }
    return record;
  }

 private:
  nlohmann::json layout_;
};

}  // namespace detail
}  // namespace nn
}  // namespace v1
}  // namespace det
