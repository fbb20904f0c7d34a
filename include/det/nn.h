/**
 * @file
 * @brief Trains models and predicts with them, in any language. It is in the library detnn.
 *
 * Link with `detnn` beside `detcore`.
 *
 * A model is described as Keras 2.15 describes it in Model.to_json(): classes of layers, their
 * configurations, and their calls on one another. The settings for compiling have Keras' form too.
 * Arrays are row-major, with the batch first and the channels last.
 */
#ifndef DET_NN_H
#define DET_NN_H

#include <det/tensors.h>

DET_BEGIN_DECLS

/** A model: layers and weights. Once it is compiled, it also has the parts that train it.
 *
 * Use it on one thread at a time. A call that fails because of its arguments leaves it unchanged.
 */
typedef struct det_nn_model det_nn_model;

/** Options of det_nn_model_create(). */
typedef struct det_nn_model_options {
  size_t struct_size;  /**< sizeof(det_nn_model_options). */
  uint64_t seed;       /**< Seed of the first weights and of random numbers in training. */
  const char *backend; /**< The back end. "reference" is plain loops. NULL or "": the best one. */
} det_nn_model_options;

/** Initialiser with the defaults. */
#define DET_NN_MODEL_OPTIONS_INIT \
  { sizeof(det_nn_model_options), 0, NULL }

/** Makes a model.
 *
 * It has its first weights at once if it describes its inputs. The same is true if its weights do
 * not depend on open sizes, such as the length of sequences. Otherwise the first batch makes them.
 * @param[in]  json     The text of Keras' Model.to_json(), of a Sequential or functional model.
 *                      Layers without a name get Keras' names. Layers without a "dtype" have that
 *                      of the model's "config". "mixed_bfloat16" and "mixed_float16" compute in 16
 *                      bits. Their weights, losses and metrics are in float32.
 * @param[in]  options  NULL: the defaults.
 * @param[out] out      Receives the model. Release it with det_nn_model_free().
 * @retval DET_OK             `out` has the model.
 * @retval DET_E_INVALID      The text is no such description, or layers do not fit. The message
 *                            names them.
 * @retval DET_E_UNSUPPORTED  The library does not have a class of layers, an option or a back end.
 * @retval DET_E_NOMEM        Out of memory.
 * @since 0.1 */
DET_API det_status det_nn_model_create(const char *json, const det_nn_model_options *options,
                                       det_nn_model **out, det_error *err) DET_NOEXCEPT;

/** Makes a model with its weights from a file of Keras: .keras, or a whole model in HDF5 (.h5).
 *
 * The settings for compiling and the state of the optimizer are not read. Only the file itself is
 * read, and no file that it refers to. A child process, forked for it, reads the HDF5.
 * @param[in]  path     The file.
 * @param[in]  options  NULL: the defaults.
 * @param[out] out      Receives the model. Release it with det_nn_model_free().
 * @retval DET_OK             `out` has the model.
 * @retval DET_E_NOT_FOUND    There is no such file.
 * @retval DET_E_CORRUPT      The file is damaged.
 * @retval DET_E_INVALID      The file has weights alone.
 * @retval DET_E_UNSUPPORTED  The library was built without libhdf5 and libzip.
 * @return Also the errors of det_nn_model_create().
 * @since 0.1 */
DET_API det_status det_nn_model_load(const char *path, const det_nn_model_options *options,
                                     det_nn_model **out, det_error *err) DET_NOEXCEPT;

/** Describes a model as JSON, with all defaults filled in. Keras' model_from_json() can read it.
 * @param[out] out  Receives the text. Release it with det_free().
 * @retval DET_OK         `out` has the text.
 * @retval DET_E_INVALID  An argument is NULL.
 * @retval DET_E_NOMEM    Out of memory.
 * @since 0.1 */
DET_API det_status det_nn_model_to_json(const det_nn_model *model, char **out,
                                        det_error *err) DET_NOEXCEPT;

