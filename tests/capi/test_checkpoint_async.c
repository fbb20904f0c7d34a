#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "tests/capi/checkpoint_files.h"
#include "tests/open_store.h"
#include "tests/storage_id.h"

/* The directory of the program's own files. */
static const char *make_source(struct fixture *f, char *path, size_t size) {
  snprintf(path, size, "%s/source", f->home);
  assert_int_equal(mkdir(path, 0755), 0);
  write_file(path, "weights", "1 2 3");
  return path;
}

static void assert_restores(struct fixture *f, const char *id, const char *expected) {
  det_checkpoint_reader *restore;
  assert_ok(det_checkpoint_reader_open(checkpoint_of(f), id, NULL, &restore, &f->err));
  assert_file(det_checkpoint_reader_path(restore), "weights", expected);
  det_checkpoint_reader_free(restore);
}

static int is_listed(struct fixture *f, const char *id) {
  det_checkpoint_entries *list;
  int found = 0;
  assert_ok(det_checkpoint_list(checkpoint_of(f), &list, &f->err));
  for (size_t i = 0; i < det_checkpoint_entries_count(list); ++i)
    if (strcmp(det_checkpoint_entries_id(list, i), id) == 0) found = 1;
  det_checkpoint_entries_free(list);
  return found;
}

static det_checkpoint_ticket *upload(struct fixture *f, const char *source) {
  det_checkpoint_ticket *ticket;
  assert_ok(det_checkpoint_upload_async(checkpoint_of(f), source, META, NULL, &ticket, &f->err));
  return ticket;
}

/* A save that fails in the background: something else stands where it is to go. */
static det_checkpoint_ticket *save_in_vain(struct fixture *f) {
  det_checkpoint_writer *store;
  det_checkpoint_ticket *ticket;
  char path[512];
  assert_ok(det_checkpoint_writer_begin(checkpoint_of(f), META, NULL, &store, &f->err));
  snprintf(path, sizeof path, "%s/../../%s", det_checkpoint_writer_path(store),
           det_checkpoint_writer_id(store));
  assert_int_equal(mkdir(path, 0700), 0);
  strcat(path, "/in the way");
  assert_int_equal(mkdir(path, 0700), 0);
  assert_ok(det_checkpoint_writer_commit_async(store, &ticket, &f->err));
  det_checkpoint_writer_free(store);
  return ticket;
}

static void what_is_uploaded_may_be_changed_at_once(void **state) {
  struct fixture *f = *state;
  char source[128], id[STORAGE_ID_SIZE];
  det_ticket_state now = -1;
  det_progress progress = {sizeof progress, -1, -1, -1, -1};
  make_source(f, source, sizeof source);
  det_checkpoint_ticket *ticket = upload(f, source);
  write_file(source, "weights", "9 9 9");
  strcpy(id, det_checkpoint_ticket_id(ticket));
  assert_ok(det_checkpoint_ticket_wait(ticket, DET_TIMEOUT_INFINITE, &f->err));
  assert_ok(det_checkpoint_ticket_wait(ticket, 1, &f->err));
  assert_ok(det_checkpoint_ticket_poll(ticket, &now, &progress, &f->err));
  assert_int_equal(now, DET_TICKET_SAVED);
  assert_int_equal(progress.files, 2); /* metadata.json is one */
  assert_int_equal(progress.bytes, progress.total_bytes);
  det_checkpoint_ticket_free(ticket);
  assert_true(is_listed(f, id));
  assert_restores(f, id, "1 2 3");
}

