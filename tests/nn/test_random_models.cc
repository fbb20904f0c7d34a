// Models that are drawn by chance: what the engine accepts it writes, and reads again as the same.
#include <random>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/temporary_directory.h"
#include "wrappers/nn/files/model_files.h"
#include "wrappers/nn/model/model.h"

namespace det::test {
namespace {

// Draws models of small sizes, whose fields have usual values, and sometimes odd ones.
class Draws {
 public:
  explicit Draws(uint64_t seed) : random_(seed) {}

  Json model() { return one_of<bool>({false, false, true}) ? functional() : sequential(true); }

 private:
  template <class T>
  T one_of(std::vector<T> values) {
    return values[random_() % values.size()];
  }
  bool happens(unsigned percent) { return random_() % 100 < percent; }

  Json number(std::vector<Json> usual) {
    static const std::vector<Json> odd{0,    -1,   1e-30, 1e38, 1e300,   -0.0,
                                       1e22, true, 0.1,   5000, nullptr, INT64_MAX};
    const double end = std::numeric_limits<double>::infinity();
    if (happens(2)) return one_of<Json>({end, -end, std::nan("")});
    return happens(8) ? one_of(odd) : one_of(std::move(usual));
  }
  Json name() {
    static const std::vector<Json> odd{
        "",      "a/b", "x",  "input_1", "dense",       "\u00fcber \"x\"",
        nullptr, 3,     "\n", "kernel",  "__metadata__"};
    return happens(10) ? one_of(odd) : Json("layer_" + std::to_string(random_() % 1000));
  }
  Json initializer() {
    return one_of<Json>({"zeros",
                         "ones",
                         "glorot_uniform",
                         "orthogonal",
                         nullptr,
                         "identity",
                         {{"class_name", "RandomNormal"}, {"config", {{"stddev", number({0.1})}}}},
                         {{"class_name", "Constant"}, {"config", {{"value", number({0.1})}}}},
                         {{"class_name", "VarianceScaling"},
                          {"config", {{"scale", number({2.0})}, {"mode", "fan_out"}}}}});
  }
  Json regularizer() {
    return one_of<Json>({nullptr,
                         nullptr,
                         "l2",
                         "l1_l2",
                         {{"class_name", "L2"}, {"config", {{"l2", number({0.01})}}}}});
  }
  Json dtype() {
    return one_of<Json>({"float32",
                         "mixed_float16",
                         nullptr,
                         {{"class_name", "Policy"}, {"config", {{"name", "mixed_bfloat16"}}}}});
  }