/** Describes a model for people, as a table of its layers.
 *
 * The layers are in the order of their calls. The table has the shape of each result, in which
 * "None" is the size of the batch or another open size. It also has the number of parameters. Lines
 * end with a newline. Programs should not parse it.
 * @param[out] out  Receives the text. Release it with det_free().
 * @retval DET_OK         `out` has the text.
 * @retval DET_E_INVALID  An argument is NULL.
 * @retval DET_E_STATE    The weights depend on open sizes, and there was no batch since the model
 *                        was made or compiled.
 * @retval DET_E_NOMEM    Out of memory.
 * @since 0.1 */
DET_API det_status det_nn_model_summary(const det_nn_model *model, char **out,
                                        det_error *err) DET_NOEXCEPT;

/** Sets how a model is trained. It replaces earlier settings. The weights stay.
 *
 * Each setting is a name, or `{"class_name": ..., "config": {...}}`. With several results, all
 * settings except "optimizer" are objects by the names of the layers, or arrays in their order.
 * - Weights of records apply to the loss and to the weighted metrics.
 * - A metric with several thresholds has a number for each, such as "precision_at_0.5".
 * - A result whose loss is null is computed, and not compared.
 * - Without an optimizer the model can be tested, but not trained.
 * - If a layer computes in float16, the loss is scaled as in Keras. For any model, an optimizer of
 *   the class "LossScaleOptimizer" around another one sets how.
 * - With `"check_numerics": true` a batch is rejected if its loss or gradients are not finite.
 * @param[in] json  `{"optimizer": ..., "loss": ..., "loss_weights": ..., "metrics": ...,
 *                  "weighted_metrics": ...}`.
 * @retval DET_OK             Compiled.
 * @retval DET_E_INVALID      A name is unknown, and the message has the nearest one. Or a metric
 *                            does not fit the result.
 * @retval DET_E_UNSUPPORTED  The library does not have a class or an option.
 * @retval DET_E_NOMEM        Out of memory.
 * @since 0.1 */
DET_API det_status det_nn_model_compile(det_nn_model *model, const char *json,
                                        det_error *err) DET_NOEXCEPT;

/** A batch: records side by side.
 *
 * All tensors are whole and in memory of the process. Their names have no meaning here. They have
 * F32, F64, BOOL, U8 or signed integers. */
typedef struct det_nn_batch {
  size_t struct_size;       /**< sizeof(det_nn_batch). */
  const det_tensor *inputs; /**< One for each input of the model. */
  const det_tensor *truths; /**< One for each result that has a loss. */
  /** NULL, or one for each of `truths`: a number for each record, or for each step or place of its
   * result. */
  const det_tensor *sample_weights;
  size_t input_count;  /**< The number of `inputs`. */
  size_t result_count; /**< The number of `truths` and of `sample_weights`. */
  /** NULL, or the weight of each class, from class 0. They multiply the sample weights. The model
   * must have one result. Labels are numbers, or the place of the largest number along the last
   * axis. Each step of a sequence has its own label. */
  const double *class_weights;
  size_t class_count; /**< The number of `class_weights`. */
  /** NULL, or one for each input. A trial (det/keras.h) then passes the inputs in the model's
   * order. */
  const char *const *input_names;
  /** Called once when the arrays of a batch that a function gives to a trial are no longer needed.
   * Any thread may call it. NULL: the arrays are copied at once. */
  void (*release)(void *owner);
  void *owner; /**< The argument of `release`. */
} det_nn_batch;

/** Initialiser of a batch without arrays. */
#define DET_NN_BATCH_INIT \
  { sizeof(det_nn_batch), NULL, NULL, NULL, 0, 0, NULL, 0, NULL, NULL, NULL }

/** Trains a model by one step, and gathers its metrics. Blocks while it computes.
 * @param[in] batch  The records.
 * @retval DET_OK             The step is complete.
 * @retval DET_E_INVALID      Shapes do not fit, or a label is no class or has no weight. With
 *                            "check_numerics" also: numbers are not finite, and the message names
 *                            the first layer that gave one. Nothing is trained.
 * @retval DET_E_STATE        The model is not compiled, or has no optimizer.
 * @retval DET_E_UNSUPPORTED  The library cannot compute this.
 * @retval DET_E_CALLBACK     A callback of det_nn_model_observe_gradients() stopped the step.
 * @retval DET_E_NOMEM        Out of memory.
 * @since 0.1 */
