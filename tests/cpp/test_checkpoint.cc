// Checkpoints: scopes, callables, and lists.
#include <array>
#include <det/nlohmann_json.hpp>
#include <fstream>
#include <stdexcept>

#include "tests/cpp/fixture.h"

namespace {

using namespace cpp_test;
using det::Code;

det::CoreOptions keeping_all() {
  det::CoreOptions options;
  options.config = R"({"checkpoint_storage": {"save_trial_latest": 100}})";
  return options;
}

std::string save(const Run &run, int step) {
  const det::CheckpointWriter store =
      run.core.checkpoint().write(nlohmann::json{{"steps_completed", step}});
  std::ofstream(store.path() / "step") << step;
  std::ofstream(store.path() / "other") << "x";
  store.commit();
  return store.id();
}

int step_in(const std::filesystem::path &directory) {
  int step = 0;
  std::ifstream(directory / "step") >> step;
  return step;
}

void what_is_committed_can_be_restored(void **) {
  const Run run(keeping_all());
  const std::string id = save(run, 7);
  const det::CheckpointReader restore = run.core.checkpoint().read(id);
  assert_equal(step_in(restore.path()), 7);
  assert_equal(run.core.checkpoint().get_metadata(id).as<nlohmann::json>()["steps_completed"], 7);
  run.core.close();
}

void a_scope_that_is_left_without_commit_leaves_nothing(void **) {
  const Run run(keeping_all());
  std::filesystem::path directory;
  assert_throws<std::runtime_error>([&] {
    const det::CheckpointWriter store = run.core.checkpoint().write(R"({"steps_completed": 1})");
    directory = store.path();
    assert_true(std::filesystem::exists(directory));
    throw std::runtime_error("training failed");
  });
  assert_false(std::filesystem::exists(directory));
  assert_equal(run.core.checkpoint().list().size(), 0);
  run.core.close();
}

void a_ticket_follows_a_save_in_the_background(void **) {
  const Run run(keeping_all());
  const det::Checkpoint checkpoint = run.core.checkpoint();
  const det::CheckpointWriter store = checkpoint.write(R"({"steps_completed": 1})");
  std::ofstream(store.path() / "step") << 1;
  const det::Ticket ticket = store.commit_async();
  ticket.wait();
  assert_true(ticket.id() == store.id() && ticket.state() == det::TicketState::saved);
  assert_equal(ticket.progress().files, 2);
  expect_error(Code::state, [&] { ticket.cancel(); });
  checkpoint.limit_saves({.limit_bytes = 1});
  expect_error(Code::full, [&] {
    static_cast<void>(
        checkpoint.upload_async(checkpoint.read(ticket.id()).path(), R"({"steps_completed": 2})"));
  });
  run.core.close();
}

void metadata_may_come_late_and_an_abort_is_final(void **) {
  const Run run(keeping_all());
  det::CheckpointWriter store = run.core.checkpoint().write();
  expect_error(Code::invalid, [&] { store.commit(); });
  store.set_metadata(R"({"steps_completed": 2})");
  store.commit();
  expect_error(Code::state, [&] { store.abort(); });
  store = run.core.checkpoint().write(R"({"steps_completed": 3})");
  store.abort();
  expect_error(Code::state, [&] { store.commit(); });
  assert_equal(run.core.checkpoint().list().size(), 1);
  run.core.close();
}

void the_list_begins_with_the_latest(void **) {
  const Run run(keeping_all());
  const std::string first = save(run, 1), second = save(run, 2);
  const std::vector<det::CheckpointEntry> list = run.core.checkpoint().list();
  assert_equal(list.size(), 2);
  assert_equal(list[0].id, second);
  assert_equal(list[0].steps_completed, 2);
  assert_true(list[0].size > 0);
  assert_true(list[0].time > det::Time() + std::chrono::hours(24 * 365 * 50));
  run.core.checkpoint().delete_checkpoint(second);
  assert_equal(run.core.checkpoint().list()[0].id, first);
  expect_error(Code::not_found, [&] { static_cast<void>(run.core.checkpoint().read(second)); });
  run.core.close();
}

void files_are_chosen_by_callables(void **) {
  const Run run(keeping_all());
  const det::TemporaryDirectory from, to;
  std::ofstream(from / "step") << 5;
  std::ofstream(from / "other") << 6;
  det::CheckpointOptions options;
  options.selector = [](std::string_view path) { return path != "other"; };
  int64_t told = -1;
  options.progress = [&](const det::Progress &progress) {
    told = progress.bytes;
    return true;
  };
  const std::string id =
      run.core.checkpoint().upload(from.path(), R"({"steps_completed": 5})", options);
  assert_true(told > 0);
  det::DownloadOptions download;
  download.selector = [](const std::string &path) { return path == "step"; };
  download.mode = det::DownloadMode::no_shared;
  run.core.checkpoint().download(id, to.path(), download);
  assert_equal(step_in(to.path()), 5);
  assert_false(std::filesystem::exists(to / "metadata.json"));
  assert_false(std::filesystem::exists(to / "other"));
  run.core.close();
}

void what_callables_throw_comes_back(void **) {
  const Run run(keeping_all());
  const std::string id = save(run, 1);
  const det::Checkpoint checkpoint = run.core.checkpoint();
  const det::TemporaryDirectory place;
  const auto throwing = [](const char *) -> bool { throw std::out_of_range("selector"); };
  det::CheckpointOptions options;
  options.selector = throwing;
  const auto upload = [&](det::OnFailure on) {
    checkpoint.upload(place.path(), R"({"steps_completed": 2})", options, on);
  };
  assert_throws<std::out_of_range>([&] { upload({}); });
  det::Failure failure;
  assert_throws<std::out_of_range>([&] { upload(failure); });
  det::DownloadOptions download;
  download.selector = throwing;
  assert_throws<std::out_of_range>([&] { checkpoint.download(id, place.path(), download); });

  det::CheckpointOptions progress;
  progress.progress = [](const det::Progress &) -> bool { throw std::domain_error("progress"); };
  det::CheckpointWriter store = checkpoint.write(R"({"steps_completed": 2})", progress);
  std::ofstream(store.path() / "step") << 2;
  const det::CheckpointWriter moved = std::move(store);  // the callable stays where it is
  assert_throws<std::domain_error>([&] { moved.commit(); });
  assert_equal(checkpoint.list().size(), 1);
  expect_error(Code::invalid,
               [&] { checkpoint.delete_checkpoint("../x"); });  // not the one of before
  run.core.close();
}

void a_callable_can_stop_without_throwing(void **) {
  const Run run(keeping_all());
  det::CheckpointOptions options;
  options.progress = [](const det::Progress &) { return false; };
  const det::CheckpointWriter store =
      run.core.checkpoint().write(R"({"steps_completed": 2})", options);
  std::ofstream(store.path() / "step") << 2;
  det::Failure failure;
  store.commit(failure);
  assert_equal(failure.code(), Code::callback);
  run.core.close();
}

void a_store_that_is_replaced_is_dropped(void **) {
  const Run run(keeping_all());
  det::CheckpointOptions options;
  options.progress = [](const det::Progress &) { return true; };
  det::CheckpointWriter store = run.core.checkpoint().write(R"({"steps_completed": 2})", options);
  const std::filesystem::path directory = store.path();
  store = run.core.checkpoint().write(R"({"steps_completed": 3})", options);
  assert_false(std::filesystem::exists(directory));
  std::ofstream(store.path() / "step") << 3;
  store.commit();
  run.core.close();
}

void tensors_are_written_and_read(void **) {
  const Run run(keeping_all());
  std::array<float, 6> weights{1, 2, 3, 4, 5, 6};
  int64_t step = 42;
  const det::CheckpointWriter store = run.core.checkpoint().write(R"({"steps_completed": 7})");
  det::write_tensors(
      store, "model.safetensors",
      {{"weights", det::Dtype::f32, {2, 3}, weights.data()}, {"step", det::Dtype::i64, {}, &step}},
      nlohmann::json{{"format", "pt"}});
  store.commit();

  const det::CheckpointReader restore = run.core.checkpoint().read(store.id());
  const det::Tensors tensors(restore, "model.safetensors");
  assert_equal(tensors.size(), 2);
  assert_equal(tensors.metadata().as<nlohmann::json>()["format"], "pt");
  const auto index = static_cast<size_t>(tensors.find("weights"));
  assert_equal(tensors.name(index), "weights");
  assert_true(tensors.dtype(index) == det::Dtype::f32);
  assert_true((tensors.shape(index) == std::vector<int64_t>{2, 3}));
  assert_equal(tensors.bytes(index), 24);
  assert_false(tensors.contains("other"));
  std::array<float, 2> column{};
  tensors.read({{"weights", det::Dtype::f32, {2, 1}, column.data(), {0, 2}}});
  assert_true((column == std::array<float, 2>{3, 6}));

  const det::Tensors same(restore.path() / "model.safetensors");
  expect_error(Code::not_found, [&] {
    same.read({{"other", det::Dtype::f32, {}, column.data()}});
  });
  expect_error(Code::invalid, [&] {
    same.read({{"weights", det::Dtype::f32, {2, 1}, column.data(), {0}}});
  });
  expect_error(Code::callback, [&] {
    same.read({{"weights", det::Dtype::f32, {2, 3}, weights.data()}},
              [](const det::Progress &) { return false; });
  });
  run.core.close();
}

}  // namespace

int test_checkpoint() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(what_is_committed_can_be_restored),
      cmocka_unit_test(a_scope_that_is_left_without_commit_leaves_nothing),
      cmocka_unit_test(a_ticket_follows_a_save_in_the_background),
      cmocka_unit_test(metadata_may_come_late_and_an_abort_is_final),
      cmocka_unit_test(the_list_begins_with_the_latest),
      cmocka_unit_test(files_are_chosen_by_callables),
      cmocka_unit_test(what_callables_throw_comes_back),
      cmocka_unit_test(a_callable_can_stop_without_throwing),
      cmocka_unit_test(a_store_that_is_replaced_is_dropped),
      cmocka_unit_test(tensors_are_written_and_read),
  };
  return cmocka_run_group_tests_name("checkpoint", tests, nullptr, nullptr);
}