static void a_store_is_committed_in_the_background(void **state) {
  struct fixture *f = *state;
  det_checkpoint_writer *store;
  det_checkpoint_ticket *ticket;
  char id[STORAGE_ID_SIZE];
  assert_ok(det_checkpoint_writer_begin(checkpoint_of(f), NULL, NULL, &store, &f->err));
  write_file(det_checkpoint_writer_path(store), "weights", "4 5 6");
  assert_fails(det_checkpoint_writer_commit_async(store, &ticket, &f->err), DET_E_INVALID,
               "metadata");
  assert_null(ticket);
  assert_ok(det_checkpoint_writer_set_metadata(store, META, &f->err));
  assert_ok(det_checkpoint_writer_commit_async(store, &ticket, &f->err));
  strcpy(id, det_checkpoint_writer_id(store));
  assert_string_equal(det_checkpoint_ticket_id(ticket), id);
  assert_fails(det_checkpoint_writer_commit(store, &f->err), DET_E_STATE, "committed before");
  assert_fails(det_checkpoint_writer_abort(store, &f->err), DET_E_STATE, "committed before");
  det_checkpoint_writer_free(store);
  assert_ok(det_checkpoint_ticket_wait(ticket, DET_TIMEOUT_DEFAULT, &f->err));
  det_checkpoint_ticket_free(ticket);
  assert_restores(f, id, "4 5 6");
}

static void close_waits_for_what_is_under_way(void **state) {
  struct fixture *f = *state;
  char source[128], id[STORAGE_ID_SIZE];
  make_source(f, source, sizeof source);
  for (int i = 0; i < 5; ++i) { /* more than may be in flight */
    det_checkpoint_ticket *ticket = upload(f, source);
    strcpy(id, det_checkpoint_ticket_id(ticket));
    det_checkpoint_ticket_free(ticket);
  }
  restart(f, DET_OUTCOME_OK);
  assert_string_equal(det_info_latest_checkpoint(det_core_info(f->core)), id);
  assert_restores(f, id, "1 2 3");
}

static void a_failure_is_told_at_the_next_save_and_once(void **state) {
  struct fixture *f = *state;
  char source[128], *id;
  det_checkpoint_writer *store;
  make_source(f, source, sizeof source);
  det_checkpoint_ticket_free(save_in_vain(f));
  assert_fails(det_checkpoint_upload(checkpoint_of(f), source, META, NULL, &id, &f->err),
               DET_E_CONFLICT, "taken");
  assert_null(id);
  assert_ok(det_checkpoint_upload(checkpoint_of(f), source, META, NULL, &id, &f->err));
  det_free(id);

  det_checkpoint_ticket *ticket = save_in_vain(f);
  det_ticket_state now = DET_TICKET_WAITING;
  while (now < DET_TICKET_SAVED) assert_ok(det_checkpoint_ticket_poll(ticket, &now, NULL, &f->err));
  assert_int_equal(now, DET_TICKET_FAILED);
  assert_fails(det_checkpoint_writer_begin(checkpoint_of(f), META, NULL, &store, &f->err),
               DET_E_CONFLICT, det_checkpoint_ticket_id(ticket));
  assert_ok(det_checkpoint_writer_begin(checkpoint_of(f), META, NULL, &store, &f->err));
  det_checkpoint_writer_free(store);
  assert_fails(det_checkpoint_ticket_wait(ticket, 0, &f->err), DET_E_CONFLICT, "taken");
  det_checkpoint_ticket_free(ticket);
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
}

static void a_failure_that_nobody_heard_is_told_by_close(void **state) {
  struct fixture *f = *state;
  det_checkpoint_ticket_free(save_in_vain(f));
  assert_fails(det_core_close(f->core, DET_OUTCOME_OK, &f->err), DET_E_CONFLICT, "taken");
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
}

static void a_failure_that_was_heard_is_not_told_again(void **state) {
  struct fixture *f = *state;
  det_checkpoint_ticket *ticket = save_in_vain(f);
  assert_fails(det_checkpoint_ticket_wait(ticket, DET_TIMEOUT_DEFAULT, &f->err), DET_E_CONFLICT,
               "taken");
  assert_fails(det_checkpoint_ticket_wait(ticket, DET_TIMEOUT_DEFAULT, &f->err), DET_E_CONFLICT,
               "taken");
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
  assert_fails(det_checkpoint_ticket_wait(ticket, DET_TIMEOUT_DEFAULT, &f->err), DET_E_CONFLICT,
               "taken");
  det_checkpoint_ticket_free(ticket);
}

