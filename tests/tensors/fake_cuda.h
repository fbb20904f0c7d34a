/* A driver that has no device: its memory is that of the process, at addresses that the process
 * must not touch, and a copy takes place only when its stream is waited for. */
#ifndef TESTS_TENSORS_FAKE_CUDA_H
#define TESTS_TENSORS_FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fake_cuda_state {
  int copies, bytes_copied_mib;  /* so far */
  int most_pending;              /* copies that were asked for at one time on different streams */
  int pinned, streams, retained; /* what is there now */
  int synchronized;              /* contexts that were waited for */
  int fail_at;                   /* this copy fails, counted from 1; 0: none */
  int without_context;           /* 1: memory is that of a pool */
};
extern struct fake_cuda_state fake_cuda;

/* One block of device memory, and where its bytes are. */
char *fake_cuda_alloc(size_t size);
char *fake_cuda_bytes(void);
void fake_cuda_free(void);

#ifdef __cplusplus
}
#endif
#endif
