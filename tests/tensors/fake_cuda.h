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
  int device;                    /* which of all there are it is */
  int works;                     /* given to streams so far */
};
extern struct fake_cuda_state fake_cuda;

/* One block of device memory, and where its bytes are. */
char *fake_cuda_alloc(size_t size);
char *fake_cuda_bytes(void);
void fake_cuda_free(void);

/* Another block, and where the bytes are that an address of any block stands for; NULL: no block.
 * cuMemAlloc_v2() gives such a block as well. */
char *fake_cuda_alloc_more(size_t size);
char *fake_cuda_at(const void *address);

/* Work on a stream, after what was given to it before: called again and again by a thread of the
 * driver, and by who asks or waits for the stream, until it answers 1. */
int fake_cuda_give(void *stream, int (*work)(void *argument), void *argument);

#ifdef __cplusplus
}
#endif
#endif