static void what_was_saved_cannot_be_cancelled(void **state) {
  struct fixture *f = *state;
  char source[128];
  det_checkpoint_ticket *ticket = upload(f, make_source(f, source, sizeof source));
  assert_ok(det_checkpoint_ticket_wait(ticket, DET_TIMEOUT_DEFAULT, &f->err));
  assert_fails(det_checkpoint_ticket_cancel(ticket, &f->err), DET_E_STATE,
               "det_checkpoint_delete()");
  assert_true(is_listed(f, det_checkpoint_ticket_id(ticket)));
  det_checkpoint_ticket_free(ticket);
}

static void a_cancelled_save_leaves_nothing(void **state) {
  struct fixture *f = *state;
  char source[128], path[512];
  struct stat about;
  make_source(f, source, sizeof source);
  for (int i = 0; i < 20; ++i) {
    det_checkpoint_ticket *ticket = upload(f, source);
    const char *id = det_checkpoint_ticket_id(ticket);
    snprintf(path, sizeof path, "%s/checkpoints/%s", f->home, id);
    const det_status status = det_checkpoint_ticket_cancel(ticket, &f->err);
    det_ticket_state now;
    assert_ok(det_checkpoint_ticket_poll(ticket, &now, NULL, &f->err));
    assert_int_equal(status == DET_OK, now == DET_TICKET_CANCELLED);
    assert_int_equal(status == DET_OK, !is_listed(f, id));
    assert_int_equal(status == DET_OK, stat(path, &about) != 0);
    if (status == DET_OK)
      assert_fails(det_checkpoint_ticket_wait(ticket, 0, &f->err), DET_E_STATE, "cancelled");
    det_checkpoint_ticket_free(ticket);
  }
  assert_ok(det_core_close(f->core, DET_OUTCOME_OK, &f->err));
}

static void limits_are_checked(void **state) {
  struct fixture *f = *state;
  char source[128];
  det_checkpoint_ticket *ticket;
  det_save_limits limits = DET_SAVE_LIMITS_INIT;
  make_source(f, source, sizeof source);
  limits.in_flight = -1;
  assert_fails(det_checkpoint_limit_saves(checkpoint_of(f), &limits, &f->err), DET_E_INVALID,
               "negative");
  limits.in_flight = 0;
  limits.limit_bytes = 10;
  assert_ok(det_checkpoint_limit_saves(checkpoint_of(f), &limits, &f->err));
  assert_fails(det_checkpoint_upload_async(checkpoint_of(f), source, META, NULL, &ticket, &f->err),
               DET_E_FULL, "limit_bytes");
  assert_null(ticket);
  assert_ok(det_checkpoint_limit_saves(checkpoint_of(f), NULL, &f->err));
  ticket = upload(f, source);
  assert_ok(det_checkpoint_ticket_wait(ticket, DET_TIMEOUT_DEFAULT, &f->err));
  det_checkpoint_ticket_free(ticket);
}

static det_status stage_in(struct fixture *f, const char *directory, int64_t limit) {
  det_staging_options options = DET_STAGING_OPTIONS_INIT;
  options.directory = directory;
  options.limit_bytes = limit;
  return det_checkpoint_stage_saves(checkpoint_of(f), &options, &f->err);
}

/* A directory for staging, beside the storage. */
static void stage(struct fixture *f, int64_t limit) {
  char path[128];
  snprintf(path, sizeof path, "%s/stage", f->home);
  assert_ok(stage_in(f, path, limit));
}

/* What is staged or kept under an id. */
static int is_kept(struct fixture *f, const char *id, const char *name) {
  char path[256];
  snprintf(path, sizeof path, "%s/stage/.detcore-saves-%u/%s", f->home, (unsigned)geteuid(), id);
  return exists(path, name);
}

