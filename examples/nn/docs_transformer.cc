// Trains a small transformer to continue the text of docs/, byte by byte, as a trial of det::keras.
//
// c++ -std=c++17 docs_transformer.cc $(pkg-config --cflags --libs detnn-cpp) -o docs_transformer
// det run transformer.yaml -- ./docs_transformer
#include <algorithm>
#include <det/keras.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#ifndef DOCS
#define DOCS "../../docs"
#endif

using namespace det::nn;

constexpr int64_t bytes = 256;
constexpr int64_t steps = 64;

// Returns the text of all pages, in the order of their names.
std::string read_docs() {
  std::vector<std::filesystem::path> pages;
  for (const auto &entry : std::filesystem::directory_iterator(DOCS))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  std::sort(pages.begin(), pages.end());
  std::string text;
  for (const auto &page : pages) {
    std::ifstream file(page, std::ios::binary);
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  return text;
}

// Returns records of `steps` bytes, with their positions and the bytes that follow. They are every
// tenth record, or all others.
det::keras::InputData read_records(bool to_test_on) {
  const std::string text = read_docs();
  std::vector<int32_t> given, positions, next;
  for (size_t record = 0; (record + 1) * steps < text.size(); ++record) {
    if ((record % 10 == 0) != to_test_on) continue;
    for (int64_t step = 0; step < steps; ++step) {
      const size_t at = record * steps + static_cast<size_t>(step);
      given.push_back(static_cast<unsigned char>(text[at]));
      next.push_back(static_cast<unsigned char>(text[at + 1]));
      positions.push_back(static_cast<int32_t>(step));
    }
  }
  if (given.empty()) throw std::runtime_error("reading '" DOCS "': there is no text in it");
  const Shape shape{static_cast<int64_t>(given.size()) / steps, steps};
  return det::keras::arrays({Array(std::move(given), shape), Array(std::move(positions), shape)},
                            {Array(std::move(next), shape)});
}

// Each step sees only the steps before it.
Value block(const Value &x, int64_t features, int64_t heads, double rate) {
  const Value normal = layer_normalization()(x);
  const Value attended = multi_head_attention(heads, features / heads)({normal, normal}, {},
                                                                       {{"use_causal_mask", true}});
  const Value seen = add()({x, dropout(rate)(attended)});
  const Value wide = dense(4 * features, gelu)(layer_normalization()(seen));
  return add()({seen, dropout(rate)(dense(features)(wide))});
}

class DocsTrial : public det::keras::Trial {
 public:
  using Trial::Trial;

  det::keras::TrialModel build_model() override {
    const auto features = context().get_hparam<int64_t>("features");
    const auto heads = context().get_hparam<int64_t>("heads");
    if (heads < 1 || features % heads != 0)
      throw det::keras::InvalidHP(std::to_string(features) + " features cannot be divided among " +
                                  std::to_string(heads) + " heads");
    const Value given = input({steps}, "given", "int32");
    const Value positions = input({steps}, "positions", "int32");
    Value x = add()({embedding(bytes, features)(given), embedding(steps, features)(positions)});
    for (int64_t i = 0; i < context().get_hparam<int64_t>("blocks"); ++i)
      x = block(x, features, heads, context().get_hparam<double>("dropout"));
    const Value next = dense(bytes, softmax)(layer_normalization()(x));
    auto model = context().wrap_model(describe_functional({given, positions}, {next}));
    model.compile(context().wrap_optimizer(adam(context().get_hparam<double>("learning_rate"))),
                  "sparse_categorical_crossentropy", {"accuracy"});
    return model;
  }
  det::keras::InputData build_training_data_loader() override { return read_records(false); }
  det::keras::InputData build_validation_data_loader() override { return read_records(true); }
};

int main(int argc, char **argv) { return det::run_trial<DocsTrial>(argc, argv); }
