/**
 * @file
 * @brief Models that are trained and that predict, in the library detnn (link with `detnn` beside
 * `detcore`): what det::keras does, for every language.
 *
 * A model is described as Keras 2.15 does it in Model.to_json(): classes of layers, their
 * configurations and how they are called on one another. So is what it is compiled with. Arrays are
 * row-major, with the batch first and the channels last.
 */
#ifndef DET_NN_H
#define DET_NN_H

#include <det/tensors.h>

DET_BEGIN_DECLS

/** A model: layers, weights, and once it is compiled what trains them. For one thread at a time.
 * After a call that fails because of its arguments it is as before. */
typedef struct det_nn_model det_nn_model;

/** Options of det_nn_model_create(). */
typedef struct det_nn_model_options {
  size_t struct_size;  /**< sizeof(det_nn_model_options). */
  uint64_t seed;       /**< Of the first weights, and of what is drawn while it is trained. */
  const char *backend; /**< What computes: "reference" is plain loops, and there may be others; NULL
                            or "": the best that there is. */
} det_nn_model_options;

/** Initialiser with the defaults. */
#define DET_NN_MODEL_OPTIONS_INIT \
  { sizeof(det_nn_model_options), 0, NULL }

/** Makes a model. Where it says what comes in, or its weights are the same whatever it leaves open,
 * such as the length of sequences, it has its first weights at once, else with its first batch.
 * @param[in]  json     What Model.to_json() of Keras writes, of a Sequential or functional model.
 *                      Layers without a name are named as Keras does. Those without a "dtype"
 *                      have that of the model's "config": "mixed_bfloat16" and "mixed_float16"
 *                      compute in 16 bits with weights, losses and metrics in float32.
 * @param[in]  options  NULL: the defaults.
 * @param[out] out      Release it with det_nn_model_free().
 * @return DET_OK; DET_E_INVALID (no such description, layers that do not fit: the message names
 * them), DET_E_UNSUPPORTED (a class of layers, an option or a back end that there is not here),
 * DET_E_NOMEM.   @since 0.1 */
DET_API det_status det_nn_model_create(const char *json, const det_nn_model_options *options,
                                       det_nn_model **out, det_error *err) DET_NOEXCEPT;

/** Makes a model with its weights from a file that Keras wrote: a .keras file, or a whole model in
 * HDF5 (.h5). How it was compiled and the state of its optimizer are not read. Only what is in the
 * file itself is read, no file that it refers to. A child process, forked for it, reads the HDF5.
 * @param[in]  path     Of the file.
 * @param[in]  options  NULL: the defaults.
 * @param[out] out      Release it with det_nn_model_free().
 * @return DET_OK; DET_E_NOT_FOUND; DET_E_CORRUPT; DET_E_INVALID (the file has weights alone);
 * DET_E_UNSUPPORTED (the library was built without libhdf5 and libzip); and the errors of
 * det_nn_model_create().   @since 0.1 */
DET_API det_status det_nn_model_load(const char *path, const det_nn_model_options *options,
                                     det_nn_model **out, det_error *err) DET_NOEXCEPT;

/** Describes a model, with all defaults filled in: what keras.models.model_from_json() reads.
 * @param[out] out  Free it with det_free().
 * @return DET_OK, DET_E_INVALID, DET_E_NOMEM.   @since 0.1 */
DET_API det_status det_nn_model_to_json(const det_nn_model *model, char **out,
                                        det_error *err) DET_NOEXCEPT;

/** Describes a model for people: a table of its layers in the order in which they are called, with
 * the shapes of what each gives, in which "None" is the size of the batch and any other that is
 * left open, and how many parameters it has. Lines end with a newline; no program should read them.
 * @param[out] out  Free it with det_free().
 * @return DET_OK; DET_E_INVALID; DET_E_STATE (a model whose weights depend on what it leaves
 * open has had no batch since it was made or compiled), DET_E_NOMEM.   @since 0.1 */
DET_API det_status det_nn_model_summary(const det_nn_model *model, char **out,
                                        det_error *err) DET_NOEXCEPT;

