#include "core/tensorboard/value.h"

#include <bit>
#include <numeric>

#include "core/tensorboard/protobuf.h"

namespace det::tensorboard {

using namespace protobuf;

namespace {

// The numbers of fields.
namespace value {
enum : unsigned { image = 4, histogram = 5, tensor = 8, metadata = 9 };
}
namespace histogram {
enum : unsigned { min = 1, max, count, sum, sum_squares, limits, counts };
}
namespace image {
enum : unsigned { height = 1, width, channels, encoded };
}
namespace tensor {
enum : unsigned { type = 1, shape = 2, texts = 8 };
enum : uint64_t { type_float = 1, type_text = 7 };
enum : unsigned { dimension = 2, size = 1 };  // of the shape
}  // namespace tensor
namespace metadata {
enum : unsigned { plugin = 1, data_class = 4 };
enum : unsigned { plugin_name = 1, plugin_content = 2 };
enum : uint64_t { data_class_tensor = 2 };
}  // namespace metadata

void append_doubles(std::string &out, unsigned field, const std::vector<double> &numbers) {
  append_key(out, field, Wire::counted);
  append_varint(out, numbers.size() * sizeof(double));
  for (const double number : numbers) append_little_endian(out, std::bit_cast<uint64_t>(number));
}

std::string in_field(unsigned field, std::string_view bytes) {
  std::string message;
  message.reserve(bytes_size(bytes.size()));
  append_bytes(message, field, bytes);
  return message;
}

std::string of_plugin(std::string_view plugin, std::string_view data) {
  std::string about = in_field(metadata::plugin_name, plugin);
  if (!data.empty()) append_bytes(about, metadata::plugin_content, data);
  std::string result = in_field(metadata::plugin, about);
  append_whole(result, metadata::data_class, metadata::data_class_tensor);
  return result;
}

}  // namespace

std::string histogram_value(const Histogram &given) {
  std::string message;
  append_double(message, histogram::min, given.min);
  append_double(message, histogram::max, given.max);
  append_double(message, histogram::count,
                std::accumulate(given.counts.begin(), given.counts.end(), 0.0));
  append_double(message, histogram::sum, given.sum);
  append_double(message, histogram::sum_squares, given.sum_squares);
  append_doubles(message, histogram::limits, given.limits);
  append_doubles(message, histogram::counts, given.counts);
  return in_field(value::histogram, message);
}

std::string text_value(std::string_view text) {
  std::string message;
  append_whole(message, tensor::type, tensor::type_text);
  append_bytes(message, tensor::shape, "");  // of a single one
  append_bytes(message, tensor::texts, text);
  return in_field(value::tensor, message) + in_field(value::metadata, of_plugin("text", ""));
}

std::string image_value(const Image &given) {
  std::string message;
  append_whole(message, image::height, given.height);
  append_whole(message, image::width, given.width);
  append_whole(message, image::channels, given.channels);
  append_bytes(message, image::encoded, given.encoded);
  return in_field(value::image, message);
}

std::string plugin_value(std::string_view plugin, std::string_view data) {
  // TensorBoard keeps no metadata without a tensor: this one is empty.
  std::string none;
  append_whole(none, tensor::size, 0);
  std::string message;
  append_whole(message, tensor::type, tensor::type_float);
  append_bytes(message, tensor::shape, in_field(tensor::dimension, none));
  return in_field(value::tensor, message) + in_field(value::metadata, of_plugin(plugin, data));
}

}  // namespace det::tensorboard
