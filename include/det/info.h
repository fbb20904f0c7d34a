/**
 * @file
 * @brief Returns the facts about this run: ids, hyperparameters, configuration.
 *
 * A `det_info` is a view borrowed from `det_core`. It is valid until det_core_free(), and never
 * changes. So every function here is fast and does not block. Any rank may call it. All ranks of a
 * job have the facts of the chief's run, except their own rank.
 */
#ifndef DET_INFO_H
#define DET_INFO_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View of the facts about this run. Borrowed from det_core_info(). Follows ClusterInfo and
 * TrialInfo. */
typedef struct det_info det_info;

/** Returns the id of the trial of this process. Follows TrialInfo.trial_id.
 * @return The id, counted from 1; 0 if `info` is NULL or the task is no trial.
 * @since 0.1 */
DET_API int64_t det_info_trial_id(const det_info *info) DET_NOEXCEPT;

/** Returns the id of the experiment of the trial. Follows TrialInfo.experiment_id.
 * @return The id, counted from 1; 0 if `info` is NULL or the task is no trial.
 * @since 0.1 */
DET_API int64_t det_info_experiment_id(const det_info *info) DET_NOEXCEPT;

/** Returns the number of starts of the trial, including this one: 1, 2, 3 …
 * @return The run id; 0 if `info` is NULL or the task is no trial.
 * @since 0.1 */
DET_API int64_t det_info_trial_run_id(const det_info *info) DET_NOEXCEPT;

/** Returns the random seed of the trial. It stays the same after a restart.
 *
 * The search draws one for each trial, from `reproducibility.experiment_seed` of the configuration.
 * Without that it draws from the time. All trials of a custom searcher have 42. A master over HTTP
 * gives its own seed, in DET_TRIAL_SEED. Follows TrialInfo.trial_seed.
 * @return A number from 0 to 2^31 - 1; 0 if `info` is NULL.
 * @since 0.1 */
DET_API int64_t det_info_trial_seed(const det_info *info) DET_NOEXCEPT;

/** Returns the steps of the trial's latest checkpoint.
 * @return Steps; 0 without a checkpoint, or if `info` is NULL.
 * @since 0.1 */
DET_API int64_t det_info_steps_completed(const det_info *info) DET_NOEXCEPT;

/** Returns the checkpoint to resume from.
 * @return A storage id for det_checkpoint_reader_open(), borrowed. NULL if the trial starts from
 * nothing.
 * @since 0.1 */
DET_API const char *det_info_latest_checkpoint(const det_info *info) DET_NOEXCEPT;

/** Tells if a cluster started this process. Its info files or variables then exist.
 * @return 1 or 0.
 * @since 0.1 */
DET_API int32_t det_info_on_cluster(const det_info *info) DET_NOEXCEPT;

/** Returns all hyperparameters as one JSON object, nested as in the configuration. Follows
 * TrialInfo.hparams.
 * @return Borrowed; "{}" without any, or if `info` is NULL.
 * @since 0.1 */
DET_API const char *det_info_hparams_json(const det_info *info) DET_NOEXCEPT;

/** Returns the experiment configuration as JSON.
 * @return Borrowed; "{}" without one, or if `info` is NULL.
 * @since 0.1 */
DET_API const char *det_info_config_json(const det_info *info) DET_NOEXCEPT;

/** Returns the `data` section of the configuration, for your own settings. Follows
 * ClusterInfo.user_data.
 * @return Borrowed JSON; "{}" without one, or if `info` is NULL.
 * @since 0.1 */
DET_API const char *det_info_user_data_json(const det_info *info) DET_NOEXCEPT;

/** Returns all facts about this run as one JSON object.
 *
 * It has ids, hyperparameters, latest checkpoint, master, storage, ranks and `debug` of the
 * configuration. `inter_node_network_interface` is the variable DET_INTER_NODE_NETWORK_INTERFACE,
 * or null. It has no token. A later release may add keys.
 * @return Borrowed; "{}" if `info` is NULL.
 * @since 0.1 */
