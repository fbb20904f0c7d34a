#include <det/trial_cache.h>

#include "tests/capi/fixture.h"

static det_trial_cache *open_complete(struct fixture *f) {
  det_trial_cache *cache;
  det_trial_cache_writer *writer;
  assert_ok(
      det_trial_cache_open(f->home, "digits", "1", DET_TIMEOUT_NONE, &cache, &writer, &f->err));
  assert_null(writer);
  return cache;
}

static void write_three(struct fixture *f) {
  det_trial_cache *cache;
  det_trial_cache_writer *writer;
  assert_ok(
      det_trial_cache_open(f->home, "digits", "1", DET_TIMEOUT_NONE, &cache, &writer, &f->err));
  assert_null(cache);
  const size_t sizes[] = {1, 0, 3};
  assert_ok(det_trial_cache_writer_add(writer, "abcd", sizes, 3, &f->err));
  assert_ok(det_trial_cache_writer_add(writer, NULL, NULL, 0, &f->err));
  assert_ok(det_trial_cache_writer_commit(writer, "{}", &f->err));
  assert_fails(det_trial_cache_writer_add(writer, "a", sizes, 1, &f->err), DET_E_STATE, "complete");
  det_trial_cache_writer_free(writer);
}

static void what_one_writes_all_read(void **state) {
  struct fixture *f = *state;
  write_three(f);
  det_trial_cache *cache = open_complete(f);
  assert_int_equal(det_trial_cache_count(cache), 3);
  assert_int_equal(det_trial_cache_largest(cache), 3);
  assert_string_equal(det_trial_cache_metadata(cache), "{}");
  det_trial_cache_reader *reader;
  assert_ok(det_trial_cache_reader_create(cache, NULL, &reader, &f->err));
  det_trial_cache_free(cache); /* the reader goes on */
  assert_int_equal(det_trial_cache_reader_length(reader), 3);
  char buffer[8] = "";
  size_t sizes[4], count = 7;
  assert_fails(det_trial_cache_reader_next(reader, buffer, 0, sizes, 4, &count, &f->err),
               DET_E_INVALID, "largest record has 3");
  assert_ok(det_trial_cache_reader_next(reader, buffer, sizeof buffer, sizes, 4, &count, &f->err));
  assert_int_equal(count, 3);
  assert_string_equal(buffer, "abcd");
  assert_int_equal(sizes[2], 3);
  assert_int_equal(
      det_trial_cache_reader_next(reader, buffer, sizeof buffer, sizes, 4, &count, &f->err),
      DET_DONE);
  assert_int_equal(count, 0);
  det_trial_cache_reader_free(reader);
}

static void impossible_arguments_are_refused(void **state) {
  struct fixture *f = *state;
  det_trial_cache *cache;
  det_trial_cache_writer *writer;
  assert_fails(det_trial_cache_open(f->home, "", "1", 0, &cache, &writer, &f->err), DET_E_INVALID,
               "empty");
  assert_fails(det_trial_cache_open(NULL, "a", "1", 0, &cache, &writer, &f->err), DET_E_INVALID,
               "directory");
  assert_fails(det_trial_cache_open("", "a", "1", 0, &cache, &writer, &f->err), DET_E_INVALID,
               "no name");
  assert_fails(det_trial_cache_open(f->home, "a", "1", -7, &cache, &writer, &f->err), DET_E_INVALID,
               "timeout");
  assert_fails(det_trial_cache_open(f->home, "a", "1", 0, &cache, NULL, &f->err), DET_E_INVALID,
               "out_writer");
  const size_t size = 1;
  assert_ok(det_trial_cache_open(f->home, "a", "1", 0, &cache, &writer, &f->err));
  assert_fails(det_trial_cache_writer_add(writer, NULL, &size, 1, &f->err), DET_E_INVALID,
               "records");
  assert_fails(det_trial_cache_writer_add(writer, "a", NULL, 1, &f->err), DET_E_INVALID, "sizes");
  det_trial_cache_writer_free(writer);
  write_three(f);
  cache = open_complete(f);
  det_trial_cache_reader_options options = DET_TRIAL_CACHE_READER_OPTIONS_INIT;
  options.shards = 4;
  det_trial_cache_reader *reader;
  assert_fails(det_trial_cache_reader_create(cache, &options, &reader, &f->err), DET_E_INVALID,
               "3 records");
  assert_null(reader);
  assert_fails(det_trial_cache_reader_create(NULL, NULL, &reader, &f->err), DET_E_INVALID, "cache");
  det_trial_cache_free(cache);
  det_trial_cache_free(NULL);
  det_trial_cache_writer_free(NULL);
  det_trial_cache_reader_free(NULL);
  assert_int_equal(det_trial_cache_count(NULL), 0);
  assert_string_equal(det_trial_cache_metadata(NULL), "");
}

static void a_directory_is_no_bucket(void **state) {
  struct fixture *f = *state;
  det_storage *storage;
  det_trial_cache *cache;
  det_trial_cache_writer *writer;
  assert_ok(det_storage_open(f->home, &storage, &f->err));
  assert_fails(det_trial_cache_open_bucket(storage, f->home, "digits", "1", DET_TIMEOUT_NONE,
                                           &cache, &writer, &f->err),
               DET_E_INVALID, "no bucket");
  assert_null(cache);
  assert_null(writer);
  det_storage_free(storage);
  assert_fails(det_trial_cache_open_bucket(NULL, f->home, "digits", "1", DET_TIMEOUT_NONE, &cache,
                                           &writer, &f->err),
               DET_E_INVALID, "bucket");
}

int test_trial_cache(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_one_writes_all_read, setup_home, teardown),
      cmocka_unit_test_setup_teardown(impossible_arguments_are_refused, setup_home, teardown),
      cmocka_unit_test_setup_teardown(a_directory_is_no_bucket, setup_home, teardown),
  };
  return cmocka_run_group_tests_name("trial_cache", tests, NULL, NULL);
}
