#include <errno.h>
#include <fcntl.h>

#include "tests/capi/checkpoint_files.h"
#include "tests/open_store.h"
#include "tests/storage_id.h"

/* Saves a checkpoint with one file; gives its id. */
static void save(struct fixture *f, const char *meta, char *id) {
  det_checkpoint_writer *store;
  assert_ok(det_checkpoint_writer_begin(checkpoint_of(f), meta, NULL, &store, &f->err));
  write_file(det_checkpoint_writer_path(store), "weights", "1 2 3");
  assert_ok(det_checkpoint_writer_commit(store, &f->err));
  strcpy(id, det_checkpoint_writer_id(store));
  det_checkpoint_writer_free(store);
}

static void a_saved_checkpoint_is_restored(void **state) {
  struct fixture *f = *state;
  char id[STORAGE_ID_SIZE];
  det_checkpoint_reader *restore;
  save(f, META, id);
  assert_ok(det_checkpoint_reader_open(checkpoint_of(f), id, NULL, &restore, &f->err));
  assert_file(det_checkpoint_reader_path(restore), "weights", "1 2 3");
  assert_file(det_checkpoint_reader_path(restore), "metadata.json",
              "{\n  \"steps_completed\": 7\n}");
  det_checkpoint_reader_free(restore);
}

static void the_next_run_starts_from_the_latest_checkpoint(void **state) {
  struct fixture *f = *state;
  char first[STORAGE_ID_SIZE], second[STORAGE_ID_SIZE];
  save(f, "{\"steps_completed\": 10}", first);
  save(f, "{\"steps_completed\": 20}", second);
  restart(f, DET_OUTCOME_ERROR);
  assert_string_equal(det_info_latest_checkpoint(det_core_info(f->core)), second);
  assert_int_equal(det_info_steps_completed(det_core_info(f->core)), 20);
  assert_ok(det_checkpoint_delete(checkpoint_of(f), second, &f->err));
  restart(f, DET_OUTCOME_ERROR);
  assert_string_equal(det_info_latest_checkpoint(det_core_info(f->core)), first);
}

static void metadata_must_have_integer_steps_before_anything_is_stored(void **state) {
  struct fixture *f = *state;
  const char *bad[] = {"{}", "{\"steps_completed\": 1.5}", "{\"steps_completed\": \"7\"}",
                       "{\"steps_completed\": -1}", "{\"steps_completed\": null}"};
  char *id = NULL;
  det_checkpoint_writer *store = (det_checkpoint_writer *)f;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    assert_fails(det_checkpoint_writer_begin(checkpoint_of(f), bad[i], NULL, &store, &f->err),
                 DET_E_INVALID, "steps_completed");
    assert_null(store);
    assert_fails(det_checkpoint_upload(checkpoint_of(f), f->home, bad[i], NULL, &id, &f->err),
                 DET_E_INVALID, "steps_completed");
    assert_null(id);
  }
  assert_fails(det_checkpoint_writer_begin(checkpoint_of(f), "[]", NULL, &store, &f->err),
               DET_E_INVALID, "metadata_json");
  assert_false(exists(f->home, "metadata.json"));
  det_free(id);
}

static void metadata_may_come_before_the_commit(void **state) {
  struct fixture *f = *state;
  const det_checkpoint_options shard = {sizeof shard, NULL, NULL, NULL, 1, 0};
  const det_checkpoint_options *const ways[] = {NULL, &shard};
  for (size_t i = 0; i < 2; ++i) {
    det_checkpoint_writer *store;
    char *json;
    assert_ok(det_checkpoint_writer_begin(checkpoint_of(f), NULL, ways[i], &store, &f->err));
    assert_fails(det_checkpoint_writer_set_metadata(store, "[]", &f->err), DET_E_INVALID,
                 "metadata_json");
    assert_ok(det_checkpoint_writer_set_metadata(store, META, &f->err));
    assert_ok(det_checkpoint_writer_set_metadata(store, "{\"steps_completed\": 9, \"loss\": 0.5}",
                                                 &f->err));
    assert_ok(det_checkpoint_writer_commit(store, &f->err));
    assert_fails(det_checkpoint_writer_set_metadata(store, META, &f->err), DET_E_STATE,
                 "committed before");
    assert_ok(det_checkpoint_get_metadata(checkpoint_of(f), det_checkpoint_writer_id(store), &json,
                                          &f->err));
    assert_non_null(strstr(json, "\"steps_completed\":9,\"loss\":0.5"));
    det_free(json);
    det_checkpoint_writer_free(store);

    assert_ok(det_checkpoint_writer_begin(checkpoint_of(f), NULL, ways[i], &store, &f->err));
    assert_fails(det_checkpoint_writer_commit(store, &f->err), DET_E_INVALID, "metadata");
    det_checkpoint_writer_free(store);
  }
  assert_fails(det_checkpoint_writer_set_metadata(NULL, META, &f->err), DET_E_INVALID, "writer");
}

