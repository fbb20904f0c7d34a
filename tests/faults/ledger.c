#include "tests/faults/ledger.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct ledger {
  char text[1 << 16];
};

struct ledger *open_ledger(const char *path) {
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct ledger *ledger = MAP_FAILED;
  if (file >= 0 && ftruncate(file, sizeof *ledger) == 0)
    ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (ledger == MAP_FAILED) {
    perror(path);
    exit(2);
  }
  close(file);
  return ledger;
}

/* The first byte of a line comes last, so that a kill leaves no half line. */
void note(struct ledger *ledger, const char *format, ...) {
  char line[128];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  const size_t at = strlen(ledger->text);
  if (length < 0 || length >= (int)sizeof line - 1 || at + sizeof line > sizeof ledger->text)
    abort();
  line[length++] = '\n';
  memcpy(ledger->text + at + 1, line + 1, (size_t)length - 1);
  atomic_signal_fence(memory_order_seq_cst);
  ledger->text[at] = line[0];
}
