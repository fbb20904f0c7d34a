/* Where a program notes each call before it is made and what became of it: lines of text in shared
 * memory, which outlive any kill. A line is `WHAT called`, `WHAT done` or `WHAT refused`. */
#pragma once

struct ledger;
struct ledger *open_ledger(const char *path);
void note(struct ledger *ledger, const char *format, ...) __attribute__((format(printf, 2, 3)));