DET_API det_status det_nn_model_train_on_batch(det_nn_model *model, const det_nn_batch *batch,
                                               det_error *err) DET_NOEXCEPT;

/** Compares the results for a batch with the truths, and gathers the metrics. It trains nothing,
 * and dropout is off. Everything else is as for det_nn_model_train_on_batch().
 * @return As det_nn_model_train_on_batch().
 * @since 0.1 */
DET_API det_status det_nn_model_test_on_batch(det_nn_model *model, const det_nn_batch *batch,
                                              det_error *err) DET_NOEXCEPT;

/** Computes the results for a batch.
 * @param[in]  inputs       The inputs, as in det_nn_batch.
 * @param[in]  count        The number of inputs.
 * @param[out] out_results  One for each result, named after its layer. The model owns them. They
 *                          are valid until the next call with it.
 * @param[out] out_count    The number of results.
 * @retval DET_OK             `out_results` has the results.
 * @retval DET_E_INVALID      The inputs do not fit.
 * @retval DET_E_UNSUPPORTED  The library cannot compute this.
 * @retval DET_E_NOMEM        Out of memory.
 * @since 0.1 */
DET_API det_status det_nn_model_predict_on_batch(det_nn_model *model, const det_tensor *inputs,
                                                 size_t count, const det_tensor **out_results,
                                                 size_t *out_count, det_error *err) DET_NOEXCEPT;

/** Returns the results for the last batch that was trained, tested or predicted.
 *
 * Results without a loss are among them. Those of a trained batch are from before the step. The
 * parameters are those of det_nn_model_predict_on_batch().
 * @return As det_nn_model_predict_on_batch(). Also DET_E_STATE before the first batch, and after
 * det_nn_model_compile().
 * @since 0.1 */
DET_API det_status det_nn_model_results(det_nn_model *model, const det_tensor **out_results,
                                        size_t *out_count, det_error *err) DET_NOEXCEPT;

/** Returns the number of metrics: the loss, with several results the loss of each, and the compiled
 * ones. A model that does not describe its inputs has the compiled ones only after the first batch.
 * @return The number; 0 for NULL and for a model that is not compiled.
 * @since 0.1 */
DET_API size_t det_nn_model_metric_count(const det_nn_model *model) DET_NOEXCEPT;

/** Returns the name of a metric, such as "loss" or "accuracy".
 * @return A string of the model. It stays valid while you call only functions that read the model.
 * NULL for an unknown index.
 * @since 0.1 */
DET_API const char *det_nn_model_metric_name(const det_nn_model *model, size_t index) DET_NOEXCEPT;

/** Returns a metric over all batches since det_nn_model_reset_metrics().
 * @return The value; NaN for an unknown index.
 * @since 0.1 */
DET_API double det_nn_model_metric(const det_nn_model *model, size_t index) DET_NOEXCEPT;

/** Resets the metrics, to gather them anew. NULL does nothing.
 * @since 0.1 */
DET_API void det_nn_model_reset_metrics(det_nn_model *model) DET_NOEXCEPT;

/** Returns the weights. You may read or write them between calls.
 *
 * det_tensors_write() writes them to a file. det_trial_broadcast() gives all ranks the same ones.
 * @param[out] out_weights  In the order of the layers, named "LAYER/WEIGHT". The model owns them as
 *                          long as it lives.
 * @param[out] out_count    The number of weights.
 * @retval DET_OK         `out_weights` has the weights.
 * @retval DET_E_INVALID  An argument is NULL.
 * @retval DET_E_STATE    The model does not describe its inputs, and had no batch yet.
 * @since 0.1 */
DET_API det_status det_nn_model_weights(det_nn_model *model, const det_tensor **out_weights,
                                        size_t *out_count, det_error *err) DET_NOEXCEPT;