static void a_trial_lists_its_own_checkpoints(void **state) {
  struct fixture *f = *state;
  char first[STORAGE_ID_SIZE], second[STORAGE_ID_SIZE], gone[STORAGE_ID_SIZE];
  det_checkpoint_entries *entries;
  assert_ok(det_checkpoint_list(checkpoint_of(f), &entries, &f->err));
  assert_int_equal(det_checkpoint_entries_count(entries), 0);
  det_checkpoint_entries_free(entries);
  save(f, "{\"steps_completed\": 20}", second);
  save(f, "{\"steps_completed\": 10}", first);
  save(f, "{\"steps_completed\": 30}", gone);
  assert_ok(det_checkpoint_delete(checkpoint_of(f), gone, &f->err));
  restart(f, DET_OUTCOME_ERROR);
  assert_ok(det_checkpoint_list(checkpoint_of(f), &entries, &f->err));
  assert_int_equal(det_checkpoint_entries_count(entries), 2);
  assert_string_equal(det_checkpoint_entries_id(entries, 0), second);
  assert_string_equal(det_checkpoint_entries_id(entries, 1), first);
  assert_int_equal(det_checkpoint_entries_steps_completed(entries, 0), 20);
  assert_true(det_checkpoint_entries_time_us(entries, 0) <
              det_checkpoint_entries_time_us(entries, 1));
  assert_true(det_checkpoint_entries_size(entries, 0) > 5);
  assert_null(det_checkpoint_entries_id(entries, 2));
  assert_int_equal(det_checkpoint_entries_steps_completed(entries, 2), -1);
  assert_int_equal(det_checkpoint_entries_size(NULL, 0), -1);
  assert_int_equal(det_checkpoint_entries_time_us(NULL, 0), 0);
  det_checkpoint_entries_free(entries);
  det_checkpoint_entries_free(NULL);
  assert_fails(det_checkpoint_list(NULL, &entries, &f->err), DET_E_INVALID, "checkpoint");
}

static void store_calls_in_a_wrong_order_are_refused(void **state) {
  struct fixture *f = *state;
  det_checkpoint_writer *store;
  assert_ok(det_checkpoint_writer_begin(checkpoint_of(f), META, NULL, &store, &f->err));
  assert_ok(det_checkpoint_writer_commit(store, &f->err));
  assert_fails(det_checkpoint_writer_commit(store, &f->err), DET_E_STATE, "committed before");
  assert_fails(det_checkpoint_writer_abort(store, &f->err), DET_E_STATE, "committed before");
  det_checkpoint_writer_free(store);

  assert_ok(det_checkpoint_writer_begin(checkpoint_of(f), META, NULL, &store, &f->err));
  assert_ok(det_checkpoint_writer_abort(store, &f->err));
  assert_ok(det_checkpoint_writer_abort(store, &f->err));
  assert_fails(det_checkpoint_writer_commit(store, &f->err), DET_E_STATE, "aborted before");
  det_checkpoint_writer_free(store);
}

