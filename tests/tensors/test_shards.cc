// What several ranks have of a tensor: who writes it, and what is no tensor together.
#include "core/tensors/shard_plan.h"

#include "core/tensors/sharding.h"
#include "tests/tensors/fixture.h"

namespace det::tensors {
namespace {

TensorPart part(const std::string &name, const Region &region, const Shape &whole) {
  return {name, Dtype::f32, region, whole};
}

void replicas_are_spread_over_the_ranks(void **) {
  std::vector<TensorPart> mine;
  for (int i = 0; i < 6; ++i)
    mine.push_back(part("layer " + std::to_string(i), Region::whole({8}), {8}));
  for (const auto &of_rank : plan_shards({mine, mine, mine})) assert_int_equal(of_rank.size(), 2);
}

void what_contradicts_is_refused_with_the_ranks(void **) {
  const Shape whole{4, 4};
  const Region top{{0, 0}, {2, 4}}, bottom{{2, 0}, {2, 4}}, left{{0, 0}, {4, 2}};
  TensorPart other_dtype = part("x", bottom, whole);
  other_dtype.dtype = Dtype::i32;
  const std::pair<TensorPart, const char *> cases[] = {
      {other_dtype, "rank 0 has it as F32 [4, 4], rank 1 has it as I32 [4, 4]"},
      {part("x", Region::whole({4, 5}), {4, 5}), "rank 1 has it as F32 [4, 5]"},
      {part("x", left, whole), "[2, 4] at [0, 0] of 0 and [4, 2] at [0, 0] of 1 overlap"},
      {part("x", top, whole), "of its 16 elements 8 are there"},
      {part("y", Region::whole({1}), {1}), "of its 16 elements 8 are there"},
  };
  for (const auto &[second, words] : cases) {
    const std::vector<std::vector<TensorPart>> given{{part("x", top, whole)}, {second}};
    const std::string message = expect_error(Code::conflict, [&] { plan_shards(given); });
    assert_true(contains(message, "tensor 'x'"));
    if (!contains(message, words)) fail_msg("'%s' is not in '%s'", words, message.c_str());
  }
  const std::vector<std::vector<TensorPart>> good{{part("x", top, whole)},
                                                  {part("x", bottom, whole)}};
  assert_true((plan_shards(good) == std::vector<std::vector<size_t>>{{0}, {0}}));
}

void empty_parts_are_not_written_and_empty_tensors_once(void **) {
  const std::vector<std::vector<TensorPart>> given{
      {part("x", Region::whole({4}), {4}), part("none", Region::whole({0}), {0})},
      {part("x", {{4}, {0}}, {4}), part("none", Region::whole({0}), {0})}};
  const auto plan = plan_shards(given);
  assert_int_equal(plan[0].size() + plan[1].size(), 2);
}

void files_of_ranks_make_whole_tensors(void **) {
  const TemporaryDirectory directory;
  const storage::Tree root(directory.path());
  const Owned all("x", Dtype::f64, {5, 6});
  const Region regions[] = {{{0, 0}, {5, 2}}, {{0, 2}, {3, 4}}, {{3, 2}, {2, 4}}};
  std::vector<Owned> parts;
  std::vector<ShardFile> files;
  for (const Region &region : regions) parts.push_back(part_of(all, region));
  for (size_t i = 0; i < parts.size(); ++i) {
    FileMetadata metadata{{"format", "pt"}};
    add_sharding(metadata, {&parts[i].tensor});
    files.push_back({sharded_name("model.safetensors", i, 3), {&parts[i].tensor}});
    write_file(root, files[i].name, {parts[i].tensor}, metadata);
  }
  assert_string_equal(files[1].name.c_str(), "model-00002-of-00003.safetensors");
  write_text(directory / "model.safetensors.index.json", format_index(files));
  const Reader reader(storage::Tree(directory.path()), "model.safetensors", true);
  assert_true((reader.entries()[0].shape == Shape{5, 6}));
  assert_true((reader.metadata() == FileMetadata{{"format", "pt"}}));
  const Region middle{{1, 1}, {3, 4}};
  const Owned wanted("x", Dtype::f64, {5, 6}, middle);
  reader.read({wanted.tensor});
  assert_true(wanted.bytes == part_of(all, middle).bytes);

  std::filesystem::remove(directory / files[2].name);
  const auto again = [&] {
    return expect_error(
        Code::corrupt, [&] { Reader(storage::Tree(directory.path()), "model.safetensors", true); });
  };
  assert_true(contains(again(), "model-00003-of-00003.safetensors': it is missing"));
  std::filesystem::copy(directory / files[1].name, directory / files[2].name);
  assert_true(contains(again(), "overlap"));
  files.pop_back();
  write_text(directory / "model.safetensors.index.json", format_index(files));
  assert_true(contains(again(), "of its 30 elements 22 are there"));
}

// As PyTorch's distributed checkpoints have it.
void the_shape_need_not_be_told(void **) {
  const TemporaryDirectory directory;
  const storage::Tree root(directory.path());
  const Owned one("x", Dtype::u8, {2, 2}), other("x", Dtype::u8, {1, 2});
  write_file(root, "a.safetensors", {one.tensor},
             {{"DCP_SHARDING_INFO", R"({"x":{"saved_offsets":[0,0]}})"}});
  write_file(root, "b.safetensors", {other.tensor},
             {{"DCP_SHARDING_INFO", R"({"x":{"saved_offsets":[2,0]}})"}});
  write_text(directory / "c.index.json",
             R"({"weight_map":{"x":"a.safetensors","y":"b.safetensors"}})");
  const Reader reader(storage::Tree(directory.path()), "c", true);
  assert_true((reader.entries()[0].shape == Shape{3, 2}));
}

}  // namespace
}  // namespace det::tensors

int test_shards() {
  using namespace det::tensors;
  const CMUnitTest tests[] = {
      cmocka_unit_test(replicas_are_spread_over_the_ranks),
      cmocka_unit_test(what_contradicts_is_refused_with_the_ranks),
      cmocka_unit_test(empty_parts_are_not_written_and_empty_tensors_once),
      cmocka_unit_test(files_of_ranks_make_whole_tensors),
      cmocka_unit_test(the_shape_need_not_be_told),
  };
  return cmocka_run_group_tests_name("tensors of several ranks", tests, nullptr, nullptr);
}
