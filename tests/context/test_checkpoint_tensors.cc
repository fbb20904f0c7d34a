// Tensors that some ranks write and others read.
#include "core/comm/agreement.h"
#include "core/storage/manifest.h"
#include "core/tensors/sharding.h"
#include "tests/context/home.h"
#include "tests/context/job.h"
#include "tests/tensors/fixture.h"

namespace det::test {
namespace {

using tensors::Dtype;
using tensors::Owned;
using tensors::Reader;
using tensors::Region;
using tensors::Shape;

constexpr const char *name = "model.safetensors";

// The part of `shape` that rank `rank` of `size` has: uneven, and split along dimension `d`.
Region share_of(const Shape &shape, size_t d, int rank, int size) {
  const auto cut = [&](int at) {
    const uint64_t even = shape[d] * static_cast<uint64_t>(at) / static_cast<uint64_t>(size);
    return at > 0 && at < size && even + 1 < shape[d] ? even + 1 : even;
  };
  Region region = Region::whole(shape);
  region.offset[d] = cut(rank);
  region.shape[d] = cut(rank + 1) - cut(rank);
  return region;
}

struct Model {
  Owned rows{"rows", Dtype::f32, {11, 3}};
  Owned columns{"columns", Dtype::bf16, {3, 2, 13}};
  Owned bias{"bias", Dtype::f64, {5}};
  Owned step{"step", Dtype::i64, {}};

  // Of rank `rank` of `size`.
  std::vector<Owned> parts(int rank, int size) const {
    std::vector<Owned> parts;
    parts.push_back(part_of(rows, share_of(rows.tensor.whole, 0, rank, size)));
    parts.push_back(part_of(columns, share_of(columns.tensor.whole, 2, rank, size)));
    parts.push_back(part_of(bias, bias.tensor.region));
    if (rank == size - 1) parts.push_back(part_of(step, step.tensor.region));
    return parts;
  }
};

std::string stored_by(Job &job, const Model &model) {
  assert_no_failure(job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, true);
    const std::vector<Owned> parts = model.parts(rank.number, rank.communicator.ranks().size);
    store->write_tensors(name, tensors_of(parts), {{"format", "pt"}});
    store->commit();
  }));
  return job.stored().at(0);
}

void any_number_of_ranks_reads_what_any_wrote(void **) {
  const Model model;
  for (int writers = 1; writers <= 4; ++writers) {
    Job job(writers == 4 ? 2 : 1, writers == 4 ? 2 : writers);
    const std::string id = stored_by(job, model);
    // What the ranks summed up while they wrote is what lies there.
    storage::verify(storage::Tree(job.base() / id),
                    *storage::read_manifest(storage::Tree(job.base() / id)), nullptr);
    const Reader reader(storage::Tree(job.base() / id), name, true);
    assert_int_equal(reader.entries().size(), 4);
    for (int readers = 1; readers <= 4; ++readers)
      for (int rank = 0; rank < readers; ++rank)
        for (const Owned &expected : model.parts(rank, readers)) {
          const Owned wanted(expected.tensor.name, expected.tensor.dtype, expected.tensor.whole,
                             expected.tensor.region);
          reader.read({wanted.tensor});
          assert_true(wanted.bytes == expected.bytes);
        }
  }
}

void one_rank_alone_writes_one_file(void **) {
  Job job(1, 1);
  const std::string id = stored_by(job, Model());
  assert_true(fs::exists(job.base() / id / name));
  assert_false(fs::exists(job.base() / id / "model.safetensors.index.json"));
}

void what_ranks_contradict_fails_on_all_and_can_be_repeated(void **) {
  Job job(1, 2);
  assert_no_failure(job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, true);
    const Owned wrong("x", rank.number == 0 ? Dtype::f32 : Dtype::i32, {4});
    const std::string message =
        expect_error(Code::conflict, [&] { store->write_tensors(name, {wrong.tensor}, {}); });
    assert_true(contains(message, "rank 1 has it as I32 [4]"));
    const Owned right("x", Dtype::f32, {4});
    store->write_tensors(name, {right.tensor}, {});
    store->commit();
  }));
}

void bytes_that_differ_between_ranks_fail_all_and_can_be_repeated(void **) {
  Job job(1, 3);
  assert_no_failure(job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, true);
    const Owned same("alike", Dtype::f32, {4});
    const Owned weights("weights", Dtype::f32, {1000});
    if (rank.number == 2) weights.tensor.data[3999] ^= 1;
    const std::string message = expect_error(Code::conflict, [&] {
      store->write_tensors(name, {same.tensor, weights.tensor}, {});
    });
    assert_true(contains(message, "'weights'"));
    assert_true(contains(message, "ranks 0 and 2 have different bytes"));
    comm::all_agree(rank.communicator, {}, [] { return std::string(); });
    assert_true(fs::is_empty(store->path()));
    if (rank.number == 2) weights.tensor.data[3999] ^= 1;
    store->write_tensors(name, {same.tensor, weights.tensor}, {});
    store->commit();
  }));
}

void a_rank_that_cannot_write_fails_all_and_leaves_no_file(void **) {
  Job job(1, 2);
  assert_no_failure(job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, true);
    const fs::path taken = fs::path(store->path()) / "model-00002-of-00002.safetensors";
    if (rank.number == 1) write_all(open_file(taken, O_WRONLY | O_CREAT).get(), "x", "taken");
    const Model model;
    const std::vector<Owned> parts = model.parts(rank.number, 2);
    const std::string message =
        expect_error(Code::conflict, [&] { store->write_tensors(name, tensors_of(parts), {}); });
    assert_true(contains(message, "it is there already"));
    comm::all_agree(rank.communicator, {}, [] { return std::string(); });
    for (const char *file : {"model-00001-of-00002.safetensors", "model.safetensors.index.json"})
      assert_false(fs::exists(fs::path(store->path()) / file));
    store->abort();
  }));
}

void only_sharded_checkpoints_take_parts(void **) {
  Job job(1, 1);
  assert_no_failure(job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, false);
    const Owned part("x", Dtype::f32, {4}, {{0}, {2}});
    const std::string message =
        expect_error(Code::invalid, [&] { store->write_tensors(name, {part.tensor}, {}); });
    assert_true(contains(message, "begin the checkpoint with `shard`"));
    for (const char *wrong : {"", "../x.safetensors", "/x.safetensors", "x.bin"})
      expect_error(Code::invalid, [&] { store->write_tensors(wrong, {}, {}); });
    const Owned whole("x", Dtype::f32, {4});
    store->write_tensors("sub/x.safetensors", {whole.tensor}, {});
    store->commit();
    expect_error(Code::state, [&] { store->write_tensors(name, {whole.tensor}, {}); });
  }));
  assert_true(fs::exists(job.base() / job.stored().at(0) / "sub/x.safetensors"));
}

}  // namespace
}  // namespace det::test

int test_checkpoint_tensors() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(any_number_of_ranks_reads_what_any_wrote),
      cmocka_unit_test(one_rank_alone_writes_one_file),
      cmocka_unit_test(what_ranks_contradict_fails_on_all_and_can_be_repeated),
      cmocka_unit_test(bytes_that_differ_between_ranks_fail_all_and_can_be_repeated),
      cmocka_unit_test(a_rank_that_cannot_write_fails_all_and_leaves_no_file),
      cmocka_unit_test(only_sharded_checkpoints_take_parts),
  };
  return cmocka_run_group_tests_name("tensors in checkpoints", tests, nullptr, nullptr);
}