static void an_aborted_or_freed_store_leaves_nothing(void **state) {
  struct fixture *f = *state;
  det_checkpoint_writer *store;
  char *json, path[256];
  assert_ok(det_checkpoint_writer_begin(checkpoint_of(f), META, NULL, &store, &f->err));
  write_file(det_checkpoint_writer_path(store), "weights", "x");
  strcpy(path, det_checkpoint_writer_path(store));
  det_checkpoint_writer_free(store);
  assert_false(exists(path, ""));
  det_client *client;
  assert_ok(open_store(f->home, &client, &f->err));
  assert_ok(det_client_list_checkpoints(client, 0, NULL, &json, &f->err));
  assert_string_equal(json, "{\"checkpoints\":[],\"next\":null}");
  det_free(json);
  det_client_free(client);
}

static void a_store_may_outlive_its_core(void **state) {
  struct fixture *f = *state;
  det_checkpoint_writer *store;
  assert_ok(det_checkpoint_writer_begin(checkpoint_of(f), META, NULL, &store, &f->err));
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  det_core_free(f->core);
  f->core = NULL;
  assert_fails(det_checkpoint_writer_commit(store, &f->err), DET_E_STATE, "after det_core_close");
  det_checkpoint_writer_free(store);
}

static int32_t only_b(const char *path, void *user_data) {
  ++*(int *)user_data;
  return strcmp(path, "b") == 0;
}

static int32_t refuse(const char *path, void *user_data) {
  (void)path;
  (void)user_data;
  return -3;
}

/* A directory with files a and b and an empty directory. */
static const char *make_source(struct fixture *f) {
  static char source[128];
  snprintf(source, sizeof source, "%s/source", f->home);
  char inner[160];
  snprintf(inner, sizeof inner, "%s/empty", source);
  assert_int_equal(mkdir(source, 0777), 0);
  assert_int_equal(mkdir(inner, 0777), 0);
  write_file(source, "a", "A");
  write_file(source, "b", "B");
  return source;
}

static void upload_stores_the_directory_and_its_metadata(void **state) {
  struct fixture *f = *state;
  char *id = NULL, target[128], *json;
  const char *source = make_source(f);
  assert_ok(det_checkpoint_upload(checkpoint_of(f), source, META, NULL, &id, &f->err));
  assert_int_equal(strlen(id), 36);
  assert_file(source, "metadata.json", "{\n  \"steps_completed\": 7\n}");
  snprintf(target, sizeof target, "%s/deep/target", f->home);
  assert_ok(det_checkpoint_download(checkpoint_of(f), id, target, NULL, &f->err));
  assert_file(target, "a", "A");
  assert_true(exists(target, "empty"));
  assert_file(target, "metadata.json", "{\n  \"steps_completed\": 7\n}");
  assert_ok(det_checkpoint_get_metadata(checkpoint_of(f), id, &json, &f->err));
  assert_string_equal(json, "{\"steps_completed\":7}");
  det_free(json);
  det_free(id);
}

static void upload_selectors_choose_and_stop(void **state) {
  struct fixture *f = *state;
  char *id = NULL, target[128];
  int calls = 0;
  const char *source = make_source(f);
  det_checkpoint_options options = {sizeof options, only_b, NULL, &calls, 0, 0};
  assert_ok(det_checkpoint_upload(checkpoint_of(f), source, META, &options, &id, &f->err));
  assert_int_equal(calls, 4); /* a, b, empty/, metadata.json */
  snprintf(target, sizeof target, "%s/target", f->home);
  assert_ok(det_checkpoint_download(checkpoint_of(f), id, target, NULL, &f->err));
  assert_file(target, "b", "B");
  assert_false(exists(target, "a"));
  assert_false(exists(target, "metadata.json"));
  options.selector = refuse;
  det_free(id);
  assert_fails(det_checkpoint_upload(checkpoint_of(f), source, META, &options, &id, &f->err),
               DET_E_CALLBACK, "-3");
  det_free(id);
}

struct watched {
  int64_t bytes, total_bytes, files, total_files;
  int calls, stop_at; /* 0: never */
};

static int32_t watch(const det_progress *progress, void *user_data) {
  struct watched *seen = user_data;
  assert_int_equal(progress->struct_size, sizeof *progress);
  assert_true(progress->bytes >= seen->bytes && progress->files >= seen->files);
  assert_true(progress->bytes <= progress->total_bytes);
  seen->bytes = progress->bytes;
  seen->total_bytes = progress->total_bytes;
  seen->files = progress->files;
  seen->total_files = progress->total_files;
  return ++seen->calls == seen->stop_at ? -4 : 0;
}