/** Tells whether training changes a weight. Then it has a gradient.
 * @return 1 or 0. NULL and an unknown index give 0.
 * @since 0.1 */
DET_API int32_t det_nn_model_is_trained(const det_nn_model *model, size_t index) DET_NOEXCEPT;

/** Returns the state of the optimizer. Keep it beside the weights to resume training as if it had
 * not stopped.
 *
 * It has one array for each kind of state and each trained weight, named "LAYER/WEIGHT/KIND". The
 * arrays are valid until det_nn_model_compile(), which makes another optimizer. Keep the two counts
 * of det_nn_model_steps() as well. Everything else is as for det_nn_model_weights().
 * @return As det_nn_model_weights().
 * @since 0.1 */
DET_API det_status det_nn_model_optimizer_state(det_nn_model *model, const det_tensor **out_state,
                                                size_t *out_count, det_error *err) DET_NOEXCEPT;

/** Returns the trained steps, and the optimizer's iterations, on which learning rates depend. Both
 * are 0 for NULL.
 * @since 0.1 */
DET_API void det_nn_model_steps(const det_nn_model *model, int64_t *out_steps,
                                int64_t *out_iterations) DET_NOEXCEPT;

/** Sets both counts of det_nn_model_steps(), to resume a restored model.
 * @retval DET_OK         Set.
 * @retval DET_E_INVALID  A count is below 0 or above 2^62.
 * @retval DET_E_STATE    The model is not compiled.
 * @since 0.1 */
DET_API det_status det_nn_model_set_steps(det_nn_model *model, int64_t steps, int64_t iterations,
                                          det_error *err) DET_NOEXCEPT;

/** Returns the learning rate of the next step.
 * @return The rate; NaN for NULL and for a model that is not compiled.
 * @since 0.1 */
DET_API double det_nn_model_learning_rate(const det_nn_model *model) DET_NOEXCEPT;

/** Sets the learning rate.
 * @retval DET_OK         Set.
 * @retval DET_E_INVALID  It is NaN or below 0.
 * @retval DET_E_STATE    The model is not compiled.
 * @since 0.1 */
DET_API det_status det_nn_model_set_learning_rate(det_nn_model *model, double learning_rate,
                                                  det_error *err) DET_NOEXCEPT;

/** Receives a gradient as soon as it is complete, while others are still computed.
 *
 * It may change the gradient in place until the end of the step. A negative answer stops the step
 * with DET_E_CALLBACK.
 * @param index     The number of the weight, as in det_nn_model_weights().
 * @param gradient  As many floats as the weight has.
 * @param count     The number of these floats. */
typedef int32_t (*det_nn_gradient_callback)(size_t index, float *gradient, size_t count,
                                            void *user_data);

/** Decides whether the gradients of a step are applied. It is called when all are complete.
 *
 * 1: they are applied. 0: they are not, and the next step computes them anew. A negative answer
 * stops the step with DET_E_CALLBACK. */
typedef int32_t (*det_nn_step_callback)(void *user_data);

/** Sets two functions that each step calls, on the thread that trains.
 *
 * Ranks add up their gradients there (det/trial_gradients.h). The functions must not call the
 * model.
 * @param[in] on_gradient  NULL: none.
 * @param[in] on_step      NULL: all steps are applied.
 * @retval DET_OK         Set.
 * @retval DET_E_INVALID  `model` is NULL.
 * @since 0.1 */
DET_API det_status det_nn_model_observe_gradients(det_nn_model *model,
                                                  det_nn_gradient_callback on_gradient,
                                                  det_nn_step_callback on_step, void *user_data,
                                                  det_error *err) DET_NOEXCEPT;

