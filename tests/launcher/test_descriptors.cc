#include "core/launcher/local/descriptors.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "tests/cmocka.h"

namespace {

using namespace det;
using namespace det::launcher;

// What a kernel before 5.9 answers, and a container's filter that is older than the call.
bool forget_close_range() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

// In a child: which of the descriptors 200 to 399 are not as they should be.
int wrong_ones(bool with_close_range) {
  if (!with_close_range && !forget_close_range()) return -1;
  for (int fd = 200; fd < 400; ++fd) dup2(STDERR_FILENO, fd);
  constexpr std::array kept{210, 211, 399};
  close_all_but(kept);
  int wrong = 0;
  for (int fd = 0; fd < 500; ++fd) {
    const bool stays = fd <= STDERR_FILENO || fd == 210 || fd == 211 || fd == 399;
    wrong += is_open(fd) && !stays ? 1 : 0;
    wrong += stays && !is_open(fd) && fd >= 200 ? 1 : 0;
  }
  return wrong;
}

int wrong_ones_in_a_child(bool with_close_range) {
  const pid_t child = fork();
  if (child == 0) _exit(wrong_ones(with_close_range));
  int status = -1;
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

void all_but_those_kept_are_closed(void **) { assert_int_equal(wrong_ones_in_a_child(true), 0); }

void so_they_are_by_kernels_without_the_call(void **) {
  assert_int_equal(wrong_ones_in_a_child(false), 0);
}

}  // namespace

int test_descriptors() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(all_but_those_kept_are_closed),
      cmocka_unit_test(so_they_are_by_kernels_without_the_call),
  };
  return cmocka_run_group_tests_name("descriptors", tests, nullptr, nullptr);
}
