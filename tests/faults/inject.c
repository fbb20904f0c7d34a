/* Runs a program, and lets one of its system calls fail or be its last one.
 *
 *   inject [-m] [-o REPORT] [CALL:WHAT:WHEN] -- PROGRAM [ARGUMENT]...
 *   inject --calls                     the calls that can fail, each with its errors
 *
 * CALL is a name, or `any` for all of them; WHAT an error such as EIO, or KILL, which kills the
 * process before the call; WHEN the number of the call, counted over all threads and children, with
 * a `+` for all from there on. Without them the calls are counted. The report has a line `call
 * COUNT` for each, and what was hit. A program that marks its part (see mark.h) is left alone
 * elsewhere.
 *
 * The kernel asks us about each call (seccomp's user notification), so nothing escapes that has
 * been linked statically or is called inside a library, and no call is slowed down but those of the
 * table. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/faults/calls.h"
#include "tests/faults/mark.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

static struct {
  const struct call *call; /* NULL: any */
  int error;               /* 0: kill */
  long when;               /* 0: only count */
  int lasting;
} fault;
static long counts[CALLS_MAX], any_count;
static int counting = 1;
static FILE *report;

static void fail(const char *what) {
  fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
  exit(125);
}

static const struct call *call_of_number(int number) {
  for (const struct call *call = calls; call->name; call++)
    if (call->number == number) return call;
  return NULL;
}

static int error_of_name(const char *name) {
  for (int error = 1; error < 200; error++) {
    const char *known = strerrorname_np(error);
    if (known && strcmp(known, name) == 0) return error;
  }
  return 0;
}

static void parse_fault(char *text) {
  char *what = strchr(text, ':'), *when = what ? strchr(what + 1, ':') : NULL;
  if (!when) goto wrong;
  *what++ = *when++ = '\0';
  for (const struct call *call = calls; call->name; call++)
    if (strcmp(call->name, text) == 0) fault.call = call;
  if (!fault.call && strcmp(text, "any") != 0) goto wrong;
  fault.error = error_of_name(what);
  if (fault.error == 0 && strcmp(what, "KILL") != 0) goto wrong;
  fault.when = strtol(when, &when, 10);
  fault.lasting = *when == '+';
  if (fault.when > 0) return;
wrong:
  fprintf(stderr, "inject: a fault is CALL:ERROR:NUMBER; see inject --calls\n");
  exit(125);
}

/* Only the calls of the table stop at the listener, and prctl() where it is the mark. */
static int install_filter(void) {
  static struct sock_filter filter[2 * CALLS_MAX + 8];
  unsigned short size = 0;
  const struct sock_filter ask = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
  const struct sock_filter pass = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
#define LOAD(member) \
  (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define SKIP_UNLESS(value, count) \
  (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), 0, count)
  filter[size++] = LOAD(nr);
  for (const struct call *call = calls; call->name; call++) {
    filter[size++] = SKIP_UNLESS(call->number, 1);
    filter[size++] = ask;
  }
  filter[size++] = SKIP_UNLESS(SYS_prctl, 3);
  filter[size++] = LOAD(args[0]);
  filter[size++] = SKIP_UNLESS(FAULT_MARK, 1);
  filter[size++] = ask;
  filter[size++] = pass;
  const struct sock_fprog program = {size, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const unsigned long listen = SECCOMP_FILTER_FLAG_NEW_LISTENER;
  long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                    listen | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
  if (fd < 0) fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, listen, &program);
  return (int)fd;
}

/* Starts the program, and gives the descriptor on which its calls are announced. */
static int start(char **command, pid_t *child) {
  _Atomic int *shared =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail("mmap");
  *shared = 0;
  *child = fork();
  if (*child < 0) fail("fork");
  if (*child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int listener = install_filter();
    *shared = listener < 0 ? -errno : listener;
    while (*shared > 0) sched_yield(); /* until the listener is theirs: ours goes with exec */
    if (listener >= 0) execvp(command[0], command);
    _exit(127);
  }
  while (*shared == 0) sched_yield();
  errno = *shared < 0 ? -*shared : 0;
  if (*shared < 0) fail("seccomp");
  const int pidfd = (int)syscall(SYS_pidfd_open, *child, 0);
  const int listener = (int)syscall(SYS_pidfd_getfd, pidfd, *shared, 0);
  if (listener < 0) fail("pidfd_getfd");
  *shared = 0;
  close(pidfd);
  return listener;
}