  // Of inputs with so many axes, and sometimes of others.
  Json layer(size_t axes) {
    Json config = Json::object();
    const std::vector<std::string> any{"Activation",
                                       "Dropout",
                                       "ReLU",
                                       "ELU",
                                       "LeakyReLU",
                                       "Flatten",
                                       "Dense",
                                       "LayerNormalization",
                                       "BatchNormalization",
                                       "ActivityRegularization",
                                       "Rescaling",
                                       "Normalization",
                                       "Softmax"};
    const std::vector<std::string> sequences{
        "Conv1D",        "MaxPooling1D", "GlobalAveragePooling1D", "LSTM",
        "GRU",           "SimpleRNN",    "Bidirectional",          "TimeDistributed",
        "ZeroPadding1D", "UpSampling1D", "SpatialDropout1D",       "Cropping1D"};
    const std::vector<std::string> images{
        "Conv2D",        "DepthwiseConv2D", "AveragePooling2D", "GlobalMaxPooling2D",
        "ZeroPadding2D", "UpSampling2D",    "Cropping2D"};
    std::string of = one_of(any);
    if (happens(60) && axes == 2) of = one_of<std::string>({"Dense", "RepeatVector", "Reshape"});
    if (happens(60) && axes == 3) of = one_of(sequences);
    if (happens(60) && axes == 4) of = one_of(images);
    if (happens(85)) config["name"] = name();
    if (happens(15)) config["dtype"] = dtype();
    if (happens(10)) config["trainable"] = one_of<Json>({true, false, 1});
    const auto may = [&](const char *key, Json value) {
      if (happens(50)) config[key] = std::move(value);
    };
    const bool is_recurrent = of == "LSTM" || of == "GRU" || of == "SimpleRNN";
    if (of == "Dense" || is_recurrent) {
      config["units"] = number({1, 2, 3});
      may("use_bias", happens(50));
      may("kernel_initializer", initializer());
      may("kernel_regularizer", regularizer());
      may("activity_regularizer", regularizer());
    }
    if (of == "Dense" || of == "Activation" || of == "Conv1D" || of == "Conv2D")
      config["activation"] = one_of<Json>({"relu", "softmax", nullptr, "gelu", "tanh", "linear"});
    if (is_recurrent) {
      may("return_sequences", happens(70));
      may("return_state", happens(20));
      may("go_backwards", happens(50));
      may("dropout", number({0, 0.5}));
      may("recurrent_dropout", number({0, 0.25}));
      may("unroll", happens(50));
      may("implementation", one_of<Json>({1, 2}));
    }
    if (of.starts_with("Conv")) config["filters"] = number({1, 2, 4});
    if (of.starts_with("Conv") || of.starts_with("Depthwise"))
      config["kernel_size"] = one_of<Json>({1, 2, 3});
    if (of.find("Dropout") != of.npos) config["rate"] = number({0, 0.5, 0.9});
    if (of == "RepeatVector") config["n"] = number({1, 3});
    if (of == "Reshape") config["target_shape"] = one_of<Json>({{-1}, {-1, 1}, {1, -1, 1}, {2, 2}});
    if (of == "ELU" || of == "LeakyReLU") may("alpha", number({0.1, 1}));
    if (of == "ReLU")
      for (const char *key : {"max_value", "negative_slope", "threshold"}) may(key, number({1, 6}));
    if (of == "Rescaling") {
      config["scale"] = number({2, 0.5});
      may("offset", number({1}));
    }
    if (of == "ActivityRegularization") may("l1", number({0.1}));
    if (of.find("Normalization") != of.npos) {
      may("axis", one_of<Json>({-1, 1, {-1}, {1, 2}, nullptr}));
      if (of != "Normalization") may("epsilon", number({1e-3, 1e-5}));
    }
    if (of == "Softmax") may("axis", one_of<Json>({-1, 1, {1, 2}}));
    if (of == "Bidirectional" || of == "TimeDistributed") {
      Json inner = layer(3);
      if (of == "Bidirectional")
        inner = {{"class_name", "GRU"},
                 {"config", {{"units", number({2})}, {"return_sequences", happens(50)}}}};
      config["layer"] = inner;
      if (of == "Bidirectional")
        may("merge_mode", one_of<Json>({"sum", "concat", "ave", "mul", nullptr}));
    }
    return {{"class_name", of}, {"config", config}};
  }

  Json input_shape(size_t axes) {
    Json sizes{nullptr};
    while (sizes.size() < axes) sizes.push_back(number({2, 3, 4, nullptr}));
    if (happens(10)) sizes[0] = number({1, 2});
    return sizes;
  }

  Json sequential(bool is_outermost, int depth = 0) {
    const size_t axes = 2 + random_() % 3;
    Json layers = Json::array();
    const size_t count = 1 + random_() % 4;
    for (size_t i = 0; i < count; ++i)
      layers.push_back(depth < 3 && happens(12) ? sequential(false, depth + 1) : layer(axes));
    if (is_outermost ? happens(80) : happens(50)) {
      if (happens(50)) {
        Json input{{"batch_input_shape", input_shape(axes)}, {"name", name()}};
        if (happens(30)) input["dtype"] = one_of<Json>({"int32", "float32", "bool", "int64"});
        layers.insert(layers.begin(), Json{{"class_name", "InputLayer"}, {"config", input}});
      } else {
        layers[0]["config"]["batch_input_shape"] = input_shape(axes);
      }
    }
    Json config{{"layers", layers}};
    if (happens(70)) config["name"] = name();
    if (happens(20)) config["dtype"] = dtype();
    return {{"class_name", "Sequential"}, {"config", config}};
  }