static void copies_are_kept_and_read_while_there_is_room(void **state) {
  struct fixture *f = *state;
  char source[128], ids[3][STORAGE_ID_SIZE], path[512];
  make_source(f, source, sizeof source);
  stage(f, 80); /* two of 31 bytes and none more */
  for (int i = 0; i < 3; ++i) {
    det_checkpoint_ticket *ticket = upload(f, source);
    strcpy(ids[i], det_checkpoint_ticket_id(ticket));
    assert_ok(det_checkpoint_ticket_wait(ticket, DET_TIMEOUT_DEFAULT, &f->err));
    det_checkpoint_ticket_free(ticket);
  }
  assert_false(is_kept(f, ids[0], ""));
  assert_true(is_kept(f, ids[1], "") && is_kept(f, ids[2], ""));
  for (int i = 0; i < 3; ++i) assert_restores(f, ids[i], "1 2 3");

  /* The copy is read, and not where it is damaged. */
  det_checkpoint_reader *restore;
  assert_ok(det_checkpoint_reader_open(checkpoint_of(f), ids[2], NULL, &restore, &f->err));
  assert_non_null(strstr(det_checkpoint_reader_path(restore), "/stage/"));
  snprintf(path, sizeof path, "%s", det_checkpoint_reader_path(restore));
  det_checkpoint_reader_free(restore);
  write_file(path, "weights", "1 2 4");
  assert_restores(f, ids[2], "1 2 3");
  assert_false(is_kept(f, ids[2], ""));

  assert_ok(det_checkpoint_delete(checkpoint_of(f), ids[1], &f->err));
  assert_false(is_kept(f, ids[1], ""));
  assert_fails(det_checkpoint_reader_open(checkpoint_of(f), ids[1], NULL, &restore, &f->err),
               DET_E_NOT_FOUND, ids[1]);
}

static int remove_large(const char *source) {
  char path[256];
  snprintf(path, sizeof path, "%s/large", source);
  return remove(path);
}

/* The limit says that there is room, and the file system that there is none. */
static void what_finds_no_room_in_staging_is_saved_without(void **state) {
  struct fixture *f = *state;
  char source[128], place[128], id[STORAGE_ID_SIZE];
  snprintf(place, sizeof place, "%s/stage", f->home);
  assert_int_equal(mkdir(place, 0700), 0);
  if (mount("tmpfs", place, "tmpfs", 0, "size=256k") != 0) skip(); /* only root may */
  make_source(f, source, sizeof source);
  char large[300 << 10];
  memset(large, 'x', sizeof large - 1);
  large[sizeof large - 1] = 0;
  write_file(source, "large", large);
  stage(f, 1 << 20);
  det_checkpoint_ticket *ticket = upload(f, source);
  strcpy(id, det_checkpoint_ticket_id(ticket));
  const det_status status = det_checkpoint_ticket_wait(ticket, DET_TIMEOUT_DEFAULT, &f->err);
  det_checkpoint_ticket_free(ticket);
  const int left = is_kept(f, id, "");
  /* What fits is staged again. */
  assert_int_equal(remove_large(source), 0);
  ticket = upload(f, source);
  const det_status again = det_checkpoint_ticket_wait(ticket, DET_TIMEOUT_DEFAULT, &f->err);
  const int kept = is_kept(f, det_checkpoint_ticket_id(ticket), "");
  det_checkpoint_ticket_free(ticket);
  assert_int_equal(umount2(place, MNT_DETACH), 0); /* before anything fails the test */
  assert_true(status == DET_OK && again == DET_OK && !left && kept);
  assert_non_null(strstr(f->log, "without staging it"));
  assert_restores(f, id, "1 2 3");
}