static void progress_is_told_to_the_end(void **state) {
  struct fixture *f = *state;
  char *id, target[128];
  struct watched seen = {0, 0, 0, 0, 0, 0};
  det_checkpoint_options options = DET_CHECKPOINT_OPTIONS_INIT;
  options.progress = watch;
  options.user_data = &seen;
  assert_ok(det_checkpoint_upload(checkpoint_of(f), make_source(f), META, &options, &id, &f->err));
  assert_true(seen.calls > 0 && seen.files == 3); /* a, b, metadata.json */
  assert_true(seen.bytes > 0 && seen.bytes == seen.total_bytes && seen.files == seen.total_files);

  det_download_options download = DET_DOWNLOAD_OPTIONS_INIT;
  download.progress = watch;
  download.user_data = &seen;
  memset(&seen, 0, sizeof seen);
  snprintf(target, sizeof target, "%s/target", f->home);
  assert_ok(det_checkpoint_download(checkpoint_of(f), id, target, &download, &f->err));
  assert_true(seen.calls > 0 && seen.files == 3 && seen.bytes == seen.total_bytes);

  det_checkpoint_reader *reader;
  memset(&seen, 0, sizeof seen);
  assert_ok(det_checkpoint_reader_open(checkpoint_of(f), id, &download, &reader, &f->err));
  assert_true(seen.calls > 0 && seen.files == 3);
  det_checkpoint_reader_free(reader);
  det_free(id);
}

static void progress_stops_what_it_is_told_of(void **state) {
  struct fixture *f = *state;
  char *id = NULL;
  struct watched seen = {0, 0, 0, 0, 0, 1};
  det_checkpoint_options options = DET_CHECKPOINT_OPTIONS_INIT;
  det_checkpoint_writer *store;
  det_checkpoint_entries *entries;
  options.progress = watch;
  options.user_data = &seen;
  assert_fails(
      det_checkpoint_upload(checkpoint_of(f), make_source(f), META, &options, &id, &f->err),
      DET_E_CALLBACK, "-4");
  assert_null(id);
  memset(&seen, 0, sizeof seen);
  seen.stop_at = 1;
  assert_ok(det_checkpoint_writer_begin(checkpoint_of(f), META, &options, &store, &f->err));
  write_file(det_checkpoint_writer_path(store), "weights", "1 2 3");
  assert_fails(det_checkpoint_writer_commit(store, &f->err), DET_E_CALLBACK, "-4");
  det_checkpoint_writer_free(store);
  assert_ok(det_checkpoint_list(checkpoint_of(f), &entries, &f->err));
  assert_int_equal(det_checkpoint_entries_count(entries), 0);
  det_checkpoint_entries_free(entries);
}

static void a_job_of_one_rank_may_shard(void **state) {
  struct fixture *f = *state;
  char *id = NULL;
  det_checkpoint_writer *store;
  det_checkpoint_options shard = DET_CHECKPOINT_OPTIONS_INIT;
  shard.shard = 1;
  assert_ok(det_checkpoint_upload(checkpoint_of(f), make_source(f), META, &shard, &id, &f->err));
  assert_ok(det_checkpoint_writer_begin(checkpoint_of(f), META, &shard, &store, &f->err));
  write_file(det_checkpoint_writer_path(store), "weights", "1 2 3");
  assert_ok(det_checkpoint_writer_commit(store, &f->err));
  det_checkpoint_writer_free(store);
  det_free(id);
  assert_fails(det_checkpoint_upload(checkpoint_of(f), NULL, META, &shard, &id, &f->err),
               DET_E_STATE, "no rank gave a directory");
  assert_fails(det_checkpoint_upload(checkpoint_of(f), f->home, NULL, &shard, &id, &f->err),
               DET_E_INVALID, "lacks \"steps_completed\"");
  assert_fails(det_checkpoint_writer_begin(checkpoint_of(f), "{\"a\": 1}", &shard, &store, &f->err),
               DET_E_INVALID, "lacks \"steps_completed\"");
  det_free(id);
}

