/**
 * @file
 * @brief Checks experiment configurations, and fills in their defaults.
 *
 * A configuration is YAML or JSON text. docs/experiment-config.md lists its fields. Any rank and
 * any thread may call both functions. They only compute, and need no core.
 */
#ifndef DET_CONFIG_H
#define DET_CONFIG_H

#include <det/error.h>

DET_BEGIN_DECLS

/** Sets the release of the platform by whose rules a configuration is read. */
typedef int32_t det_config_rules;
#define DET_CONFIG_RULES_0_33 0 /**< Trials get lengths to train to. */
#define DET_CONFIG_RULES_0_38 1 /**< Trials report metrics, and are stopped. */

/** Options of det_config_check() and det_config_complete().
 *
 * The JSON texts are sources of lower priority, in this order. NULL: none, except for
 * `master_storage_json`. */
typedef struct det_config_options {
  size_t struct_size;                 /**< sizeof(det_config_options). */
  const char *file_name;              /**< For messages. NULL: "config". */
  const char *master;                 /**< Its storage is used. As in det_core_options. */
  const char *template_json;          /**< A configuration. */
  const char *pool_defaults_json;     /**< The defaults of a pool's containers. */
  const char *workspace_storage_json; /**< A `checkpoint_storage` section. */
  const char *master_storage_json;    /**< The same; "null": none. NULL: that of `master`. */
  int32_t unmanaged;      /**< 1: trials start by themselves; `entrypoint` may be missing. */
  det_config_rules rules; /**< One of DET_CONFIG_RULES_*. */
} det_config_options;

/** Initialiser with the defaults. */
#define DET_CONFIG_OPTIONS_INIT \
  { sizeof(det_config_options), NULL, NULL, NULL, NULL, NULL, NULL, 0, DET_CONFIG_RULES_0_33 }

/** Finds all problems of a configuration.
 *
 * Each problem is an object with these keys:
 * - "path": such as "<config>.searcher.metric".
 * - "kind".
 * - "key": an unknown or missing key, else null.
 * - "line", "column": in a text that is not YAML, else null.
 * - "message".
 * - "severity": "error", or "warning" for a value that is read, but perhaps not as intended.
 * @param[in]  text      The configuration, at most 1 MiB.
 * @param[in]  options   NULL for the defaults.
 * @param[out] out_json  Receives a list of problems, "[]" without any. Release it with det_free().
 *                       NULL on failure.
 * @retval DET_OK         The configuration was checked. It may have problems.
 * @retval DET_E_INVALID  An option is wrong.
 * @since 0.1 */
DET_API det_status det_config_check(const char *text, const det_config_options *options,
                                    char **out_json, det_error *err) DET_NOEXCEPT;

/** Fills in all defaults of a configuration, and expands all short forms.
 * @param[in]  text      The configuration, at most 1 MiB.
 * @param[in]  options   NULL for the defaults.
 * @param[out] out_json  Receives the configuration as JSON. Release it with det_free(). NULL on
 *                       failure.
 * @retval DET_OK         `out_json` has the configuration.
 * @retval DET_E_INVALID  The text has problems, or an option is wrong. The message has the first
 *                        problem and their number.
 * @since 0.1 */
DET_API det_status det_config_complete(const char *text, const det_config_options *options,
                                       char **out_json, det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