static void null_is_refused_or_does_nothing(void **state) {
  struct fixture *f = *state;
  det_checkpoint_ticket *ticket = (det_checkpoint_ticket *)f;
  assert_fails(det_checkpoint_upload_async(NULL, f->home, META, NULL, &ticket, &f->err),
               DET_E_INVALID, "checkpoint");
  assert_null(ticket);
  assert_fails(det_checkpoint_upload_async(checkpoint_of(f), f->home, META, NULL, NULL, &f->err),
               DET_E_INVALID, "out");
  assert_fails(det_checkpoint_upload_async(checkpoint_of(f), NULL, META, NULL, &ticket, &f->err),
               DET_E_STATE, "directory");
  assert_fails(det_checkpoint_writer_commit_async(NULL, &ticket, &f->err), DET_E_INVALID, "writer");
  assert_fails(det_checkpoint_ticket_poll(NULL, NULL, NULL, &f->err), DET_E_INVALID, "ticket");
  assert_fails(det_checkpoint_ticket_wait(NULL, 0, &f->err), DET_E_INVALID, "ticket");
  assert_fails(det_checkpoint_ticket_cancel(NULL, &f->err), DET_E_INVALID, "ticket");
  assert_fails(det_checkpoint_limit_saves(NULL, NULL, &f->err), DET_E_INVALID, "checkpoint");
  assert_null(det_checkpoint_ticket_id(NULL));
  det_checkpoint_ticket_free(NULL);
  assert_fails(det_checkpoint_stage_saves(NULL, NULL, &f->err), DET_E_INVALID, "checkpoint");
  assert_ok(det_checkpoint_stage_saves(checkpoint_of(f), NULL, &f->err));
  det_staging_options staging = DET_STAGING_OPTIONS_INIT;
  staging.directory = f->home;
  assert_fails(det_checkpoint_stage_saves(checkpoint_of(f), &staging, &f->err), DET_E_INVALID,
               "limit_bytes");
}

static void a_forked_child_is_refused(void **state) {
  struct fixture *f = *state;
  char source[128];
  det_checkpoint_ticket *ticket = upload(f, make_source(f, source, sizeof source)), *other;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    int wrong = det_checkpoint_ticket_poll(ticket, NULL, NULL, NULL) != DET_E_STATE;
    wrong |= det_checkpoint_ticket_wait(ticket, 0, NULL) != DET_E_STATE;
    wrong |= det_checkpoint_ticket_cancel(ticket, NULL) != DET_E_STATE;
    wrong |= det_checkpoint_upload_async(checkpoint_of(f), source, META, NULL, &other, NULL) !=
             DET_E_STATE;
    det_checkpoint_ticket_free(ticket);
    det_core_free(f->core);
    _exit(wrong);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_ok(det_checkpoint_ticket_wait(ticket, DET_TIMEOUT_DEFAULT, &f->err));
  assert_true(is_listed(f, det_checkpoint_ticket_id(ticket)));
  det_checkpoint_ticket_free(ticket);
}

/* Saves and is killed before the background has got far. */
static _Noreturn void save_and_die(struct fixture *f, const char *staging, int told) {
  det_checkpoint_writer *store;
  det_checkpoint_ticket *ticket;
  char path[512];
  if (det_core_init(&f->options, &f->core, &f->err) != DET_OK ||
      (staging != NULL && stage_in(f, staging, 1 << 30) != DET_OK) ||
      det_checkpoint_writer_begin(checkpoint_of(f), META, NULL, &store, &f->err) != DET_OK)
    _exit(1);
  const char *directory = det_checkpoint_writer_path(store);
  write_file(directory, "weights", "of the dead");
  snprintf(path, sizeof path, "%s/large", directory);
  FILE *large = fopen(path, "w");
  if (large == NULL || ftruncate(fileno(large), 64 << 20) != 0 || fclose(large) != 0) _exit(1);
  if (det_checkpoint_writer_commit_async(store, &ticket, &f->err) != DET_OK) _exit(1);
  if (write(told, det_checkpoint_ticket_id(ticket), 36) != 36) _exit(1);
  raise(SIGKILL);
  _exit(1);
}

static void let_it_save_and_die(struct fixture *f, const char *staging, char *id) {
  int told[2], status;
  f->options.external_id = "the same";
  assert_int_equal(pipe(told), 0);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) save_and_die(f, staging, told[1]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(read(told[0], id, 36), 36);
  close(told[0]);
  close(told[1]);
}