DET_API const char *det_info_json(const det_info *info) DET_NOEXCEPT;

/** Returns the number of hyperparameters, with those in nested groups counted one by one; 0 for
 * NULL.
 * @since 0.1 */
DET_API size_t det_info_hparam_count(const det_info *info) DET_NOEXCEPT;

/** Returns the name of a hyperparameter, with dots for nested groups. The functions below take it.
 * @param[in] index  From 0, in the order of the configuration.
 * @return Borrowed from `info`; NULL for NULL and beyond the end.
 * @since 0.1 */
DET_API const char *det_info_hparam_name(const det_info *info, size_t index) DET_NOEXCEPT;

/** Returns a hyperparameter as a number, or a fallback if it is not set.
 * @param[in] info      NULL gives `fallback`.
 * @param[in] name      Dots step into nested groups: "optimizer.lr". A name that itself has a dot
 *                      is found first.
 * @param[in] fallback  Returned if the name is missing. A value that is not a number also gives
 *                      `fallback`, with a warning in the log.
 * @return The value or `fallback`.
 * @since 0.1 */
DET_API double det_info_hparam_double(const det_info *info, const char *name,
                                      double fallback) DET_NOEXCEPT;

/** Returns a hyperparameter as an integer, or a fallback. A number with a fraction, or beyond 64
 * bits, counts as a wrong type. Everything else is as for det_info_hparam_double().
 * @since 0.1 */
DET_API int64_t det_info_hparam_int(const det_info *info, const char *name,
                                    int64_t fallback) DET_NOEXCEPT;

/** Returns a hyperparameter as a truth value, 0 or 1, or a fallback. Everything else is as for
 * det_info_hparam_double().
 * @since 0.1 */
DET_API int32_t det_info_hparam_bool(const det_info *info, const char *name,
                                     int32_t fallback) DET_NOEXCEPT;

/** Returns a hyperparameter as text, or a fallback. Everything else is as for
 * det_info_hparam_double().
 * @return Borrowed from `info`, or `fallback` itself.
 * @since 0.1 */
DET_API const char *det_info_hparam_string(const det_info *info, const char *name,
                                           const char *fallback) DET_NOEXCEPT;

/** Gets a hyperparameter as a number. A missing one is an error.
 * @param[in]  name  As for det_info_hparam_double().
 * @param[out] out   Receives the value.
 * @retval DET_OK           `out` has the value.
 * @retval DET_E_NOT_FOUND  There is no such name. The message lists the names.
 * @retval DET_E_INVALID    An argument is NULL, or the value is not a number.
 * @since 0.1 */
DET_API det_status det_info_get_hparam_double(const det_info *info, const char *name, double *out,
                                              det_error *err) DET_NOEXCEPT;

/** Gets a hyperparameter as an integer. Everything else is as for det_info_get_hparam_double().
 * @since 0.1 */
DET_API det_status det_info_get_hparam_int(const det_info *info, const char *name, int64_t *out,
                                           det_error *err) DET_NOEXCEPT;

/** Gets a hyperparameter as a truth value. Everything else is as for det_info_get_hparam_double().
 * @since 0.1 */
DET_API det_status det_info_get_hparam_bool(const det_info *info, const char *name, int32_t *out,
                                            det_error *err) DET_NOEXCEPT;

/** Gets a hyperparameter as text. Everything else is as for det_info_get_hparam_double().
 * @param[out] out  Receives a string. Release it with det_free(). NULL on failure.
 * @since 0.1 */
DET_API det_status det_info_get_hparam_string(const det_info *info, const char *name, char **out,
                                              det_error *err) DET_NOEXCEPT;

/** Gets a hyperparameter of any type as JSON text. A text value keeps its quotes.
 * @param[out] out  Receives a string. Release it with det_free(). NULL on failure.
 * @return As det_info_get_hparam_double().
 * @since 0.1 */
DET_API det_status det_info_get_hparam_json(const det_info *info, const char *name, char **out,
                                            det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
