/**
 * @file
 * @brief Gets from the search how far this trial should train, and reports the result.
 *
 * A `det_searcher_context` is a view borrowed from `det_core`. An operation is borrowed from the
 * searcher. Both are valid until det_core_free().
 */
#ifndef DET_SEARCHER_H
#define DET_SEARCHER_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View of the search. Borrowed from det_core_searcher(). Follows SearcherContext. */
typedef struct det_searcher_context det_searcher_context;
/** One request of the search: train up to a length, validate, report. Borrowed from the searcher.
 * Follows SearcherOperation. */
typedef struct det_searcher_op det_searcher_op;

/** Sets which ranks call det_searcher_next(). Follows SearcherMode. */
typedef int32_t det_searcher_mode;
#define DET_SEARCHER_MODE_WORKERS_ASK_CHIEF 0 /**< All ranks call; the chief asks the master. */
#define DET_SEARCHER_MODE_CHIEF_ONLY 1        /**< Only the chief; other ranks get DET_E_STATE. */

/** The unit of lengths, if the configuration names one. Follows Unit. */
typedef int32_t det_length_unit;
#define DET_LENGTH_UNIT_NONE 0    /**< Not configured: the program decides. */
#define DET_LENGTH_UNIT_EPOCHS 1  /**< Passes over the training data. */
#define DET_LENGTH_UNIT_RECORDS 2 /**< Single examples. */
#define DET_LENGTH_UNIT_BATCHES 3 /**< Steps of the optimiser. */

/** Sets which ranks ask for operations, and whether the end is acknowledged.
 *
 * Call it before the first det_searcher_next(). Without it all ranks ask, and the end is
 * acknowledged. Follows the arguments of SearcherContext.operations().
 * @param[in] mode      One of DET_SEARCHER_MODE_*.
 * @param[in] auto_ack  1: the last det_searcher_next() acknowledges the end. 0: the caller does,
 *                      with det_searcher_acknowledge_out_of_ops().
 * @retval DET_OK         Set.
 * @retval DET_E_INVALID  The mode is unknown.
 * @retval DET_E_STATE    The first operation was handed out, or the core is closed.
 * @since 0.1 */
DET_API det_status det_searcher_configure(det_searcher_context *searcher, det_searcher_mode mode,
                                          int32_t auto_ack, det_error *err) DET_NOEXCEPT;

/** Gets the next operation. Complete the one before it first.
 *
 * Blocks for at most one request to the master. In the mode WORKERS_ASK_CHIEF ranks also wait for
 * the chief. All ranks then get the chief's answer, also if it is an error. On other ranks than the
 * chief an operation has only a length. Follows SearcherContext.operations().
 * @param[out] out  Receives the operation, borrowed. NULL unless the status is DET_OK.
 * @retval DET_OK             `out` has an operation.
 * @retval DET_DONE           There is no more work for now: leave the loop.
 * @retval DET_E_STATE        The previous operation is not complete, the mode does not let this
 *                            rank call, or the core is closed.
 * @retval DET_E_UNAVAILABLE  The master does not answer. Call again.
 * @retval DET_E_BUSY         Another process holds the store. Call again.
 * @since 0.1 */
DET_API det_status det_searcher_next(det_searcher_context *searcher, det_searcher_op **out,
                                     det_error *err) DET_NOEXCEPT;

/** Tells the master that this process leaves because there is no more work.
 *
 * The chief's call counts; on other ranks it does nothing. A repeat does nothing. After a power cut
 * the run counts as killed all the same. Blocks for one request. Follows
 * SearcherContext.acknowledge_out_of_ops().
 * @retval DET_OK             The master has it.
 * @retval DET_E_STATE        There is still an operation, or the core is closed.
 * @retval DET_E_UNAVAILABLE  The master does not answer. Call again.
 * @since 0.1 */
DET_API det_status det_searcher_acknowledge_out_of_ops(det_searcher_context *searcher,
                                                       det_error *err) DET_NOEXCEPT;

/** Returns the unit of every length, from the experiment's configuration. Does not block. Follows
 * SearcherContext.get_configured_units().
 * @return One of DET_LENGTH_UNIT_*; DET_LENGTH_UNIT_NONE for NULL.
 * @since 0.1 */
DET_API det_length_unit det_searcher_configured_units(const det_searcher_context *searcher)
    DET_NOEXCEPT;

/** Returns how far to train. It counts from the beginning of the trial, not from the last
 * operation. Does not block. Follows SearcherOperation.length.
 * @return The length; 0 for NULL.
 * @since 0.1 */
DET_API int64_t det_searcher_op_length(const det_searcher_op *op) DET_NOEXCEPT;

/** Reports how far training has come, for displays.
 *
 * Only the chief may call it. It does not block: the background shipper delivers the report.
 * Follows SearcherOperation.report_progress().
 * @param[in] length  Counted from the beginning of the trial, in the operation's unit. Finite, not
 *                    negative.
 * @retval DET_OK         Handed over.
 * @retval DET_E_INVALID  `length` is negative or not finite.
 * @retval DET_E_STATE    This rank is not the chief, the core is closed, or the operation is
 *                        complete and `length` is not its length.
 * @since 0.1 */
DET_API det_status det_searcher_op_report_progress(det_searcher_op *op, double length,
                                                   det_error *err) DET_NOEXCEPT;

/** Completes the operation with the metric of the search.
 *
 * Only the chief may call it, once for each operation. It blocks until the master has this report
 * and all reports before it. Then they survive a power cut. Follows
 * SearcherOperation.report_completed().
 * @param[in] metric  Any number. NaN and infinities count as the worst result.
 * @retval DET_OK             The operation is complete.
 * @retval DET_E_STATE        This rank is not the chief, the operation was completed before, or the
 *                            core is closed.
 * @retval DET_E_UNAVAILABLE  The master does not answer, and nothing is recorded. Call again.
 * @retval DET_E_BUSY         Another process holds the store, and nothing is recorded. Call again.
 * @since 0.1 */
DET_API det_status det_searcher_op_report_completed(det_searcher_op *op, double metric,
                                                    det_error *err) DET_NOEXCEPT;

/** Completes the operation with any JSON value, for your own search methods. Everything else is as
 * for det_searcher_op_report_completed().
 * @return As there. DET_E_INVALID if `metric_json` is not JSON.
 * @since 0.1 */
DET_API det_status det_searcher_op_report_completed_json(det_searcher_op *op,
                                                         const char *metric_json,
                                                         det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