/** Sets memory of the caller in which gradients are computed from the next step on.
 *
 * Ranks can then add them up without a copy. See det_trial_gradients_memory(). The memory has the
 * gradients of all trained weights in the order of det_nn_model_weights(). Each begins at the next
 * multiple of 64 bytes. Preparations for shapes of batches are made anew.
 * @param[in] memory  At a multiple of 64 bytes. Keep it until the model is freed or this is called
 *                    again. NULL: the model's own memory, as at first.
 * @param[in] bytes   The size of `memory`.
 * @retval DET_OK             Set.
 * @retval DET_E_INVALID      There are too few bytes, or `memory` is not at a multiple of 64.
 * @retval DET_E_UNSUPPORTED  The back end computes in its own memory, such as a GPU's. This does
 *                            not depend on `memory`.
 * @retval DET_E_STATE        The model has no weights yet.
 * @retval DET_E_NOMEM        Out of memory.
 * @since 0.1 */
DET_API det_status det_nn_model_place_gradients(det_nn_model *model, void *memory, size_t bytes,
                                                det_error *err) DET_NOEXCEPT;

/** Writes all weights into a safetensors file, under their names.
 *
 * It replaces the file at once: it writes beside it, syncs and renames. One rank calls it.
 * @retval DET_OK         Written.
 * @retval DET_E_INVALID  An argument is NULL.
 * @retval DET_E_STATE    The model has no weights yet.
 * @retval DET_E_IO       Writing failed.
 * @retval DET_E_FULL     The disk is full.
 * @retval DET_E_ACCESS   Permission is missing.
 * @since 0.1 */
DET_API det_status det_nn_model_save_weights(const det_nn_model *model, const char *path,
                                             det_error *err) DET_NOEXCEPT;

/** Reads all weights from a safetensors file of any program, or from a file of Keras (.weights.h5,
 * .h5, .keras).
 *
 * All real numbers become F32. Weights in a file of Keras belong to the layers of the same names.
 * If the names differ, they belong to the layers in their order. The model changes only if all
 * weights fit.
 * @retval DET_OK           Read.
 * @retval DET_E_NOT_FOUND  There is no such file.
 * @retval DET_E_CORRUPT    The file is damaged.
 * @retval DET_E_INVALID    A weight is missing, superfluous or of another shape. The message names
 *                          it.
 * @retval DET_E_STATE      The model has no weights yet.
 * @retval DET_E_NOMEM      Out of memory.
 * @since 0.1 */
DET_API det_status det_nn_model_load_weights(det_nn_model *model, const char *path,
                                             det_error *err) DET_NOEXCEPT;

/** Writes the state that training needs beside the weights, to resume to the same bits.
 *
 * That is the state of the optimizer, its learning rate, the counts of det_nn_model_steps() and the
 * seed. Everything else is as for det_nn_model_save_weights().
 * @return As det_nn_model_save_weights(). Also DET_E_STATE if the model is not compiled.
 * @since 0.1 */
DET_API det_status det_nn_model_save_training_state(const det_nn_model *model, const char *path,
                                                    det_error *err) DET_NOEXCEPT;

/** Reads the file of det_nn_model_save_training_state(). The model must be compiled with the same
 * optimizer.
 * @return As det_nn_model_load_weights().
 * @since 0.1 */
DET_API det_status det_nn_model_load_training_state(det_nn_model *model, const char *path,
                                                    det_error *err) DET_NOEXCEPT;

/** Writes an ONNX file (operator set 13) that predicts as the model does, for serving. It replaces
 * the file.
 * @retval DET_OK             Written.
 * @retval DET_E_INVALID      An argument is NULL.
 * @retval DET_E_UNSUPPORTED  ONNX cannot express a layer. The message names it.
 * @retval DET_E_STATE        The model has no weights yet.
 * @retval DET_E_IO           Writing failed.
 * @retval DET_E_FULL         The disk is full.
 * @retval DET_E_ACCESS       Permission is missing.
 * @retval DET_E_NOMEM        Out of memory.
 * @since 0.1 */
DET_API det_status det_nn_model_write_onnx(det_nn_model *model, const char *path,
                                           det_error *err) DET_NOEXCEPT;

/** Releases a model. NULL does nothing.
 * @since 0.1 */
DET_API void det_nn_model_free(det_nn_model *model) DET_NOEXCEPT;

DET_END_DECLS

#endif