static void download_selectors_choose_and_stop(void **state) {
  struct fixture *f = *state;
  char *id = NULL, target[128];
  int calls = 0;
  assert_ok(det_checkpoint_upload(checkpoint_of(f), make_source(f), META, NULL, &id, &f->err));
  snprintf(target, sizeof target, "%s/target", f->home);
  det_download_options options = {
      sizeof options, only_b, NULL, &calls, DET_DOWNLOAD_MODE_NO_SHARED, 0};
  assert_ok(det_checkpoint_download(checkpoint_of(f), id, target, &options, &f->err));
  assert_file(target, "b", "B");
  assert_false(exists(target, "a"));
  options.selector = refuse;
  assert_fails(det_checkpoint_download(checkpoint_of(f), id, target, &options, &f->err),
               DET_E_CALLBACK, "-3");
  det_free(id);
}

static void upload_rejects_what_is_no_directory(void **state) {
  struct fixture *f = *state;
  char *id = NULL;
  assert_fails(det_checkpoint_upload(checkpoint_of(f), NULL, META, NULL, &id, &f->err), DET_E_STATE,
               "NULL");
  assert_fails(det_checkpoint_upload(checkpoint_of(f), "/nonexistent", META, NULL, &id, &f->err),
               DET_E_NOT_FOUND, "/nonexistent");
  assert_fails(det_checkpoint_upload(checkpoint_of(f), "/etc/passwd", META, NULL, &id, &f->err),
               DET_E_INVALID, "/etc/passwd");
  assert_fails(det_checkpoint_upload(checkpoint_of(f), f->home, META, NULL, NULL, &f->err),
               DET_E_INVALID, "out_storage_id");
  det_free(id);
}

static void ids_that_could_escape_are_refused(void **state) {
  struct fixture *f = *state;
  const char *bad[] = {"..", ".", "", "a/b", "../etc", "/etc", ".detcore", "a/../../etc", "a\nb"};
  det_checkpoint_reader *restore;
  char *json;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    assert_fails(det_checkpoint_reader_open(checkpoint_of(f), bad[i], NULL, &restore, &f->err),
                 DET_E_INVALID, "id");
    assert_null(restore);
    assert_fails(det_checkpoint_download(checkpoint_of(f), bad[i], f->home, NULL, &f->err),
                 DET_E_INVALID, "id");
    assert_fails(det_checkpoint_delete(checkpoint_of(f), bad[i], &f->err), DET_E_INVALID, "id");
    assert_fails(det_checkpoint_get_metadata(checkpoint_of(f), bad[i], &json, &f->err),
                 DET_E_INVALID, "id");
  }
  assert_true(exists(f->home, ".detcore"));
}

static void unknown_ids_are_not_found(void **state) {
  struct fixture *f = *state;
  const char *id = "00000000-0000-4000-8000-000000000000";
  det_checkpoint_reader *restore;
  char *json;
  assert_fails(det_checkpoint_reader_open(checkpoint_of(f), id, NULL, &restore, &f->err),
               DET_E_NOT_FOUND, id);
  assert_fails(det_checkpoint_download(checkpoint_of(f), id, f->home, NULL, &f->err),
               DET_E_NOT_FOUND, id);
  assert_fails(det_checkpoint_get_metadata(checkpoint_of(f), id, &json, &f->err), DET_E_NOT_FOUND,
               id);
  assert_ok(det_checkpoint_delete(checkpoint_of(f), id, &f->err));
}

static void delete_twice_is_fine_and_restore_then_fails(void **state) {
  struct fixture *f = *state;
  char id[STORAGE_ID_SIZE];
  det_checkpoint_reader *restore;
  save(f, META, id);
  assert_ok(det_checkpoint_delete(checkpoint_of(f), id, &f->err));
  assert_ok(det_checkpoint_delete(checkpoint_of(f), id, &f->err));
  assert_fails(det_checkpoint_reader_open(checkpoint_of(f), id, NULL, &restore, &f->err),
               DET_E_NOT_FOUND, id);
}