/** Says how a model is trained. What it was compiled with before is gone; its weights stay.
 * @param[in] json  {"optimizer": ..., "loss": ..., "loss_weights": ..., "metrics": ...,
 *                  "weighted_metrics": ...}. Each is a name, or {"class_name": ..., "config":
 *                  {...}}. Of several results all but the first are objects by the names of their
 *                  layers, or arrays in their order. Weights of records are those of the loss and
 *                  of the weighted metrics. A metric with several thresholds tells a number at
 *                  each, "precision_at_0.5". A result
 *                  whose loss is null is computed, and compared with nothing. Without an optimizer
 *                  the model can be tested, and not trained. Where a layer computes in float16 the
 *                  loss is scaled as Keras does it; an optimizer of the class "LossScaleOptimizer"
 *                  around another one says how, for any model. With `"check_numerics": true` a
 *                  batch whose loss or gradients are not finite is refused.
 * @return DET_OK; DET_E_INVALID (an unknown name: the message has the nearest; a metric that does
 * not fit the result), DET_E_UNSUPPORTED, DET_E_NOMEM.   @since 0.1 */
DET_API det_status det_nn_model_compile(det_nn_model *model, const char *json,
                                        det_error *err) DET_NOEXCEPT;

/** Records side by side. Names of tensors have no meaning here; all are whole and in memory of the
 * process: F32, F64, BOOL, U8 and signed whole numbers. */
typedef struct det_nn_batch {
  size_t struct_size;               /**< sizeof(det_nn_batch). */
  const det_tensor *inputs;         /**< One for each input of the model. */
  const det_tensor *truths;         /**< One for each result that has a loss. */
  const det_tensor *sample_weights; /**< NULL, or as many: a number for each record, or
                                         for each step or place of its result. */
  size_t input_count;               /**< Of `inputs`. */
  size_t result_count;              /**< Of `truths`, and of `sample_weights`. */
  const double *class_weights;      /**< NULL, or how much each class counts, from class 0 on:
                                         multiplied into the sample weights. For models of one result.
                                         Labels are numbers, or along the last axis the place of the
                                         largest; each step of a sequence has its own. */
  size_t class_count;               /**< Of `class_weights`. */
  const char *const *input_names; /**< NULL, or one for each input: a trial (det/keras.h) hands the
                                       inputs to its model by these, in the model's order. */
  void (*release)(void *owner);   /**< Of a batch that a function gives to a trial: called once
                                       when its arrays are no longer needed, by any thread. NULL:
                                       they are copied at once. */
  void *owner;                    /**< Of `release`. */
} det_nn_batch;

/** Initialiser of no arrays. */
#define DET_NN_BATCH_INIT \
  { sizeof(det_nn_batch), NULL, NULL, NULL, 0, 0, NULL, 0, NULL, NULL, NULL }

/** Trains a model by one step, and gathers its metrics. Blocks while it computes.
 * @return DET_OK; DET_E_INVALID (shapes that do not fit, a label that is no class or has no weight,
 * and where it was compiled so numbers that are not finite: the message names the layer that gave
 * the first of them; nothing is trained), DET_E_STATE (not compiled, or without an optimizer),
 * DET_E_UNSUPPORTED, DET_E_CALLBACK, DET_E_NOMEM.
 * @since 0.1 */
DET_API det_status det_nn_model_train_on_batch(det_nn_model *model, const det_nn_batch *batch,
                                               det_error *err) DET_NOEXCEPT;

/** Compares the results for a batch, and gathers the metrics: nothing is trained, nothing is
 * dropped. As det_nn_model_train_on_batch().   @since 0.1 */
DET_API det_status det_nn_model_test_on_batch(det_nn_model *model, const det_nn_batch *batch,
                                              det_error *err) DET_NOEXCEPT;

/** Computes the results for a batch.
 * @param[in]  inputs       `count` of them, as in det_nn_batch.
 * @param[out] out_results  One for each result, named after its layer: the model's, until the next
 *                          call with it.
 * @param[out] out_count    How many.
 * @return DET_OK, DET_E_INVALID, DET_E_UNSUPPORTED, DET_E_NOMEM.   @since 0.1 */
DET_API det_status det_nn_model_predict_on_batch(det_nn_model *model, const det_tensor *inputs,
                                                 size_t count, const det_tensor **out_results,
                                                 size_t *out_count, det_error *err) DET_NOEXCEPT;

/** The results for the batch that was trained, tested or predicted last, those without a loss among
 * them; of a trained one as they were before the step. As det_nn_model_predict_on_batch();
 * DET_E_STATE before the first batch, and after det_nn_model_compile().   @since 0.1 */
