/**
 * @file
 * @brief Where this process runs and what it was asked to train (seed: ClusterInfo, TrialInfo).
 *
 * A `det_info` is a view borrowed from `det_core`, valid until det_core_free(). It never changes
 * after det_core_init(), so every function here is cheap, non-blocking and callable on any rank. In
 * a job of several ranks all have the same facts, apart from their own rank: those of the chief's
 * run.
 */
#ifndef DET_INFO_H
#define DET_INFO_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View of the facts about this run; borrowed from det_core_info(). */
typedef struct det_info det_info;

/** The trial this process works for (seed: TrialInfo.trial_id).
 * @return The id, counted from 1; 0 when `info` is NULL or the task is no trial.   @since 0.1 */
DET_API int64_t det_info_trial_id(const det_info *info) DET_NOEXCEPT;

/** The experiment of the trial (seed: TrialInfo.experiment_id).
 * @return The id, counted from 1; 0 when `info` is NULL or the task is no trial.   @since 0.1 */
DET_API int64_t det_info_experiment_id(const det_info *info) DET_NOEXCEPT;

/** How often the trial was started, this time included: 1, 2, 3 …
 * @return The run id; 0 when `info` is NULL or the task is no trial.   @since 0.1 */
DET_API int64_t det_info_trial_run_id(const det_info *info) DET_NOEXCEPT;

/** The random seed of the trial, the same after a restart (seed: TrialInfo.trial_seed). The search
 * draws one for each trial from `reproducibility.experiment_seed` of the configuration, or from the
 * time where that is not given. Trials of a custom searcher all have 42. A master over HTTP
 * hands out its own, in DET_TRIAL_SEED.
 * @return A number from 0 to 2^31 - 1; 0 when `info` is NULL.   @since 0.1 */
DET_API int64_t det_info_trial_seed(const det_info *info) DET_NOEXCEPT;

/** The steps of the trial's latest checkpoint.
 * @return Steps; 0 when there is none or `info` is NULL.   @since 0.1 */
DET_API int64_t det_info_steps_completed(const det_info *info) DET_NOEXCEPT;

/** The checkpoint to resume from.
 * @return A storage id for det_checkpoint_reader_open(), borrowed; NULL when the trial starts
 * from nothing.   @since 0.1 */
DET_API const char *det_info_latest_checkpoint(const det_info *info) DET_NOEXCEPT;

/** Whether a cluster started this process (its info files or variables were found).
 * @return 1 or 0.   @since 0.1 */
DET_API int32_t det_info_on_cluster(const det_info *info) DET_NOEXCEPT;

/** All hyperparameters as one JSON object, nested as in the configuration
 * (seed: TrialInfo.hparams).
 * @return Borrowed; "{}" when there are none or `info` is NULL.   @since 0.1 */
DET_API const char *det_info_hparams_json(const det_info *info) DET_NOEXCEPT;

/** The experiment configuration as JSON.
 * @return Borrowed; "{}" when there is none or `info` is NULL.   @since 0.1 */
DET_API const char *det_info_config_json(const det_info *info) DET_NOEXCEPT;

/** The `data` section of the configuration, for the user's own settings (seed: user_data).
 * @return Borrowed JSON; "{}" when there is none or `info` is NULL.   @since 0.1 */
DET_API const char *det_info_user_data_json(const det_info *info) DET_NOEXCEPT;

/** Everything known about this run as one JSON object: ids, hyperparameters, latest checkpoint,
 * master, storage, ranks, `debug` of the configuration, and `inter_node_network_interface` (the
 * variable DET_INTER_NODE_NETWORK_INTERFACE, or null). Holds no token. New keys may appear in a
 * later release.
 * @return Borrowed; "{}" when `info` is NULL.   @since 0.1 */
DET_API const char *det_info_json(const det_info *info) DET_NOEXCEPT;

/** Number of hyperparameters, those in nested groups counted one by one; 0 for NULL.   @since 0.1
 */
DET_API size_t det_info_hparam_count(const det_info *info) DET_NOEXCEPT;

/** The name of a hyperparameter, with dots for nested groups: what the functions below take.
 * @param[in] index  From 0, in the order of the configuration.
 * @return Borrowed from `info`; NULL for NULL and beyond the end.   @since 0.1 */
DET_API const char *det_info_hparam_name(const det_info *info, size_t index) DET_NOEXCEPT;

/** A hyperparameter as a number, with a value to use when it is not set.
 * @param[in] info      NULL gives `fallback`.
 * @param[in] name      Dots step into nested groups: "optimizer.lr". A name that itself has a dot
 *                      is found first.
 * @param[in] fallback  Returned when the name is absent. A value that is not a number also gives
 *                      `fallback`, with a warning in the log.   @since 0.1 */
DET_API double det_info_hparam_double(const det_info *info, const char *name,
                                      double fallback) DET_NOEXCEPT;

/** A hyperparameter as an integer; like det_info_hparam_double(). A number with a fraction, or one
 * beyond 64 bits, counts as a wrong type.   @since 0.1 */
DET_API int64_t det_info_hparam_int(const det_info *info, const char *name,
                                    int64_t fallback) DET_NOEXCEPT;

/** A hyperparameter as a truth value, 0 or 1; like det_info_hparam_double().   @since 0.1 */
DET_API int32_t det_info_hparam_bool(const det_info *info, const char *name,
                                     int32_t fallback) DET_NOEXCEPT;

/** A hyperparameter as text; like det_info_hparam_double().
 * @return Borrowed from `info`, or `fallback` itself.   @since 0.1 */
DET_API const char *det_info_hparam_string(const det_info *info, const char *name,
                                           const char *fallback) DET_NOEXCEPT;

/** A hyperparameter as a number, where its absence is an error.
 * @param[out] out  Receives the value.
 * @return DET_OK; DET_E_NOT_FOUND (no such name; the message lists those there are);
 * DET_E_INVALID (NULL argument, or not a number).   @since 0.1 */
DET_API det_status det_info_get_hparam_double(const det_info *info, const char *name, double *out,
                                              det_error *err) DET_NOEXCEPT;

/** A hyperparameter as an integer; like det_info_get_hparam_double().   @since 0.1 */
DET_API det_status det_info_get_hparam_int(const det_info *info, const char *name, int64_t *out,
                                           det_error *err) DET_NOEXCEPT;

/** A hyperparameter as a truth value; like det_info_get_hparam_double().   @since 0.1 */
DET_API det_status det_info_get_hparam_bool(const det_info *info, const char *name, int32_t *out,
                                            det_error *err) DET_NOEXCEPT;

/** A hyperparameter as text; like det_info_get_hparam_double().
 * @param[out] out  Receives a string to release with det_free(); NULL on failure.   @since 0.1 */
DET_API det_status det_info_get_hparam_string(const det_info *info, const char *name, char **out,
                                              det_error *err) DET_NOEXCEPT;

/** A hyperparameter of any type as JSON text (a text value keeps its quotes).
 * @param[out] out  Receives a string to release with det_free(); NULL on failure.
 * @return As det_info_get_hparam_double().   @since 0.1 */
DET_API det_status det_info_get_hparam_json(const det_info *info, const char *name, char **out,
                                            det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