static void a_damaged_file_is_named_on_restore(void **state) {
  struct fixture *f = *state;
  char id[STORAGE_ID_SIZE], path[256];
  det_checkpoint_reader *restore;
  save(f, META, id);
  snprintf(path, sizeof path, "%s/%s", f->home, id);
  write_file(path, "weights", "1 2 4"); /* same size, other bytes */
  assert_fails(det_checkpoint_reader_open(checkpoint_of(f), id, NULL, &restore, &f->err),
               DET_E_CORRUPT, "weights");
  det_download_options quick = DET_DOWNLOAD_OPTIONS_INIT;
  quick.skip_verification = 1;
  assert_ok(det_checkpoint_reader_open(checkpoint_of(f), id, &quick, &restore, &f->err));
  det_checkpoint_reader_free(restore);
  write_file(path, "weights", "1 2"); /* another size is always seen */
  assert_fails(det_checkpoint_reader_open(checkpoint_of(f), id, &quick, &restore, &f->err),
               DET_E_CORRUPT, "weights");
}

static void download_modes_out_of_range_are_refused(void **state) {
  struct fixture *f = *state;
  det_download_options options = DET_DOWNLOAD_OPTIONS_INIT;
  options.mode = 2;
  assert_fails(det_checkpoint_download(checkpoint_of(f), "id", f->home, &options, &f->err),
               DET_E_INVALID, "mode 2");
}

static void freeing_null_does_nothing(void **state) {
  (void)state;
  det_checkpoint_writer_free(NULL);
  det_checkpoint_reader_free(NULL);
  assert_null(det_checkpoint_writer_path(NULL));
  assert_null(det_checkpoint_writer_id(NULL));
  assert_null(det_checkpoint_reader_path(NULL));
}

static void null_handles_are_refused(void **state) {
  struct fixture *f = *state;
  char *id = NULL, *json;
  det_checkpoint_writer *store;
  det_checkpoint_reader *restore;
  const char *null_handle = "checkpoint must not be NULL";
  const det_status invalid = DET_E_INVALID;
  assert_fails(det_checkpoint_upload(NULL, "d", META, NULL, &id, &f->err), invalid, null_handle);
  assert_fails(det_checkpoint_writer_begin(NULL, META, NULL, &store, &f->err), invalid,
               null_handle);
  assert_fails(det_checkpoint_download(NULL, "i", "d", NULL, &f->err), invalid, null_handle);
  assert_fails(det_checkpoint_reader_open(NULL, "i", NULL, &restore, &f->err), invalid,
               null_handle);
  assert_fails(det_checkpoint_delete(NULL, "i", &f->err), invalid, null_handle);
  assert_fails(det_checkpoint_get_metadata(NULL, "i", &json, &f->err), invalid, null_handle);
  assert_fails(det_checkpoint_writer_commit(NULL, &f->err), invalid, "writer must not be NULL");
  assert_fails(det_checkpoint_writer_abort(NULL, &f->err), invalid, "writer must not be NULL");
  det_free(id);
}

int test_checkpoint(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup_keeping, teardown)
  const struct CMUnitTest tests[] = {
      CASE(a_saved_checkpoint_is_restored),
      CASE(the_next_run_starts_from_the_latest_checkpoint),
      CASE(metadata_must_have_integer_steps_before_anything_is_stored),
      CASE(metadata_may_come_before_the_commit),
      CASE(a_trial_lists_its_own_checkpoints),
      CASE(progress_is_told_to_the_end),
      CASE(progress_stops_what_it_is_told_of),
      CASE(store_calls_in_a_wrong_order_are_refused),
      CASE(an_aborted_or_freed_store_leaves_nothing),
      CASE(a_store_may_outlive_its_core),
      CASE(upload_stores_the_directory_and_its_metadata),
      CASE(upload_selectors_choose_and_stop),
      CASE(a_job_of_one_rank_may_shard),
      CASE(download_selectors_choose_and_stop),
      CASE(upload_rejects_what_is_no_directory),
      CASE(ids_that_could_escape_are_refused),
      CASE(unknown_ids_are_not_found),
      CASE(delete_twice_is_fine_and_restore_then_fails),
      CASE(a_damaged_file_is_named_on_restore),
      CASE(download_modes_out_of_range_are_refused),
      cmocka_unit_test(freeing_null_does_nothing),
      CASE(null_handles_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