DET_API det_status det_nn_model_results(det_nn_model *model, const det_tensor **out_results,
                                        size_t *out_count, det_error *err) DET_NOEXCEPT;

/** How many metrics there are: the loss, of several results each one's, and those that were
 * compiled in; of a model that does not say what comes in, those only from the first batch on. 0
 * for NULL and a model that is not compiled.
 * @since 0.1 */
DET_API size_t det_nn_model_metric_count(const det_nn_model *model) DET_NOEXCEPT;

/** The name of a metric, such as "loss" or "accuracy".
 * @return The model's, until the next call that is no question; NULL where there is none.
 * @since 0.1 */
DET_API const char *det_nn_model_metric_name(const det_nn_model *model, size_t index) DET_NOEXCEPT;

/** A metric over all batches since det_nn_model_reset_metrics(); NaN where there is none.
 * @since 0.1 */
DET_API double det_nn_model_metric(const det_nn_model *model, size_t index) DET_NOEXCEPT;

/** Begins to gather metrics anew. NULL does nothing.   @since 0.1 */
DET_API void det_nn_model_reset_metrics(det_nn_model *model) DET_NOEXCEPT;

/** The weights, to be read or written between calls: det_tensors_write() takes them, and
 * det_trial_broadcast() gives all ranks the same.
 * @param[out] out_weights  In the order of the layers, named "LAYER/WEIGHT"; the model's, as long
 * as it lives.
 * @param[out] out_count    How many.
 * @return DET_OK, DET_E_INVALID; DET_E_STATE (there are none before the first batch of a model that
 * does not say what comes in).   @since 0.1 */
DET_API det_status det_nn_model_weights(det_nn_model *model, const det_tensor **out_weights,
                                        size_t *out_count, det_error *err) DET_NOEXCEPT;

/** Whether training changes a weight, and so has a gradient for it: 1 or 0; 0 for NULL and an index
 * that is none.   @since 0.1 */
DET_API int32_t det_nn_model_is_trained(const det_nn_model *model, size_t index) DET_NOEXCEPT;

/** What has to be kept beside the weights so that training goes on as if it had not stopped: the
 * state of the optimizer, one array for each of its kinds of state and each weight that is trained,
 * named "LAYER/WEIGHT/KIND". As det_nn_model_weights(), but only until det_nn_model_compile(),
 * which makes another optimizer. Beside them are the two counts of det_nn_model_steps().
 * @since 0.1 */
DET_API det_status det_nn_model_optimizer_state(det_nn_model *model, const det_tensor **out_state,
                                                size_t *out_count, det_error *err) DET_NOEXCEPT;

/** Steps that have been trained, and the optimizer's iterations, which learning rates depend on; 0
 * for NULL.   @since 0.1 */
DET_API void det_nn_model_steps(const det_nn_model *model, int64_t *out_steps,
                                int64_t *out_iterations) DET_NOEXCEPT;

/** Sets both counts, where a restored model is to go on.
 * @return DET_OK; DET_E_INVALID (below 0, above 2^62); DET_E_STATE (not compiled).   @since 0.1 */
DET_API det_status det_nn_model_set_steps(det_nn_model *model, int64_t steps, int64_t iterations,
                                          det_error *err) DET_NOEXCEPT;

/** The learning rate of the next step; NaN for NULL and a model that is not compiled.   @since 0.1
 */
DET_API double det_nn_model_learning_rate(const det_nn_model *model) DET_NOEXCEPT;

/** Sets the learning rate.
 * @return DET_OK; DET_E_INVALID (no number, below 0); DET_E_STATE (not compiled).   @since 0.1 */
DET_API det_status det_nn_model_set_learning_rate(det_nn_model *model, double learning_rate,
                                                  det_error *err) DET_NOEXCEPT;

/** Told of a gradient as soon as it is complete, while others are still computed; it may be changed
 * in place until the step's end. A negative answer stops the step with DET_E_CALLBACK.
 * @param index     Of the weight, as in det_nn_model_weights().
 * @param gradient  Of as many floats as the weight. */
typedef int32_t (*det_nn_gradient_callback)(size_t index, float *gradient, size_t count,
                                            void *user_data);