static void what_a_killed_process_had_begun_the_next_start_finishes(void **state) {
  struct fixture *f = *state;
  char id[STORAGE_ID_SIZE] = "";
  let_it_save_and_die(f, NULL, id);
  start(f);
  assert_non_null(det_info_latest_checkpoint(det_core_info(f->core)));
  assert_string_equal(det_info_latest_checkpoint(det_core_info(f->core)), id);
  assert_int_equal(det_info_steps_completed(det_core_info(f->core)), 7);
  assert_true(is_listed(f, id));
  assert_restores(f, id, "of the dead");
}

/* Where a process that is killed leaves it in memory, and where on a disk. */
static void what_a_killed_process_had_staged_is_stored_once_it_is_staged_there_again(void **state) {
  struct fixture *f = *state;
  char memory[] = "/dev/shm/det-async-XXXXXX", command[64], disk[128];
  snprintf(disk, sizeof disk, "%s/stage", f->home);
  assert_non_null(mkdtemp(memory));
  const char *places[] = {disk, memory};
  for (int i = 0; i < 2; ++i) {
    char id[STORAGE_ID_SIZE] = "";
    let_it_save_and_die(f, places[i], id);
    start(f);
    assert_ok(stage_in(f, places[i], 1 << 30));
    assert_ok(det_core_close(f->core, DET_OUTCOME_ERROR, &f->err)); /* waits for it */
    det_core_free(f->core);
    start(f);
    assert_true(is_listed(f, id));
    assert_restores(f, id, "of the dead");
    assert_ok(det_core_close(f->core, DET_OUTCOME_ERROR, &f->err));
    det_core_free(f->core);
    f->core = NULL;
  }
  snprintf(command, sizeof command, "rm -rf '%s'", memory);
  assert_int_equal(system(command), 0);
}

int test_checkpoint_async(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_is_uploaded_may_be_changed_at_once, setup_keeping,
                                      teardown),
      cmocka_unit_test_setup_teardown(a_store_is_committed_in_the_background, setup_keeping,
                                      teardown),
      cmocka_unit_test_setup_teardown(close_waits_for_what_is_under_way, setup_keeping, teardown),
      cmocka_unit_test_setup_teardown(a_failure_is_told_at_the_next_save_and_once, setup_keeping,
                                      teardown),
      cmocka_unit_test_setup_teardown(a_failure_that_nobody_heard_is_told_by_close, setup_keeping,
                                      teardown),
      cmocka_unit_test_setup_teardown(a_failure_that_was_heard_is_not_told_again, setup_keeping,
                                      teardown),
      cmocka_unit_test_setup_teardown(what_was_saved_cannot_be_cancelled, setup_keeping, teardown),
      cmocka_unit_test_setup_teardown(a_cancelled_save_leaves_nothing, setup_keeping, teardown),
      cmocka_unit_test_setup_teardown(limits_are_checked, setup_keeping, teardown),
      cmocka_unit_test_setup_teardown(copies_are_kept_and_read_while_there_is_room, setup_keeping,
                                      teardown),
      cmocka_unit_test_setup_teardown(what_finds_no_room_in_staging_is_saved_without, setup_keeping,
                                      teardown),
      cmocka_unit_test_setup_teardown(null_is_refused_or_does_nothing, setup_keeping, teardown),
      cmocka_unit_test_setup_teardown(a_forked_child_is_refused, setup_keeping, teardown),
      cmocka_unit_test_setup_teardown(what_a_killed_process_had_begun_the_next_start_finishes,
                                      setup_home, teardown),
      cmocka_unit_test_setup_teardown(
          what_a_killed_process_had_staged_is_stored_once_it_is_staged_there_again, setup_home,
          teardown),
  };
  return cmocka_run_group_tests_name("checkpoint_async", tests, NULL, NULL);
}