  // Layers that are called on inputs and on one another, in any order, once or more.
  Json functional() {
    const size_t axes = 2 + random_() % 3;
    Json layers = Json::array(), inputs = Json::array(), all = Json::array();
    const Json shape = input_shape(axes);
    for (size_t i = 0; i < 1 + random_() % 2; ++i) {
      const std::string called = "input_" + std::to_string(i);
      layers.push_back({{"class_name", "InputLayer"},
                        {"name", called},
                        {"config", {{"name", called}, {"batch_input_shape", shape}}},
                        {"inbound_nodes", Json::array()}});
      inputs.push_back({called, 0, 0});
      all.push_back({called, 0, 0, Json::object()});
    }
    if (happens(5)) inputs.push_back(inputs[0]);
    for (size_t i = 0; i < 1 + random_() % 4; ++i) {
      const bool merges = happens(30);
      Json made = merges ? Json{{"class_name", one_of<std::string>({"Add", "Concatenate", "Average",
                                                                    "Multiply", "Maximum"})},
                                {"config", Json::object()}}
                  : happens(10) ? sequential(false, 2)
                                : layer(axes);
      const std::string called =
          happens(90) ? "layer_" + std::to_string(i) : name().dump().substr(0, 9);
      made["config"]["name"] = called;
      made["name"] = called;
      made["inbound_nodes"] = Json::array();
      const bool is_model = made["class_name"] == "Sequential";
      const size_t first = is_model && happens(70) ? 1 : 0;
      for (size_t call = 0; call < 1 + random_() % 2; ++call) {
        Json on = Json::array({all[random_() % all.size()]});
        if (merges) on.push_back(all[random_() % all.size()]);
        if (happens(10)) on[0][3] = {{"training", one_of<Json>({true, false, 0.5, nullptr})}};
        made["inbound_nodes"].push_back(on);
      }
      for (size_t call = 0; call < made["inbound_nodes"].size(); ++call)
        all.push_back({called, first + call, 0, Json::object()});
      if (made["inbound_nodes"].size() > 1 && happens(50))
        std::swap(made["inbound_nodes"][0], made["inbound_nodes"][1]);
      layers.push_back(made);
    }
    std::shuffle(layers.begin(), layers.end(), random_);
    Json outputs = Json::array();
    for (size_t i = 0; i < 1 + random_() % 2; ++i) {
      Json result = all[random_() % all.size()];
      result.erase(3);
      outputs.push_back(result);
    }
    return {{"class_name", "Functional"},
            {"config",
             {{"name", "drawn"},
              {"layers", layers},
              {"input_layers", inputs},
              {"output_layers", outputs}}}};
  }

  std::mt19937_64 random_;
};

// As the C face has it.
std::string written_text(const nn::Model &model) { return to_wire(nn::write_model(model.graph())); }

std::vector<nn::Array> batch_for(const nn::Model &model, const std::vector<nn::Shape> &shapes) {
  std::vector<nn::Array> batch;
  for (size_t i = 0; i < shapes.size(); ++i) {
    nn::Array array({shapes[i], model.graph().inputs()[i].type.dtype});
    if (array.dtype() == nn::Dtype::f32)
      for (size_t at = 0; at < array.size(); ++at)
        array.data()[at] = static_cast<float>(at % 7) - 3.0F;
    batch.push_back(array);
  }
  return batch;
}

// Whether the model takes a batch; with its results, which may be no numbers.
std::optional<std::vector<nn::Array>> predicted(nn::Model &model) {
  const auto shapes = model.graph().input_shapes(2, 4);
  if (!shapes) return {};
  try {
    for (const nn::Shape &shape : *shapes)
      if (nn::elements_of(shape) > 4096) return {};
    std::vector<nn::Array> results;
    for (const nn::Array &result : model.predict_on_batch(batch_for(model, *shapes)))
      results.push_back(result);
    return results;
  } catch (const Error &) {
    return {};
  }
}

bool are_same(const nn::Array &one, const nn::Array &other) {
  return one.type() == other.type() && std::memcmp(one.raw(), other.raw(), one.bytes()) == 0;
}

void test_what_is_accepted_is_written_and_read_again(void **) {
  const TemporaryDirectory directory;
  size_t accepted = 0, failed = 0, computed = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const Json described = Draws(seed).model();
    std::optional<nn::Model> model;
    try {
      model.emplace(described, nn::ModelOptions{seed, "reference"});
    } catch (const Error &) {
      continue;
    }
    ++accepted;
    try {
      const std::string text = written_text(*model);
      nn::Model again(parse_json(text, "what was written"), {seed + 1, "reference"});
      if (written_text(again) != text)
        throw Error(Code::internal, "it is written as another model");
      const auto results = predicted(*model);
      if (!results) continue;
      ++computed;
      nn::save_weights(*model, directory / "weights");
      const auto others = predicted(again);
      if (!others) throw Error(Code::internal, "it takes the batch no more");
      nn::load_weights(again, directory / "weights");
      const auto same = predicted(again);
      for (size_t i = 0; i < results->size(); ++i)
        if (!are_same(results->at(i), same->at(i)))
          throw Error(Code::internal, "it computes something else");
    } catch (const Error &refusal) {
      if (++failed < 10)
        print_error("seed %llu: %s\n%s\n", static_cast<unsigned long long>(seed), refusal.what(),
                    to_wire(described).c_str());
    }
  }
  print_message("# of %zu accepted models %zu are computed and %zu fail\n", accepted, computed,
                failed);
  assert_int_equal(failed, 0);
  assert_true(accepted > 1000 && computed > 500);
}

}  // namespace
}  // namespace det::test

int test_random_models() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_accepted_is_written_and_read_again),
  };
  return cmocka_run_group_tests_name("random_models", tests, nullptr, nullptr);
}
