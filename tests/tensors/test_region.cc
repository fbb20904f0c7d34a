// Boxes of elements: what they have in common, and where that lies in memory.
#include "core/tensors/region.h"

#include <set>

#include "tests/cmocka.h"

namespace det::tensors {
namespace {

// Each element by itself, the slow way.
std::vector<std::pair<uint64_t, uint64_t>> pairs_of(const Region &common, const Region &from,
                                                    const Region &to) {
  const auto place = [](const Region &region, const Shape &index) {
    uint64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d)
      at = at * region.shape[d] + (index[d] - region.offset[d]);
    return at;
  };
  std::vector<std::pair<uint64_t, uint64_t>> pairs;
  Shape index = common.offset;
  for (uint64_t i = 0; i < *elements_of(common.shape); ++i) {
    uint64_t rest = i;
    for (size_t d = index.size(); d-- > 0; rest /= common.shape[d])
      index[d] = common.offset[d] + rest % common.shape[d];
    pairs.emplace_back(place(from, index), place(to, index));
  }
  return pairs;
}

void runs_have_each_element_once_and_are_long(void **) {
  const std::vector<std::pair<Region, Region>> cases = {
      {{{0, 0, 0}, {4, 5, 6}}, {{0, 0, 0}, {4, 5, 6}}},  // one run
      {{{0, 0, 0}, {4, 5, 6}}, {{1, 0, 0}, {2, 5, 6}}},  // one run
      {{{0, 0, 0}, {4, 5, 6}}, {{1, 2, 3}, {2, 2, 2}}},
      {{{0, 2, 0}, {4, 3, 6}}, {{2, 0, 0}, {2, 4, 6}}},
      {{{3}, {5}}, {{0}, {6}}},
      {{{0, 0, 3}, {4, 5, 2}}, {{0, 0, 0}, {4, 5, 6}}},  // the second is the wider one
      {{{}, {}}, {{}, {}}},
  };
  const std::vector<size_t> expected_runs = {1, 1, 4, 2, 1, 20, 1};
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto &[from, to] = cases[i];
    const std::optional<Region> common = common_of(from, to);
    assert_true(common.has_value());
    std::vector<std::pair<uint64_t, uint64_t>> pairs;
    size_t runs = 0;
    for_each_run(*common, from, to, [&](const Run &run) {
      ++runs;
      for (uint64_t k = 0; k < run.count; ++k) pairs.emplace_back(run.from + k, run.to + k);
    });
    assert_true(pairs == pairs_of(*common, from, to));
    assert_int_equal(runs, expected_runs[i]);
  }
}

void regions_that_only_touch_have_nothing_in_common(void **) {
  assert_false(common_of({{0, 0}, {2, 3}}, {{2, 0}, {2, 3}}).has_value());
  assert_false(common_of({{0, 0}, {2, 3}}, {{0, 1}, {2, 0}}).has_value());
}

void pieces_are_side_by_side_and_as_large_as_asked_for(void **) {
  for (const uint64_t elements : {1U, 3U, 7U, 12U, 25U, 1000U}) {
    const Region region{{1, 2, 3}, {4, 3, 5}};
    uint64_t at = 0;
    for_each_piece(region, elements, [&](const Region &piece) {
      const auto count = *elements_of(piece.shape);
      assert_true(count <= elements);
      for_each_run(piece, region, piece, [&](const Run &run) {
        assert_int_equal(run.from, at);
        assert_int_equal(run.count, count);
      });
      at += count;
    });
    assert_int_equal(at, 60);
  }
  for_each_piece({{0, 0}, {3, 0}}, 5, [](const Region &) { fail_msg("a piece of nothing"); });
}

void sizes_that_do_not_fit_are_none(void **) {
  assert_false(elements_of({uint64_t{1} << 32U, uint64_t{1} << 32U}).has_value());
  assert_int_equal(*elements_of({uint64_t{1} << 32U, uint64_t{1} << 32U, 0}), 0);
  assert_false(bytes_of(Dtype::f64, {uint64_t{1} << 61U}).has_value());
  assert_false(bytes_of(Dtype::f4, {3}).has_value());
  assert_int_equal(*bytes_of(Dtype::f4, {2, 3}), 3);
  assert_int_equal(*bytes_of(Dtype::f6_e2m3, {4}), 3);
  assert_int_equal(*bytes_of(Dtype::bf16, {}), 2);
}

}  // namespace
}  // namespace det::tensors

int test_region() {
  using namespace det::tensors;
  const CMUnitTest tests[] = {
      cmocka_unit_test(runs_have_each_element_once_and_are_long),
      cmocka_unit_test(regions_that_only_touch_have_nothing_in_common),
      cmocka_unit_test(pieces_are_side_by_side_and_as_large_as_asked_for),
      cmocka_unit_test(sizes_that_do_not_fit_are_none),
  };
  return cmocka_run_group_tests_name("regions of tensors", tests, nullptr, nullptr);
}