/* What a call acts on: its path, or what its descriptor is. */
static void describe(const struct call *call, const struct seccomp_notif *asked, char *out,
                     size_t size) {
  char link[64];
  ssize_t length = -1;
  if (call->path >= 0) {
    const struct iovec here = {out, size - 1};
    const struct iovec there = {(void *)(uintptr_t)asked->data.args[call->path], 256};
    length = process_vm_readv((pid_t)asked->pid, &here, 1, &there, 1, 0);
  } else if (call->path == FIRST_IS_FILE) {
    snprintf(link, sizeof link, "/proc/%u/fd/%d", asked->pid, (int)asked->data.args[0]);
    length = readlink(link, out, size - 1);
  }
  out[length < 0 ? 0 : length] = '\0';
}

/* Of fcntl() only locks can. */
static int can_fail(const struct seccomp_notif *asked) {
  if (asked->data.nr != SYS_fcntl) return 1;
  const int command = (int)asked->data.args[1];
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
         command == F_OFD_SETLKW;
}

/* No disk is behind a pipe or an eventfd: a read is interrupted or finds nothing; a write to a pipe
 * may find nobody. */
static int can_give(const struct call *call, const char *what) {
  const int writes = strncmp(call->name, "write", 5) == 0;
  if (fault.error == 0) return 1;
  if (strncmp(what, "anon_inode:", 11) == 0)
    return !writes && (fault.error == EINTR || fault.error == EAGAIN);
  if (strncmp(what, "pipe:", 5) == 0)
    return fault.error == EINTR || fault.error == EAGAIN || fault.error == EPIPE;
  return 1;
}

static int is_hit(const struct call *call) {
  const long at = fault.call ? counts[call - calls] : any_count;
  if (fault.when == 0 || (fault.call && fault.call != call)) return 0;
  return at == fault.when || (fault.lasting && at > fault.when);
}

static void answer(int listener, const struct seccomp_notif *asked) {
  struct seccomp_notif_resp answer = {.id = asked->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
  const struct call *call = call_of_number(asked->data.nr);
  if (!call) {
    counting = asked->data.args[1] != 0;
    answer.flags = 0;
  } else if (counting && can_fail(asked)) {
    counts[call - calls]++;
    any_count++;
    if (is_hit(call)) {
      char what[300];
      describe(call, asked, what, sizeof what);
      if (!can_give(call, what)) goto done;
      if (report) fprintf(report, "hit %s %s\n", call->name, what);
      if (fault.error == 0) {
        kill((pid_t)asked->pid, SIGKILL);
        return;
      }
      answer.flags = 0;
      answer.error = -fault.error;
    }
  }
done:
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* Until nobody is left who could call. */
static void serve(int listener) {
  struct pollfd waits = {listener, POLLIN, 0};
  for (;;) {
    struct seccomp_notif asked = {0};
    if (poll(&waits, 1, -1) < 0 && errno != EINTR) fail("poll");
    if (waits.revents & POLLIN) {
      if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) == 0) answer(listener, &asked);
    } else if (waits.revents & POLLHUP) {
      return;
    }
  }
}

static void print_calls(void) {
  for (const struct call *call = calls; call->name; call++)
    printf("%s %s\n", call->name, call->errors);
}

int main(int argc, char **argv) {
  int at = 1, status = 0;
  pid_t child;
  if (argc == 2 && strcmp(argv[1], "--calls") == 0) return print_calls(), 0;
  if (argc > at && strcmp(argv[at], "-m") == 0) counting = 0, at++;
  if (argc > at + 1 && strcmp(argv[at], "-o") == 0) {
    report = fopen(argv[at + 1], "we");
    if (!report) fail(argv[at + 1]);
    setlinebuf(report); /* for those who kill us */
    at += 2;
  }
  if (argc > at && strcmp(argv[at], "--") != 0) parse_fault(argv[at++]);
  if (argc <= at + 1) {
    fprintf(stderr, "usage: inject [-m] [-o REPORT] [CALL:WHAT:WHEN] -- PROGRAM [ARGUMENT]...\n");
    return 125;
  }
  const int listener = start(argv + at + 1, &child);
  serve(listener);
  waitpid(child, &status, 0);
  for (const struct call *call = calls; report && call->name; call++)
    if (counts[call - calls] > 0) fprintf(report, "%s %ld\n", call->name, counts[call - calls]);
  if (report && fclose(report) != 0) fail("report");
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  signal(WTERMSIG(status), SIG_DFL);
  return raise(WTERMSIG(status)), 126;
}
