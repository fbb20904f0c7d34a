// Files that Keras wrote (tests/nn/fixtures/keras_files.py): read as what they are, or refused.
#include "wrappers/nn/files/keras_file.h"

#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <random>

#include "core/base/file.h"
#include "core/tensors/reader.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/nn/suite/small_model.h"
#include "tests/temporary_directory.h"
#include "wrappers/nn/files/array_file.h"
#include "wrappers/nn/files/model_files.h"

namespace det::test {
namespace {

namespace fs = std::filesystem;
using nn::Array;
using nn::Model;

const fs::path files = fs::path(TEST_DATA) / "nn/files";

void write(const fs::path &path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

#ifdef DET_HAS_HDF5

void check_predictions(Model &model) {
  const std::vector<nn::NamedArray> recorded{{"x", Array({{2, 3, 2}, nn::Dtype::f32})},
                                             {"result_0", Array({{2, 3, 2}, nn::Dtype::f32})},
                                             {"result_1", Array({{2, 3, 2}, nn::Dtype::f32})}};
  nn::read_array_file(files / "predicted.safetensors", recorded, "the test").copy_to(recorded);
  const auto results = model.predict_on_batch({recorded[0].array});
  assert_int_equal(results.size(), 2);
  for (size_t result = 0; result < 2; ++result)
    for (size_t i = 0; i < results[result].size(); ++i)
      assert_true(std::abs(results[result].data()[i] - recorded[1 + result].array.data()[i]) <
                  1e-5F);
}

void test_a_whole_model_comes_with_its_weights(void **) {
  for (const char *name : {"model.keras", "model.h5"}) {
    Model model(nn::read_keras_model(files / name), {1, "reference"});
    assert_string_equal(model.graph().name().c_str(), "small");
    nn::read_keras_weights(model, files / name);
    check_predictions(model);
  }
}

void test_weights_are_read_into_a_model(void **) {
  for (const char *name : {"all.weights.h5", "weights.h5", "model.keras", "model.h5"}) {
    Model model(nn::read_keras_model(files / "model.h5"), {1, "reference"});
    nn::load_weights(model, files / name);
    check_predictions(model);
  }
}

// As Keras has it: in the order of the layers.
void test_weights_are_read_into_layers_of_other_names(void **) {
  Json described = nn::read_keras_model(files / "model.h5");
  std::string text = to_wire(described);
  for (const char *name : {"\"both\"", "\"inner\"", "\"other/result\""})
    for (size_t at = 0; (at = text.find(name, at)) != text.npos; at += 2) text.insert(at + 1, "a_");
  for (const char *name : {"weights.h5", "all.weights.h5"}) {
    Model model(parse_json(text, "the changed model"), {1, "reference"});
    nn::load_weights(model, files / name);
    check_predictions(model);
  }
}

void test_files_of_another_model_are_refused(void **) {
  const auto dense = [](int units) {
    return sequential(Json::array(
        {layer("Dense", {{"units", units}, {"batch_input_shape", {nullptr, 4}}, {"name", "a"}})}));
  };
  Model model(dense(2), {1, "reference"});
  const std::vector<float> before(model.weights().trained().elements().begin(),
                                  model.weights().trained().elements().end());
  for (const char *name : {"weights.h5", "all.weights.h5", "model.keras"}) {
    const std::string message =
        expect_error(Code::invalid, [&] { nn::load_weights(model, files / name); });
    assert_true(contains(message, name));
  }
  assert_true(
      contains(expect_error(Code::invalid, [&] { nn::load_weights(model, files / "weights.h5"); }),
               "weights of 3 layers, and the model has 1 layers"));
  assert_true(std::ranges::equal(before, model.weights().trained().elements()));
  // Of other units.
  std::string text = to_wire(nn::read_keras_model(files / "model.h5"));
  const size_t at = text.find("\"units\":4");
  text[at + 8] = '5';
  Model wider(parse_json(text, "the changed model"), {1, "reference"});
  for (const char *name : {"weights.h5", "all.weights.h5"})
    assert_true(
        contains(expect_error(Code::invalid, [&] { nn::load_weights(wider, files / name); }),
                 "is (4, 4), and (4, 5) is needed for 'inner/dense/kernel'"));
}

void test_weights_alone_are_no_model(void **) {
  for (const char *name : {"weights.h5", "all.weights.h5"})
    assert_true(contains(expect_error(Code::invalid, [&] { nn::read_keras_model(files / name); }),
                         "it has weights alone"));
  expect_error(Code::not_found, [&] { nn::read_keras_model(files / "none.h5"); });
}

void test_what_is_no_file_of_keras_is_refused(void **) {
  const TemporaryDirectory directory;
  write(directory / "text.h5", "no HDF5");
  assert_int_equal(mkfifo((directory / "fifo.h5").c_str(), 0600), 0);
  for (const fs::path &path : {directory.path(), directory / "text.h5", directory / "fifo.h5"})
    assert_true(contains(expect_error(Code::corrupt, [&] { nn::read_keras_model(path); }),
                         "neither an HDF5 file nor a zip archive"));
}

// Cut anywhere, or with other bytes.
void test_damaged_files_are_refused(void **) {
  const TemporaryDirectory directory;
  std::mt19937 random(1);
  for (const char *name : {"model.keras", "model.h5", "all.weights.h5"}) {
    const std::string whole = read_file(files / name);
    Model model(nn::read_keras_model(files / "model.h5"), {1, "reference"});
    for (unsigned turn = 0; turn < 200; ++turn) {
      std::string bytes = whole;
      if (turn % 4 == 0) bytes.resize(random() % bytes.size());
      else
        for (unsigned i = 0; i < 1 + turn % 3; ++i)
          bytes[random() % (turn % 2 == 0 ? bytes.size() : 4096)] =
              static_cast<char>(random() % 256);
      write(directory / "file", bytes);
      try {
        nn::load_weights(model, directory / "file");
        nn::read_keras_model(directory / "file");
      } catch (const Error &refusal) {
        assert_true(refusal.code == Code::corrupt || refusal.code == Code::invalid ||
                    refusal.code == Code::unsupported);
      }
    }
  }
}

#else

void test_files_of_keras_are_refused_by_their_kind(void **) {
  const TemporaryDirectory directory;
  Model model(small_model(), {1, "reference"});
  for (const std::string first : {"\x89HDF\r\n\x1a\n", "PK\x03\x04"}) {
    write(directory / "weights", first + std::string(100, 'x'));
    const std::string message =
        expect_error(Code::unsupported, [&] { nn::load_weights(model, directory / "weights"); });
    assert_true(contains(message, "built without libhdf5 and libzip"));
  }
}

#endif

}  // namespace
}  // namespace det::test

int test_keras_files() {
  using namespace det::test;
  const CMUnitTest tests[] = {
#ifdef DET_HAS_HDF5
      cmocka_unit_test(test_a_whole_model_comes_with_its_weights),
      cmocka_unit_test(test_weights_are_read_into_a_model),
      cmocka_unit_test(test_weights_are_read_into_layers_of_other_names),
      cmocka_unit_test(test_files_of_another_model_are_refused),
      cmocka_unit_test(test_weights_alone_are_no_model),
      cmocka_unit_test(test_what_is_no_file_of_keras_is_refused),
      cmocka_unit_test(test_damaged_files_are_refused),
#else
      cmocka_unit_test(test_files_of_keras_are_refused_by_their_kind),
#endif
  };
  return cmocka_run_group_tests_name("keras_files", tests, nullptr, nullptr);
}
