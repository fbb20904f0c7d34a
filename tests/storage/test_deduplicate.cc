// Checkpoints whose large files are in chunks: what is stored, what comes back, what goes.
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>

#include "core/storage/manifest.h"
#include "tests/assert_equal.h"
#include "tests/storage/chunk_files.h"

namespace det::storage {

namespace {

const Resources model_resources{
    {"model.bin", 3 << 20}, {"small.txt", 5}, {"sub/", 0}, {"sub/other.bin", 200 << 10}};

// What is sealed then is in the storage, in chunks, and its process is gone.
void what_was_sealed_before_the_machine_started_again_goes_whole(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const fs::path source = at.model();
  const pid_t child = fork();
  if (child == 0) {
    const auto writer = at.storage->begin("one");
    writer->copy(source, {});
    writer->seal("trial 1");
    writer->finish({"model.bin"});
    _exit(0);  // nothing is aborted
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_true(bytes_in_chunks(at.base) > 0 || at.names_in_partial() > 0);
  const fs::path note = at.base / ".partial" / "one@sealed";
  fs::remove(note);
  write_all(open_file(note, O_WRONLY | O_CREAT, 0600).get(),
            R"({"version": 1, "owner": "trial 1", "boot_id": "another"})", note);
  const auto next = make_storage(deduplicated_config(at.base), std::nullopt, at.logger);
  assert_true(next->take_sealed("trial 1").empty());
  assert_non_null(strstr(at.log.c_str(), "dropping checkpoint 'one'"));
  assert_true(next->sweep().empty());
  next->reclaim();
  assert_int_equal(at.names_in_partial(), 0);
  assert_int_equal(bytes_in_chunks(at.base), 0);
}

void it_comes_back_as_plain_files(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const fs::path source = at.model();
  fs::permissions(source / "sub/other.bin", fs::perms(0640));
  fs::permissions(source / "sub", fs::perms(0750));
  const timespec long_ago[2] = {{1'000'000'000, 5}, {1'000'000'000, 5}};
  assert_int_equal(utimensat(AT_FDCWD, (source / "model.bin").c_str(), long_ago, 0), 0);
  assert_equal(at.store("one", source), model_resources);
  assert_equal(at.storage->list("one"), model_resources);
  assert_false(fs::exists(at.base / "one/model.bin"));
  assert_true(fs::exists(at.base / "one/small.txt"));

  const fs::path target = at.root / "target";
  at.storage->download("one", target, nullptr, true);
  for (const char *name : {"model.bin", "sub/other.bin", "small.txt"})
    assert_true(read_file(target / name) == read_file(source / name));
  struct stat about {};
  assert_int_equal(stat((target / "model.bin").c_str(), &about), 0);
  assert_true(about.st_mtim.tv_sec == 1'000'000'000 && about.st_mtim.tv_nsec == 5);
  assert_int_equal(stat((target / "sub/other.bin").c_str(), &about), 0);
  assert_int_equal(about.st_mode & 0777, 0640);
  assert_int_equal(stat((target / "sub").c_str(), &about), 0);
  assert_int_equal(about.st_mode & 0777, 0750);
}

void a_restored_one_is_a_copy_that_goes_with_its_reader(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const fs::path source = at.model();
  at.store("one", source);
  fs::path path;
  {
    const auto reader = at.storage->restore("one", nullptr, true);
    path = reader->path();
    assert_equal(list_directory(path), model_resources);
    assert_true(at.storage->sweep().empty());
    assert_true(fs::exists(path / "model.bin"));
  }
  assert_false(fs::exists(path));
  assert_int_equal(at.names_in_partial(), 0);
  const auto some = at.storage->restore(
      "one", [](const std::string &name) { return name == "sub/other.bin"; }, true);
  const Resources expected{{"sub/", 0}, {"sub/other.bin", 200 << 10}};
  assert_equal(list_directory(some->path()), expected);
}

void one_file_is_read_without_the_others(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const fs::path source = at.model();
  at.store("one", source);
  fs::remove_all(at.base / ".chunks");  // so that whoever needs them fails
  assert_equal(*at.storage->read("one", "small.txt"), "small");
  assert_false(at.storage->read("one", "absent").has_value());
  at.store("two", source);
  assert_true(*at.storage->read("two", "sub/other.bin") == read_file(source / "sub/other.bin"));
  assert_int_equal(at.names_in_partial(), 0);
}

void a_second_one_stores_only_what_changed(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const fs::path source = at.model();
  at.store("one", source);
  const uint64_t before = bytes_in_chunks(at.base);
  at.store("same", source);
  assert_int_equal(bytes_in_chunks(at.base), before);
  std::string bytes = read_file(source / "model.bin");
  bytes.replace(1 << 20, 10, "0123456789");
  bytes.insert(2 << 20, "inserted");
  at.file("model/model.bin", bytes);
  // One that remembers what it has cut, and one that has to cut all of it again.
  at.store("two", source);
  const uint64_t after = bytes_in_chunks(at.base);
  assert_true(after > before && after - before < before / 2);
  const auto fresh = make_storage(deduplicated_config(at.base), std::nullopt, at.logger);
  const auto writer = fresh->begin("three");
  writer->add(source, std::nullopt);
  writer->commit();
  writer->announced();
  assert_int_equal(bytes_in_chunks(at.base), after);
  for (const char *id : {"two", "three"}) assert_true(at.restored(id, "model.bin") == bytes);
}

void a_file_that_grows_or_shrinks_comes_back(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const std::string bytes = random_bytes(3 << 20, 9);
  int number = 0;
  for (const size_t size : {size_t{1} << 20, size_t{3} << 20, (size_t{3} << 20) - 1, size_t{70000},
                            size_t{1}, size_t{0}, size_t{65536}, size_t{1} << 20}) {
    at.file("model/model.bin", bytes.substr(0, size));
    const std::string id = "id-" + std::to_string(number++);
    at.store(id, at.root / "model");
    assert_true(at.restored(id, "model.bin") == bytes.substr(0, size));
  }
}

void it_is_read_whatever_the_option_says(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  at.store("one", at.model());
  const auto plain = make_storage_from_uri(at.base.string(), at.logger);
  assert_equal(plain->list("one"), model_resources);
  plain->download("one", at.root / "target", nullptr, true);
  assert_equal(list_directory(at.root / "target"), model_resources);
  plain->remove("one");
  plain->reclaim();
  assert_true(stored_chunks(at.base).empty());
}

void its_manifest_tells_older_releases_to_refuse_it(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  at.store("one", at.model());
  at.file("small/file", "small");
  at.store("two", at.root / "small");
  const auto version = [&](const char *id) {
    return parse_json_object(read_file(at.base / id / manifest_name), "manifest").at("version");
  };
  assert_true(version("one") == 2 && version("two") == 1);
  at.file("base/two/" + std::string(manifest_name), R"({"version":3,"files":[]})");
  assert_throws(Code::unsupported, "made by a newer release",
                [&] { at.storage->restore("two", nullptr, true); });
}

void what_is_written_into_the_path_is_cut_at_the_commit(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const auto writer = at.storage->begin("one");
  const std::string bytes = random_bytes(1 << 20, 3);
  at.file("base/.partial/one/d/large", bytes);
  at.file("base/.partial/one/small", "small");
  fs::create_symlink("d/large", writer->path() / "link");
  fs::create_directory_symlink("d", writer->path() / "directory");
  writer->commit();
  writer->announced();
  for (const char *name : {"d/large", "link", "directory/large"})
    assert_true(at.restored("one", name) == bytes);
  assert_false(fs::exists(at.base / "one/d/large"));
  assert_true(at.restored("one", "small") == "small");
}

void what_several_ranks_bring_is_one_checkpoint(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const fs::path source = at.model();
  const auto owner = at.storage->begin("one");
  const auto other = make_storage(deduplicated_config(at.base), std::nullopt, at.logger);
  const auto guest = other->join("one");
  guest->add(source, std::vector<std::string>{"model.bin"});
  at.file("base/.partial/one/direct", random_bytes(100 << 10, 4));
  at.file("base/.partial/one/late", random_bytes(100 << 10, 5));
  const std::string share = guest->finish({"direct"});
  owner->add(source, std::vector<std::string>{"small.txt", "sub/other.bin"});
  const Resources expected{
      {"model.bin", 3 << 20},       {"small.txt", 5},      {"sub/", 0},
      {"sub/other.bin", 200 << 10}, {"direct", 100 << 10}, {"late", 100 << 10}};
  assert_equal(owner->list(), expected);
  assert_equal(owner->commit({owner->finish({}), share}), expected);
  owner->announced();
  assert_true(at.restored("one", "model.bin") == read_file(source / "model.bin"));
  assert_true(at.restored("one", "direct") == random_bytes(100 << 10, 4));
  assert_true(at.restored("one", "late") == random_bytes(100 << 10, 5));
  assert_equal(stored_chunks(at.base), named_chunks(at.base));
}

void the_last_file_of_a_name_counts(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const fs::path source = at.model();
  at.file("later/model.bin", "small now");
  at.file("later/small.txt", random_bytes(100 << 10, 6));
  const auto writer = at.storage->begin("one");
  writer->add(source, std::nullopt);
  writer->add(at.root / "later", std::nullopt);
  at.file("base/.partial/one/sub/other.bin", random_bytes(90 << 10, 7));
  writer->commit();
  writer->announced();
  assert_true(at.restored("one", "model.bin") == "small now");
  assert_true(at.restored("one", "small.txt") == random_bytes(100 << 10, 6));
  assert_true(at.restored("one", "sub/other.bin") == random_bytes(90 << 10, 7));
}

void removing_one_keeps_what_others_have(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  at.store("one", at.model());
  std::string bytes = read_file(at.root / "model/model.bin");
  at.file("model/model.bin", bytes.replace(1 << 20, 4, "1234"));
  at.store("two", at.root / "model");
  at.storage->remove("one");
  at.storage->reclaim();
  assert_equal(stored_chunks(at.base), named_chunks(at.base));
  assert_true(at.restored("two", "model.bin") == bytes);
  at.storage->remove("two");
  at.storage->sweep();
  assert_true(stored_chunks(at.base).empty());
  at.store("three", at.root / "model");
  assert_true(at.restored("three", "model.bin") == bytes);
}

void removing_some_files_frees_their_chunks(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  at.store("one", at.model());
  const Resources expected{{"small.txt", 5}, {"sub/", 0}, {"sub/other.bin", 200 << 10}};
  assert_equal(at.storage->remove_matching("one", {"*.bin"}), expected);
  at.storage->reclaim();
  assert_equal(stored_chunks(at.base), named_chunks(at.base));
  assert_equal(at.storage->list("one"), expected);
  assert_int_equal(at.restored("one", "sub/other.bin").size(), 200 << 10);
  const Resources rest{{"small.txt", 5}};
  assert_equal(at.storage->remove_matching("one", {"sub"}), rest);
  at.storage->reclaim();
  assert_true(stored_chunks(at.base).empty());
  assert_equal(at.storage->list("one"), rest);
  at.storage->restore("one", nullptr, true);
}

void an_aborted_one_leaves_no_chunks(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const auto writer = at.storage->begin("one");
  writer->add(at.model(), std::nullopt);
  assert_false(stored_chunks(at.base).empty());
  writer->abort();
  at.storage->reclaim();
  assert_true(stored_chunks(at.base).empty());
  assert_int_equal(at.names_in_partial(), 0);
}

void a_stored_one_is_not_stored_again_without_its_chunks(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  at.store("one", at.model());
  const auto writer = at.storage->begin("two");
  assert_throws(Code::invalid, "download the checkpoint",
                [&] { writer->add(at.base / "one", std::nullopt); });
}

// A chunk may be read by those who may read a file that it is of.
void chunks_have_the_permissions_of_their_files(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const auto modes = [&] {
    std::set<unsigned> modes;
    for (const std::string &name : stored_chunks(at.base)) {
      struct stat about {};
      for (const std::string &owner : owners_of_chunks(Tree(at.base)))
        stat((at.base / ".chunks" / owner / name.substr(0, 2) / name).c_str(), &about);
      modes.insert(about.st_mode & 0777);
    }
    return modes;
  };
  const fs::path file = at.file("model/model.bin", random_bytes(1 << 20, 1));
  fs::permissions(file, fs::perms(0600));
  at.store("one", at.root / "model");
  assert_equal(modes(), std::set<unsigned>{0600});
  fs::permissions(file, fs::perms(0664));
  at.store("two", at.root / "model");
  assert_equal(modes(), std::set<unsigned>{0644});
  fs::permissions(file, fs::perms(0600));
  at.store("three", at.root / "model");
  assert_equal(modes(), std::set<unsigned>{0644});
}

fs::path path_of_a_chunk(const Fixture &at) {
  const std::string name = *stored_chunks(at.base).begin();
  return at.base / ".chunks" / owners_of_chunks(Tree(at.base)).front() / name.substr(0, 2) / name;
}

void damaged_chunks_are_found_and_the_file_is_named(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  at.file("model/dir/model.bin", random_bytes(1 << 20, 1));
  at.store("one", at.root / "model");
  const fs::path chunk = path_of_a_chunk(at);
  const std::string good = read_file(chunk);
  const auto is_found = [&](bool checksums) {
    assert_throws(Code::corrupt, "dir/model.bin",
                  [&] { at.storage->restore("one", nullptr, checksums); });
    assert_throws(Code::corrupt, "dir/model.bin",
                  [&] { at.storage->download("one", at.root / "target", nullptr, checksums); });
    assert_false(fs::exists(at.root / "target/dir/model.bin"));
    assert_int_equal(at.names_in_partial(), 0);
  };
  const auto replace = [&](const std::string &bytes) {
    fs::remove(chunk);
    at.file(fs::relative(chunk, at.root), bytes);
  };
  std::string bad = good;
  bad[good.size() / 2] ^= 1;
  replace(bad);
  is_found(true);
  replace(good.substr(1));
  is_found(false);
  fs::remove(chunk);
  is_found(false);
  fs::create_symlink("/etc/passwd", chunk);
  is_found(false);
  fs::remove(chunk);
  fs::create_directory(chunk);
  is_found(false);
  fs::remove(chunk);
  replace(good);
  at.storage->restore("one", nullptr, true);
}

void damaged_lists_and_missing_manifests_are_found(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  at.store("one", at.model());
  const fs::path list = at.base / "one" / chunks_directory / chunk_list_name;
  const std::string good = read_file(list);
  at.file(fs::relative(list, at.root), good.substr(0, good.size() / 2));
  assert_throws(Code::corrupt, "one", [&] { at.storage->restore("one", nullptr, true); });
  // What it named is not known any more: nothing goes.
  const size_t before = stored_chunks(at.base).size();
  at.store("two", at.model(5));
  at.storage->remove("two");
  at.storage->reclaim();
  assert_true(stored_chunks(at.base).size() > before);
  assert_true(at.log.find("damaged") != std::string::npos);
  fs::remove(list);
  assert_throws(Code::corrupt, "model.bin", [&] { at.storage->restore("one", nullptr, true); });
  at.file(fs::relative(list, at.root), good);
  at.storage->reclaim();
  assert_equal(stored_chunks(at.base), named_chunks(at.base));
  fs::remove(at.base / "one" / manifest_name);
  assert_throws(Code::corrupt, "manifest is missing",
                [&] { at.storage->restore("one", nullptr, true); });
}

// Those of another user are neither counted on nor removed.
void each_user_has_chunks_of_his_own(void **state) {
  if (geteuid() != 0) skip();
  DeduplicatedFixture &at = deduplicated(state);
  const fs::path source = at.model();
  fs::permissions(at.root, fs::perms(0777));
  fs::create_directory(at.base);
  fs::permissions(at.base, fs::perms(01777));
  at.store("mine", source);
  const size_t mine = stored_chunks(at.base).size();
  assert_int_equal(seteuid(65534), 0);
  at.store("others", source);
  assert_int_equal(seteuid(0), 0);
  assert_int_equal(owners_of_chunks(Tree(at.base)).size(), 2);
  at.storage->remove("mine");
  at.storage->reclaim();
  assert_false(fs::exists(at.base / ".chunks/u0/" / stored_chunks(at.base).begin()->substr(0, 2) /
                          *stored_chunks(at.base).begin()));
  assert_int_equal(stored_chunks(at.base).size(), mine);
  assert_true(at.restored("others", "model.bin") == read_file(source / "model.bin"));
}

void chunks_in_a_place_that_others_may_write_are_refused(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  at.store("one", at.model());
  const std::string owner = owners_of_chunks(Tree(at.base)).front();
  fs::permissions(at.base / ".chunks" / owner, fs::perms(0777));
  const auto writer = at.storage->begin("two");
  assert_throws(Code::access, "others may write",
                [&] { writer->add(at.root / "model", std::nullopt); });
}

void the_option_is_part_of_the_configuration(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  assert_equal(at.storage->config(), deduplicated_config(at.base));
  Json config = deduplicated_config(at.base);
  config["deduplicate"] = "yes";
  assert_throws(Code::invalid, "'deduplicate' must be true or false",
                [&] { make_storage(config, std::nullopt, at.logger); });
  config["deduplicate"] = false;
  const auto plain = make_storage(config, std::nullopt, at.logger);
  assert_false(plain->config().contains("deduplicate"));
}

void a_checkpoint_of_an_empty_directory_has_no_chunks(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  at.store("one", at.directory("empty"));
  at.store("two", at.sample());
  assert_false(fs::exists(at.base / ".chunks"));
  validate_storage(*at.storage);
}

}  // namespace

}  // namespace det::storage

int test_deduplicate() {
  using namespace det::storage;
  const CMUnitTest tests[] = {
      CHUNK_TEST(it_comes_back_as_plain_files),
      CHUNK_TEST(what_was_sealed_before_the_machine_started_again_goes_whole),
      CHUNK_TEST(a_restored_one_is_a_copy_that_goes_with_its_reader),
      CHUNK_TEST(one_file_is_read_without_the_others),
      CHUNK_TEST(a_second_one_stores_only_what_changed),
      CHUNK_TEST(a_file_that_grows_or_shrinks_comes_back),
      CHUNK_TEST(it_is_read_whatever_the_option_says),
      CHUNK_TEST(its_manifest_tells_older_releases_to_refuse_it),
      CHUNK_TEST(what_is_written_into_the_path_is_cut_at_the_commit),
      CHUNK_TEST(what_several_ranks_bring_is_one_checkpoint),
      CHUNK_TEST(the_last_file_of_a_name_counts),
      CHUNK_TEST(removing_one_keeps_what_others_have),
      CHUNK_TEST(removing_some_files_frees_their_chunks),
      CHUNK_TEST(an_aborted_one_leaves_no_chunks),
      CHUNK_TEST(a_stored_one_is_not_stored_again_without_its_chunks),
      CHUNK_TEST(chunks_have_the_permissions_of_their_files),
      CHUNK_TEST(damaged_chunks_are_found_and_the_file_is_named),
      CHUNK_TEST(damaged_lists_and_missing_manifests_are_found),
      CHUNK_TEST(each_user_has_chunks_of_his_own),
      CHUNK_TEST(chunks_in_a_place_that_others_may_write_are_refused),
      CHUNK_TEST(the_option_is_part_of_the_configuration),
      CHUNK_TEST(a_checkpoint_of_an_empty_directory_has_no_chunks),
  };
  return cmocka_run_group_tests_name("deduplicated checkpoints", tests, nullptr, nullptr);
}
