/**
 * @file
 * @brief What the search asks this trial to train (seed: SearcherContext, SearcherOperation).
 *
 * A `det_searcher_context` is a view borrowed from `det_core`; an operation is borrowed from the
 * searcher. Both are valid until det_core_free().
 */
#ifndef DET_SEARCHER_H
#define DET_SEARCHER_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View of the search; borrowed from det_core_searcher(). */
typedef struct det_searcher_context det_searcher_context;
/** One request: train up to a length, validate, report. Borrowed from the searcher. */
typedef struct det_searcher_op det_searcher_op;

/** Who calls det_searcher_next() (seed: SearcherMode). */
typedef int32_t det_searcher_mode;
#define DET_SEARCHER_MODE_WORKERS_ASK_CHIEF                                               \
  0                                    /**< All ranks in step; the chief asks the master. \
                                        */
#define DET_SEARCHER_MODE_CHIEF_ONLY 1 /**< The chief alone; elsewhere DET_E_STATE. */

/** What one unit of length is, where the configuration says (seed: Unit). */
typedef int32_t det_length_unit;
#define DET_LENGTH_UNIT_NONE 0    /**< Not configured: the trial knows. */
#define DET_LENGTH_UNIT_EPOCHS 1  /**< Passes over the training data. */
#define DET_LENGTH_UNIT_RECORDS 2 /**< Single examples. */
#define DET_LENGTH_UNIT_BATCHES 3 /**< Steps of the optimiser. */

/** Chooses who asks, and whether the end is acknowledged (seed: the arguments of operations()).
 * Only before the first det_searcher_next(). Without it: all ranks, acknowledged.
 * @param[in] mode      One of DET_SEARCHER_MODE_*.
 * @param[in] auto_ack  1: the last det_searcher_next() acknowledges; 0: the caller does, with
 *                      det_searcher_acknowledge_out_of_ops().
 * @return DET_OK; DET_E_INVALID (mode); DET_E_STATE (after the first next, or closed).
 * @since 0.1 */
DET_API det_status det_searcher_configure(det_searcher_context *searcher, det_searcher_mode mode,
                                          int32_t auto_ack, det_error *err) DET_NOEXCEPT;

/** The next operation (seed: operations()). The one handed out before must have been completed.
 * May block for one request to the master; in WORKERS_ASK_CHIEF mode also for the chief, whose
 * answer, an error included, is that of every rank. On ranks other than the chief an operation has
 * a length and nothing else.
 * @param[out] out  Receives the operation, borrowed; NULL unless DET_OK.
 * @return DET_OK; DET_DONE (no more work for now: leave the loop); DET_E_STATE (previous operation
 * not completed, not this rank's call, or closed); DET_E_UNAVAILABLE, DET_E_BUSY.   @since 0.1 */
DET_API det_status det_searcher_next(det_searcher_context *searcher, det_searcher_op **out,
                                     det_error *err) DET_NOEXCEPT;

/** Tells the master that this process leaves because there is no more work
 * (seed: acknowledge_out_of_ops). Repeats do nothing. The chief speaks for all: on other ranks the
 * master is not told. After a power cut the run counts as killed all the same.
 * @return DET_OK; DET_E_STATE (there still is an operation, or closed); DET_E_UNAVAILABLE.
 * @since 0.1 */
DET_API det_status det_searcher_acknowledge_out_of_ops(det_searcher_context *searcher,
                                                       det_error *err) DET_NOEXCEPT;

/** The unit of every length, from the experiment configuration (seed: get_configured_units).
 * @return One of DET_LENGTH_UNIT_*; DET_LENGTH_UNIT_NONE for NULL. Does not block.   @since 0.1 */
DET_API det_length_unit det_searcher_configured_units(const det_searcher_context *searcher)
    DET_NOEXCEPT;

/** How far to train, counted from the very beginning of the trial, not from the last operation
 * (seed: SearcherOperation.length).
 * @return The length; 0 for NULL.   @since 0.1 */
DET_API int64_t det_searcher_op_length(const det_searcher_op *op) DET_NOEXCEPT;

/** Reports how far training has come, for displays (seed: report_progress). Chief only. Cheap:
 * handed to the background shipper.
 * @param[in] length  Absolute, in the operation's unit; finite, not negative.
 * @return DET_OK; DET_E_INVALID; DET_E_STATE (not the chief, closed, or completed and `length` is
 * not the operation's).   @since 0.1 */
DET_API det_status det_searcher_op_report_progress(det_searcher_op *op, double length,
                                                   det_error *err) DET_NOEXCEPT;

/** Completes the operation with the metric that is searched over (seed: report_completed). Chief
 * only, once. Blocks until the reports made before it are with the master, and it is: it survives a
 * power cut, as those before it then do.
 * @param[in] metric  Any number; NaN and infinities count as worst.
 * @return DET_OK; DET_E_STATE (not the chief, completed before, or closed); DET_E_UNAVAILABLE,
 * DET_E_BUSY (not recorded: call again).   @since 0.1 */
DET_API det_status det_searcher_op_report_completed(det_searcher_op *op, double metric,
                                                    det_error *err) DET_NOEXCEPT;

/** As det_searcher_op_report_completed(), with any JSON value, for search methods of one's own.
 * @return As there; DET_E_INVALID (not JSON).   @since 0.1 */
DET_API det_status det_searcher_op_report_completed_json(det_searcher_op *op,
                                                         const char *metric_json,
                                                         det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
