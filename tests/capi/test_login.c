/* Accounts on a master, which tests/servers/login.py plays. */
#include <det/client.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cmocka.h"

struct site {
  char config[64]; /* the user's config directory */
  char url[64];    /* of the master */
  int life;        /* the master ends when this is closed */
  pid_t master;
  det_error err;
};

static int set_up(void **state) {
  struct site *site = calloc(1, sizeof *site);
  int life[2], port[2];
  char text[16] = "";
  if (site == NULL || pipe(life) != 0 || pipe(port) != 0) return -1;
  strcpy(site->config, "/tmp/detcore-test-XXXXXX");
  if (mkdtemp(site->config) == NULL) return -1;
  site->master = fork();
  if (site->master < 0) return -1;
  if (site->master == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(life[0], STDIN_FILENO);
    dup2(port[1], STDOUT_FILENO);
    close(life[1]);
    execlp("python3", "python3", getenv("DET_TEST_SERVERS"), "login", (char *)NULL);
    _exit(127);
  }
  close(life[0]);
  close(port[1]);
  site->life = life[1];
  if (read(port[0], text, sizeof text - 1) <= 0) return -1;
  close(port[0]);
  snprintf(site->url, sizeof site->url, "http://127.0.0.1:%d", atoi(text));
  setenv("DET_DEBUG_CONFIG_PATH", site->config, 1);
  setenv("DET_MASTER", site->url, 1);
  unsetenv("DET_USER");
  unsetenv("DET_PASS");
  unsetenv("DET_USER_TOKEN");
  site->err = (det_error)DET_ERROR_INIT;
  *state = site;
  return 0;
}

static int tear_down(void **state) {
  struct site *site = *state;
  char file[128];
  close(site->life);
  waitpid(site->master, NULL, 0);
  snprintf(file, sizeof file, "%s/auth.json", site->config);
  unlink(file);
  strcat(file, ".lock");
  unlink(file);
  rmdir(site->config);
  free(site);
  return 0;
}

static void expect_text(char *json, const char *part) {
  assert_non_null(json);
  if (strstr(json, part) == NULL) fail_msg("no %s in %s", part, json);
  det_free(json);
}

static det_client_options access_to(const char *master, const char *user, const char *password) {
  det_client_options options = DET_CLIENT_OPTIONS_INIT;
  options.master = master;
  options.user = user;
  options.password = password;
  return options;
}

static det_status log_in(struct site *site, const char *master, const char *user,
                         const char *password, char **out) {
  const det_client_options options = access_to(master, user, password);
  return det_client_login(&options, out, &site->err);
}

static det_status log_out(struct site *site, const char *master, const char *user, char **out) {
  const det_client_options options = access_to(master, user, NULL);
  return det_client_logout(&options, out, &site->err);
}

static det_status who_am_i(struct site *site, const char *master, char **out) {
  const det_client_options options = access_to(master, NULL, NULL);
  return det_client_whoami(&options, out, &site->err);
}

static void login_is_seen_by_whoami_until_logout(void **state) {
  struct site *site = *state;
  char *json;
  assert_int_equal(log_in(site, site->url, "bob", "hunter2", &json), DET_OK);
  expect_text(json, "\"username\":\"bob\"");
  assert_int_equal(who_am_i(site, site->url, &json), DET_OK);
  expect_text(json, "\"username\":\"bob\"");
  assert_int_equal(log_out(site, site->url, "bob", &json), DET_OK);
  expect_text(json, "\"revoked\":true");
  assert_int_equal(log_out(site, site->url, NULL, &json), DET_E_NOT_FOUND);
  assert_null(json);
}

static void defaults_come_from_the_environment(void **state) {
  struct site *site = *state;
  assert_int_equal(log_in(site, NULL, NULL, NULL, NULL), DET_E_INVALID);
  assert_non_null(strstr(site->err.message, "DET_USER"));
  assert_int_equal(log_in(site, NULL, "bob", NULL, NULL), DET_E_INVALID);
  assert_non_null(strstr(site->err.message, "DET_PASS"));
  setenv("DET_USER", "bob", 1);
  setenv("DET_PASS", "hunter2", 1);
  assert_int_equal(log_in(site, NULL, NULL, NULL, NULL), DET_OK);
  assert_int_equal(log_out(site, NULL, NULL, NULL), DET_OK);
}

static void empty_password_is_one(void **state) {
  struct site *site = *state;
  assert_int_equal(log_in(site, NULL, "determined", "", NULL), DET_OK);
  assert_int_equal(log_in(site, NULL, "bob", "", NULL), DET_E_ACCESS);
}

static void refusals_say_what_was_wrong(void **state) {
  struct site *site = *state;
  char *json = (char *)site;
  assert_int_equal(log_in(site, NULL, "bob", "secret", &json), DET_E_ACCESS);
  assert_null(json);
  assert_int_equal(site->err.http_status, 401);
  assert_non_null(strstr(site->err.message, site->url));
  assert_null(strstr(site->err.message, "secret"));
  assert_int_equal(log_in(site, "/tmp", "bob", "x", NULL), DET_E_INVALID);
  assert_int_equal(log_in(site, NULL, "bob\xff", "x", NULL), DET_E_INVALID);
  assert_int_equal(who_am_i(site, NULL, NULL), DET_E_INVALID);
}

int test_login(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(login_is_seen_by_whoami_until_logout, set_up, tear_down),
      cmocka_unit_test_setup_teardown(defaults_come_from_the_environment, set_up, tear_down),
      cmocka_unit_test_setup_teardown(empty_password_is_one, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refusals_say_what_was_wrong, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
