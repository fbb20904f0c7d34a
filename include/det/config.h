/**
 * @file
 * @brief Experiment configurations: what is wrong with one, and one with every default filled in.
 *
 * A configuration is YAML or JSON text; docs/experiment-config.md tells its fields. Both functions
 * only compute, on any rank and any thread, and need no core.
 */
#ifndef DET_CONFIG_H
#define DET_CONFIG_H

#include <det/error.h>

DET_BEGIN_DECLS

/** Which release of the platform a configuration is read as. */
typedef int32_t det_config_rules;
#define DET_CONFIG_RULES_0_33 0 /**< Trials are handed lengths to train to. */
#define DET_CONFIG_RULES_0_38 1 /**< Trials report metrics, and are stopped. */

/** How to read a configuration. The JSON texts are sources of lower priority, in this order. NULL
 * is none, but for the last one. */
typedef struct det_config_options {
  size_t struct_size;                 /**< sizeof(det_config_options). */
  const char *file_name;              /**< For messages. NULL: "config". */
  const char *master;                 /**< Whose storage to use; as in det_core_options. */
  const char *template_json;          /**< A configuration. */
  const char *pool_defaults_json;     /**< The defaults of a pool's containers. */
  const char *workspace_storage_json; /**< A `checkpoint_storage` section. */
  const char *master_storage_json;    /**< Likewise; "null": none. NULL: the store `master`. */
  int32_t unmanaged;      /**< 1: trials start by themselves, so `entrypoint` may be missing. */
  det_config_rules rules; /**< One of DET_CONFIG_RULES_*. */
} det_config_options;

/** Initialiser with the defaults. */
#define DET_CONFIG_OPTIONS_INIT \
  { sizeof(det_config_options), NULL, NULL, NULL, NULL, NULL, NULL, 0, DET_CONFIG_RULES_0_33 }

/** Finds everything that is wrong with a configuration.
 * @param[in]  text      The configuration, at most 1 MiB.
 * @param[in]  options   NULL for the defaults.
 * @param[out] out_json  Receives a list of problems, "[]" where there are none, to release with
 *                       det_free(); NULL on failure. Each has "path" ("<config>.searcher.metric"),
 *                       "kind", "key" (unknown or missing, else null), "line", "column" (of a text
 *                       that is not YAML, else null), "message", and "severity": "error", or
 *                       "warning" for what is read, but perhaps not as it was meant.
 * @return DET_OK, also when there are problems; DET_E_INVALID (an option).   @since 0.1 */
DET_API det_status det_config_check(const char *text, const det_config_options *options,
                                    char **out_json, det_error *err) DET_NOEXCEPT;

/** Fills in every default of a configuration, and writes every shorthand out.
 * @param[in]  text      The configuration, at most 1 MiB.
 * @param[in]  options   NULL for the defaults.
 * @param[out] out_json  Receives the configuration as JSON, to release with det_free(); NULL on
 *                       failure.
 * @return DET_OK; DET_E_INVALID (a problem in the text: the message tells the first and how many
 * there are; or an option).   @since 0.1 */
DET_API det_status det_config_complete(const char *text, const det_config_options *options,
                                       char **out_json, det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
