/* The addon for Node that train.js uses. train.js shows how to compile it.
 *
 * Each function calls the library once, and throws the message of a failure. Handles follow the
 * rules of C: do not use one after you freed it. */
#include <det/core.h>
#include <node_api.h>

enum { MAX_ARGUMENTS = 4 };

/* A call from JavaScript. After an argument of a wrong type, an exception waits. The argument is
 * then NULL or 0, which the library rejects. */
struct call {
  napi_env env;
  napi_value arguments[MAX_ARGUMENTS];
  det_error err;
};

static struct call begin(napi_env env, napi_callback_info info) {
  struct call call = {.env = env, .err = DET_ERROR_INIT};
  size_t count = MAX_ARGUMENTS;
  napi_get_cb_info(env, info, &count, call.arguments, NULL, NULL);
  return call;
}

static void *handle(struct call *call, int index) {
  void *value = NULL;
  if (napi_get_value_external(call->env, call->arguments[index], &value) != napi_ok)
    napi_throw_type_error(call->env, NULL, "a handle is expected");
  return value;
}

static double number(struct call *call, int index) {
  double value = 0;
  if (napi_get_value_double(call->env, call->arguments[index], &value) != napi_ok)
    napi_throw_type_error(call->env, NULL, "a number is expected");
  return value;
}

/* Returns a text in memory of Node, which lives until the call returns. */
static const char *text(struct call *call, int index) {
  size_t size = 0;
  void *bytes = NULL;
  napi_value value = call->arguments[index], buffer;
  if (napi_get_value_string_utf8(call->env, value, NULL, 0, &size) == napi_ok &&
      napi_create_arraybuffer(call->env, size + 1, &bytes, &buffer) == napi_ok)
    napi_get_value_string_utf8(call->env, value, bytes, size + 1, NULL);
  else napi_throw_type_error(call->env, NULL, "a text is expected");
  return bytes;
}

static napi_value of_handle(struct call *call, void *value) {
  napi_value result = NULL;
  napi_create_external(call->env, value, NULL, NULL, &result);
  return result;
}

static napi_value of_number(struct call *call, double value) {
  napi_value result = NULL;
  napi_create_double(call->env, value, &result);
  return result;
}

static napi_value of_text(struct call *call, const char *value) {
  napi_value result = NULL;
  if (value) napi_create_string_utf8(call->env, value, NAPI_AUTO_LENGTH, &result);
  else napi_get_null(call->env, &result);
  return result;
}

/* Ends a call that has a status and may have a result. */
static napi_value end(struct call *call, det_status status, napi_value result) {
  if (status >= 0) return result;
  bool pending = false;
  napi_is_exception_pending(call->env, &pending);
  if (!pending) napi_throw_error(call->env, det_status_name(status), call->err.message);
  return NULL;
}

static napi_value init(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  det_core *core = NULL;
  det_status status = det_core_init_json(text(&call, 0), NULL, NULL, &core, &call.err);
  return end(&call, status, of_handle(&call, core));
}

/* Closes and frees. Returns the exit status for the process. */
static napi_value close_core(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  det_core *core = handle(&call, 0);
  det_status status = det_core_close(core, DET_OUTCOME_OK, &call.err);
  int32_t exit_status = det_core_exit_status(core);
  det_core_free(core);
  return end(&call, status, of_number(&call, exit_status));
}

static napi_value hparams(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  return of_text(&call, det_info_hparams_json(det_core_info(handle(&call, 0))));
}

/* Returns null without a checkpoint. */
static napi_value latest_checkpoint(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  return of_text(&call, det_info_latest_checkpoint(det_core_info(handle(&call, 0))));
}

/* Returns null when no work remains. */
static napi_value next_operation(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  det_searcher_op *op = NULL;
  det_status status = det_searcher_next(det_core_searcher(handle(&call, 0)), &op, &call.err);
  return end(&call, status, op ? of_handle(&call, op) : of_text(&call, NULL));
}

static napi_value length(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  return of_number(&call, (double)det_searcher_op_length(handle(&call, 0)));
}

static napi_value report_completed(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  det_searcher_op *op = handle(&call, 0);
  return end(&call, det_searcher_op_report_completed(op, number(&call, 1), &call.err), NULL);
}

static napi_value report_metrics(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  det_train_context *train = det_core_train(handle(&call, 0));
  const char *group = text(&call, 1), *metrics = text(&call, 3);
  int64_t step = (int64_t)number(&call, 2);
  return end(&call, det_train_report_metrics_json(train, group, step, metrics, NULL, &call.err),
             NULL);
}

static napi_value should_preempt(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  det_status status = det_preempt_should_preempt(det_core_preempt(handle(&call, 0)), &call.err);
  napi_value result = NULL;
  napi_get_boolean(env, status == DET_PREEMPTED, &result);
  return end(&call, status, result);
}

static napi_value store_begin(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  det_checkpoint_context *checkpoint = det_core_checkpoint(handle(&call, 0));
  det_checkpoint_writer *store = NULL;
  det_status status =
      det_checkpoint_writer_begin(checkpoint, text(&call, 1), NULL, &store, &call.err);
  return end(&call, status, of_handle(&call, store));
}

static napi_value store_path(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  return of_text(&call, det_checkpoint_writer_path(handle(&call, 0)));
}

/* Commits and frees. */
static napi_value store_commit(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  det_checkpoint_writer *store = handle(&call, 0);
  det_status status = det_checkpoint_writer_commit(store, &call.err);
  det_checkpoint_writer_free(store);
  return end(&call, status, NULL);
}

static napi_value restore_begin(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  det_checkpoint_context *checkpoint = det_core_checkpoint(handle(&call, 0));
  det_checkpoint_reader *stored = NULL;
  det_status status =
      det_checkpoint_reader_open(checkpoint, text(&call, 1), NULL, &stored, &call.err);
  return end(&call, status, of_handle(&call, stored));
}

static napi_value restore_path(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  return of_text(&call, det_checkpoint_reader_path(handle(&call, 0)));
}

static napi_value restore_free(napi_env env, napi_callback_info info) {
  struct call call = begin(env, info);
  det_checkpoint_reader_free(handle(&call, 0));
  return NULL;
}

NAPI_MODULE_INIT() {
#define FUNCTION(name, function) \
  { name, NULL, function, NULL, NULL, NULL, napi_default, NULL }
  const napi_property_descriptor functions[] = {
      FUNCTION("init", init),
      FUNCTION("close", close_core),
      FUNCTION("hparams", hparams),
      FUNCTION("latestCheckpoint", latest_checkpoint),
      FUNCTION("nextOperation", next_operation),
      FUNCTION("length", length),
      FUNCTION("reportCompleted", report_completed),
      FUNCTION("reportMetrics", report_metrics),
      FUNCTION("shouldPreempt", should_preempt),
      FUNCTION("storeBegin", store_begin),
      FUNCTION("storePath", store_path),
      FUNCTION("storeCommit", store_commit),
      FUNCTION("restoreBegin", restore_begin),
      FUNCTION("restorePath", restore_path),
      FUNCTION("restoreFree", restore_free),
  };
  napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions);
  return exports;
}