/** Asked when all gradients of a step are complete: 1: they are applied; 0: they are not, and the
 * next step computes them anew. A negative answer stops the step with DET_E_CALLBACK. */
typedef int32_t (*det_nn_step_callback)(void *user_data);

/** Has two functions called in each step, in the thread that trains: where ranks add up their
 * gradients (det/trial_gradients.h). They must not call the model.
 * @param[in] on_gradient  NULL: none.
 * @param[in] on_step      NULL: all steps are applied.
 * @return DET_OK, DET_E_INVALID.   @since 0.1 */
DET_API det_status det_nn_model_observe_gradients(det_nn_model *model,
                                                  det_nn_gradient_callback on_gradient,
                                                  det_nn_step_callback on_step, void *user_data,
                                                  det_error *err) DET_NOEXCEPT;

/** Has gradients computed in memory of the caller's from the next step on, where ranks add them up
 * without copying (det_trial_gradients_memory()): those of all weights that are trained, in the
 * order of det_nn_model_weights(), each at the next multiple of 64 bytes. What was prepared for
 * shapes of batches is prepared anew.
 * @param[in] memory  At a multiple of 64 bytes. The caller keeps it until the model is freed or
 *                    this is called again. NULL: the model's own memory again, as at first.
 * @param[in] bytes   Of `memory`.
 * @return DET_OK; DET_E_INVALID (too few bytes, or where no gradient can begin); DET_E_UNSUPPORTED
 * (whatever `memory` is: the back end computes in memory of its own, such as a GPU's); DET_E_STATE
 * (no weights yet), DET_E_NOMEM.   @since 0.1 */
DET_API det_status det_nn_model_place_gradients(det_nn_model *model, void *memory, size_t bytes,
                                                det_error *err) DET_NOEXCEPT;

/** Writes all weights into a safetensors file, under their names. It replaces what is there:
 * written aside, synced, renamed. One rank calls it.
 * @return DET_OK, DET_E_INVALID, DET_E_STATE (no weights yet), DET_E_IO and the like.   @since 0.1
 */
DET_API det_status det_nn_model_save_weights(const det_nn_model *model, const char *path,
                                             det_error *err) DET_NOEXCEPT;

/** Reads all weights from a safetensors file of any program, or from a file that Keras wrote
 * (.weights.h5, .h5, .keras); all real numbers become F32. Weights in a file of Keras belong to the
 * layers of the same names; if the names differ, to the layers in their order. The model is changed
 * only where all of them fit.
 * @return DET_OK; DET_E_NOT_FOUND; DET_E_CORRUPT; DET_E_INVALID (a weight is missing, too much or
 * of another shape: the message names it); DET_E_STATE (no weights yet), DET_E_NOMEM.   @since 0.1
 */
DET_API det_status det_nn_model_load_weights(det_nn_model *model, const char *path,
                                             det_error *err) DET_NOEXCEPT;

/** Writes what training needs beside the weights to go on to the same bits: the state of the
 * optimizer, its learning rate, the counts of det_nn_model_steps() and the seed. As
 * det_nn_model_save_weights(); DET_E_STATE also where the model is not compiled.   @since 0.1 */
DET_API det_status det_nn_model_save_training_state(const det_nn_model *model, const char *path,
                                                    det_error *err) DET_NOEXCEPT;

/** Reads what det_nn_model_save_training_state() wrote, into a model that is compiled with the same
 * optimizer. As det_nn_model_load_weights().   @since 0.1 */
DET_API det_status det_nn_model_load_training_state(det_nn_model *model, const char *path,
                                                    det_error *err) DET_NOEXCEPT;

/** Writes what the model predicts as an ONNX file (operator set 13), for serving. It replaces what
 * is there.
 * @return DET_OK, DET_E_INVALID; DET_E_UNSUPPORTED (a layer that cannot be said in ONNX: the
 * message names it), DET_E_STATE (no weights yet), DET_E_IO and the like, DET_E_NOMEM.   @since 0.1
 */
DET_API det_status det_nn_model_write_onnx(det_nn_model *model, const char *path,
                                           det_error *err) DET_NOEXCEPT;

/** Releases it. NULL does nothing.   @since 0.1 */
DET_API void det_nn_model_free(det_nn_model *model) DET_NOEXCEPT;

DET_END_DECLS

#endif
