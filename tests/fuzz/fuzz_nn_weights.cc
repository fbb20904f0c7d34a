// Any bytes in place of a file of weights: read, or refused as damaged or another model's.
#include <cstdlib>
#include <fstream>

#include "core/base/error.h"
#include "core/base/json.h"
#include "tests/temporary_directory.h"
#include "wrappers/nn/files/model_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace det;
  static const TemporaryDirectory directory;
  static nn::Model model = [] {
    const Json dense = {{"units", 2}, {"batch_input_shape", {nullptr, 1}}};
    const Json layers = {{{"class_name", "Dense"}, {"config", dense}}};
    return nn::Model({{"class_name", "Sequential"}, {"config", {{"layers", layers}}}},
                     {1, "reference"});
  }();
  std::ofstream(directory / "weights", std::ios::binary)
      .write(reinterpret_cast<const char *>(data), static_cast<std::streamsize>(size));
  try {
    nn::load_weights(model, directory / "weights");
  } catch (const Error &e) {
    if (e.code != Code::corrupt && e.code != Code::invalid) std::abort();
  }
  return 0;
}
