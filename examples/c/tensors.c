/* Saves a model from memory as tensors, then reads all of it and a part of it back.
 *
 *     cc tensors.c $(pkg-config --cflags --libs detcore) -o tensors
 *     ./tensors
 *     python -c 'from safetensors.numpy import load_file; print(load_file("model.safetensors"))' */
#include <det/core.h>
#include <stdio.h>
#include <stdlib.h>

static det_error err = DET_ERROR_INIT;

static void check(det_status status) {
  if (status >= 0) return;
  fprintf(stderr, "tensors: %s\n", err.message);
  exit(EXIT_FAILURE);
}

static det_tensor tensor(const char *name, const int64_t shape[2], float *data) {
  det_tensor made = DET_TENSOR_INIT;
  made.name = name;
  made.dtype = DET_DTYPE_F32;
  made.dimensions = 2;
  made.shape = shape;
  made.data = data;
  return made;
}

int main(void) {
  det_core *core;
  check(det_core_init(NULL, &core, &err));
  det_checkpoint_context *checkpoint = det_core_checkpoint(core);

  float weights[2][3] = {{1, 2, 3}, {4, 5, 6}};
  det_checkpoint_writer *store;
  check(det_checkpoint_writer_begin(checkpoint, "{\"steps_completed\": 1}", NULL, &store, &err));
  det_tensor given = tensor("weights", (const int64_t[]){2, 3}, weights[0]);
  check(det_tensors_write(store, "model.safetensors", &given, 1, NULL, &err));
  check(det_checkpoint_writer_commit(store, &err));

  det_checkpoint_reader *stored;
  det_tensors *tensors;
  check(
      det_checkpoint_reader_open(checkpoint, det_checkpoint_writer_id(store), NULL, &stored, &err));
  check(det_tensors_open(stored, "model.safetensors", &tensors, &err));
  for (size_t i = 0; i < det_tensors_count(tensors); i++)
    printf("%s: %s, %lld bytes\n", det_tensors_name(tensors, i),
           det_dtype_name(det_tensors_dtype(tensors, i)), (long long)det_tensors_size(tensors, i));
  float column[2][1];
  det_tensor wanted = tensor("weights", (const int64_t[]){2, 1}, column[0]);
  wanted.offset = (const int64_t[]){0, 2}; /* the last of three columns */
  check(det_tensors_read(tensors, &wanted, 1, NULL, &err));
  printf("last column: %g, %g\n", column[0][0], column[1][0]);

  det_tensors_free(tensors);
  det_checkpoint_reader_free(stored);
  det_checkpoint_writer_free(store);
  check(det_core_close(core, DET_OUTCOME_OK, &err));
  det_core_free(core);
  return 0;
}
