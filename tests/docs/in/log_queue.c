#include <det/core.h>
#include <stdlib.h>

static int shown;

static void show(det_log_level level, const char *message) {
  if (level >= DET_LOG_LEVEL_WARNING && message[0]) shown++;
}

int main(void) {
  det_log_queue *queue;
  if (det_log_queue_create(&queue, NULL) != DET_OK) return EXIT_FAILURE;
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.log_queue = queue;
  options.hparams_json = "{\"rate\": \"no number\"}";
  det_core *core;
  if (det_core_init(&options, &core, NULL) != DET_OK) return EXIT_FAILURE;
  det_info_hparam_double(det_core_info(core), "rate", 0); /* warns */
  det_log_line *line;
  /* BLOCK */
  det_core_free(core);
  det_log_queue_free(queue);
  return shown > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
