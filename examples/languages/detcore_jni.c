/* The native methods of the class Detcore in Train.java, which shows how to compile them.
 *
 * Each method calls the library once, and throws the message of a failure. Handles follow the rules
 * of C: do not use one after you freed it. */
#include <det/core.h>
#include <jni.h>

#define METHOD(result, name) JNIEXPORT result JNICALL Java_Detcore_##name

static jlong handle(const void *pointer) { return (intptr_t)pointer; }
static void *pointer(jlong handle) { return (void *)(intptr_t)handle; /* NOLINT(*-int-to-ptr) */ }

/* Throws the message of a failure. */
static det_status check(JNIEnv *env, det_status status, const det_error *err) {
  if (status < 0)
    (*env)->ThrowNew(env, (*env)->FindClass(env, "java/lang/RuntimeException"), err->message);
  return status;
}

/* A text for C. Release it with give_back(). If memory is short, it is NULL and an exception waits.
 * Java's UTF-8 differs from the usual one in characters beyond 16 bits. Pass bytes for those. */
static const char *borrow(JNIEnv *env, jstring text) {
  return text ? (*env)->GetStringUTFChars(env, text, NULL) : NULL;
}

static void give_back(JNIEnv *env, jstring text, const char *borrowed) {
  if (borrowed) (*env)->ReleaseStringUTFChars(env, text, borrowed);
}

METHOD(jlong, init)(JNIEnv *env, jclass class, jstring options_json) {
  (void)class;
  det_error err = DET_ERROR_INIT;
  det_core *core = NULL;
  const char *options = borrow(env, options_json);
  check(env, det_core_init_json(options, NULL, NULL, &core, &err), &err);
  give_back(env, options_json, options);
  return handle(core);
}

/* Closes and frees. Returns the exit status for the process. */
METHOD(jint, close)(JNIEnv *env, jclass class, jlong core) {
  (void)class;
  det_error err = DET_ERROR_INIT;
  det_status status = det_core_close(pointer(core), DET_OUTCOME_OK, &err);
  int32_t exit_status = det_core_exit_status(pointer(core));
  det_core_free(pointer(core));
  check(env, status, &err);
  return exit_status;
}

METHOD(jdouble, hparam)(JNIEnv *env, jclass class, jlong core, jstring hparam_name) {
  (void)class;
  det_error err = DET_ERROR_INIT;
  double value = 0;
  const char *name = borrow(env, hparam_name);
  check(env, det_info_get_hparam_double(det_core_info(pointer(core)), name, &value, &err), &err);
  give_back(env, hparam_name, name);
  return value;
}

/* Returns null without a checkpoint. */
METHOD(jstring, latestCheckpoint)(JNIEnv *env, jclass class, jlong core) {
  (void)class;
  return (*env)->NewStringUTF(env, det_info_latest_checkpoint(det_core_info(pointer(core))));
}

/* Returns 0 when no work remains. */
METHOD(jlong, nextOperation)(JNIEnv *env, jclass class, jlong core) {
  (void)class;
  det_error err = DET_ERROR_INIT;
  det_searcher_op *op = NULL;
  check(env, det_searcher_next(det_core_searcher(pointer(core)), &op, &err), &err);
  return handle(op);
}

METHOD(jlong, length)(JNIEnv *env, jclass class, jlong op) {
  (void)env, (void)class;
  return det_searcher_op_length(pointer(op));
}

METHOD(void, reportCompleted)(JNIEnv *env, jclass class, jlong op, jdouble metric) {
  (void)class;
  det_error err = DET_ERROR_INIT;
  check(env, det_searcher_op_report_completed(pointer(op), metric, &err), &err);
}

METHOD(void, reportMetric)
(JNIEnv *env, jclass class, jlong core, jstring group_name, jlong step, jstring metric_name,
 jdouble value) {
  (void)class;
  det_error err = DET_ERROR_INIT;
  const char *group = borrow(env, group_name);
  det_metric metric = {borrow(env, metric_name), value};
  det_train_context *train = det_core_train(pointer(core));
  check(env, det_train_report_metrics(train, group, step, &metric, 1, &err), &err);
  give_back(env, metric_name, metric.name);
  give_back(env, group_name, group);
}

METHOD(jboolean, shouldPreempt)(JNIEnv *env, jclass class, jlong core) {
  (void)class;
  det_error err = DET_ERROR_INIT;
  det_preempt_context *preempt = det_core_preempt(pointer(core));
  return check(env, det_preempt_should_preempt(preempt, &err), &err) == DET_PREEMPTED;
}

METHOD(jlong, storeBegin)(JNIEnv *env, jclass class, jlong core, jstring metadata_json) {
  (void)class;
  det_error err = DET_ERROR_INIT;
  det_checkpoint_writer *store = NULL;
  const char *metadata = borrow(env, metadata_json);
  det_checkpoint_context *checkpoint = det_core_checkpoint(pointer(core));
  check(env, det_checkpoint_writer_begin(checkpoint, metadata, NULL, &store, &err), &err);
  give_back(env, metadata_json, metadata);
  return handle(store);
}

METHOD(jstring, storePath)(JNIEnv *env, jclass class, jlong store) {
  (void)class;
  return (*env)->NewStringUTF(env, det_checkpoint_writer_path(pointer(store)));
}

/* Commits and frees. */
METHOD(void, storeCommit)(JNIEnv *env, jclass class, jlong store) {
  (void)class;
  det_error err = DET_ERROR_INIT;
  det_status status = det_checkpoint_writer_commit(pointer(store), &err);
  det_checkpoint_writer_free(pointer(store));
  check(env, status, &err);
}

METHOD(jlong, restoreBegin)(JNIEnv *env, jclass class, jlong core, jstring storage_id) {
  (void)class;
  det_error err = DET_ERROR_INIT;
  det_checkpoint_reader *stored = NULL;
  const char *id = borrow(env, storage_id);
  det_checkpoint_context *checkpoint = det_core_checkpoint(pointer(core));
  check(env, det_checkpoint_reader_open(checkpoint, id, NULL, &stored, &err), &err);
  give_back(env, storage_id, id);
  return handle(stored);
}

METHOD(jstring, restorePath)(JNIEnv *env, jclass class, jlong stored) {
  (void)class;
  return (*env)->NewStringUTF(env, det_checkpoint_reader_path(pointer(stored)));
}

METHOD(void, restoreFree)(JNIEnv *env, jclass class, jlong stored) {
  (void)env, (void)class;
  det_checkpoint_reader_free(pointer(stored));
}
