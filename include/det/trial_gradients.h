/**
 * @file
 * @brief Adds up gradients and metrics over ranks, and gives all ranks the same first weights.
 *
 * It works for any job (det/distributed.h). It also works for one process, where nothing is sent.
 * Every rank gets the same bits, in whatever order the ranks arrive.
 */
#ifndef DET_TRIAL_GRADIENTS_H
#define DET_TRIAL_GRADIENTS_H

#include <det/distributed.h>
#include <det/tensors.h>

DET_BEGIN_DECLS

/** Adds up gradients over ranks and batches. Use it on one thread at a time. Follows the
 * aggregation of Horovod's optimizer. */
typedef struct det_trial_gradients det_trial_gradients;

/** Describes a gradient before it exists. */
typedef struct det_trial_gradient {
  size_t struct_size; /**< sizeof(det_trial_gradient), the same for all of an array. */
  size_t count;       /**< The number of elements. */
  det_dtype dtype;    /**< DET_DTYPE_F16, DET_DTYPE_BF16, DET_DTYPE_F32 or DET_DTYPE_F64. */
  /** 1: it comes as rows, which the caller spreads out. Needs an `aggregation_frequency` of 1. */
  int32_t is_sparse;
} det_trial_gradient;

/** Initialiser of a gradient without elements. */
#define DET_TRIAL_GRADIENT_INIT \
  { sizeof(det_trial_gradient), 0, DET_DTYPE_F32, 0 }

/** Sets how the gradients of the ranks are summed. */
typedef int32_t det_trial_reduction;
#define DET_TRIAL_REDUCTION_AUTO 0          /**< NCCL, else the first of these that works. */
#define DET_TRIAL_REDUCTION_SHARED_MEMORY 1 /**< For ranks on one machine. */
#define DET_TRIAL_REDUCTION_TRANSPORT 2     /**< As MPI sums, during the backward pass. */
#define DET_TRIAL_REDUCTION_MESSAGES 3      /**< Within each machine, then through rank 0. */
/** Sums on CUDA devices with NCCL, while the next gradients are computed.
 *
 * It opens libnccl.so.2 (2.14 or later) at run time. It needs all of these:
 * - All gradients of a rank are memory of one device, in its primary context. Managed memory
 *   counts.
 * - No other rank uses that device.
 * - `aggregation_frequency` is 1 and `gradient_compression` is 0.
 *
 * The ranks agree in the first period that has gradients. Those gradients still go through the
 * processes. After that each rank keeps room for all gradients on its device.
 *
 * If NCCL cannot be used, AUTO takes another way. Rank 0 logs the reason once. */
#define DET_TRIAL_REDUCTION_NCCL 4

/** Options of det_trial_gradients_create(), the same on all ranks. Follows `optimizations`. */
typedef struct det_trial_gradients_options {
  size_t struct_size;            /**< sizeof(det_trial_gradients_options). */
  int32_t aggregation_frequency; /**< Batches whose gradients are applied together. */
  /** 1: the mean of these batches; 0: their sum. Over ranks it is always the mean. */
  int32_t average_aggregated_gradients;
  int32_t gradient_compression; /**< 1: float and double travel in half precision. */
  /** 1: gradients come in the order of the tensors. 0: in the reverse order, as a backward pass
   * makes them. */
  int32_t first_to_last;
  size_t tensor_fusion_threshold; /**< Bytes that are reduced together. 0: 64 MiB. */
  det_trial_reduction reduction;  /**< One of DET_TRIAL_REDUCTION_*. */
  /** 1: gradients on a CUDA device are complete when they are added, so no queue is waited for. */
  int32_t gradients_are_complete;
} det_trial_gradients_options;

/** Initialiser with the defaults. */
#define DET_TRIAL_GRADIENTS_OPTIONS_INIT \
  { sizeof(det_trial_gradients_options), 1, 1, 0, 0, 0, DET_TRIAL_REDUCTION_AUTO, 0 }

/** Registers all gradients of a model. All ranks call it in step, with the same tensors and
 * options.
 * @param[in]  distributed  The job. It must outlive the result. NULL: one process.
 * @param[in]  tensors      `count` descriptions. They are copied.
 * @param[in]  count        The number of gradients.
 * @param[in]  options      NULL: the defaults. They are copied.
 * @param[out] out          Receives the result. Release it with det_trial_gradients_free().
 * @retval DET_OK             `out` has the result.
 * @retval DET_E_INVALID      On all ranks: a dtype cannot be a gradient, or the frequency is below
 *                            1.
 * @retval DET_E_UNSUPPORTED  On all ranks: sparse gradients over several batches, or a reduction
 *                            that cannot be used. That also means an NCCL that is missing, too old
 *                            or does not fit.
 * @retval DET_E_CONFLICT     On all ranks: ranks gave different arguments. The message names the
 *                            first difference.
 * @retval DET_E_NOMEM        Out of memory.
 * @since 0.1 */
DET_API det_status det_trial_gradients_create(det_distributed_context *distributed,
                                              const det_trial_gradient *tensors, size_t count,
                                              const det_trial_gradients_options *options,
                                              det_trial_gradients **out,
                                              det_error *err) DET_NOEXCEPT;

/** Gives you memory in which to compute gradients, so that nothing is copied.
 *
 * Pass parts of it to det_trial_gradients_add() as `data` and as `result`. It has all tensors in
 * their order, each at the next multiple of 64 bytes. Do not ask for it if ranks compute on CUDA
 * devices: NCCL is not used then. Does not block.
 *
 * You may write to it before the first addition, and between a step and the next addition. At other
 * times others write to it.
 * @param[out] out        Receives the memory, valid until the handle is freed. It is zero at first.
 *                        NULL if this handle has no such memory: several batches in a period, half
 *                        precision, one rank, or few gradients.
 * @param[out] out_bytes  The bytes of `out`. 0 if `out` is NULL.
 * @retval DET_OK         `out` is set, or NULL.
 * @retval DET_E_INVALID  An argument is NULL.
 * @since 0.1 */
DET_API det_status det_trial_gradients_memory(det_trial_gradients *gradients, void **out,
                                              size_t *out_bytes, det_error *err) DET_NOEXCEPT;

/** Adds a gradient of the current batch. It is read before this returns.
 *
 * In the last batch of a period a full group begins to be reduced, if the transport or NCCL sums.
 *
 * Does not wait for other ranks, with one exception. With NCCL and `gradients_are_complete` 0 it
 * waits for the groups that are being reduced, because their queue belongs to the device.
 * @param[in]  index   The number of the tensor, from 0. Each at most once in a batch.
 * @param[in]  data    The registered number of elements, in memory of the process or of a CUDA
 *                     device. The queues of the device are waited for unless
 *                     `gradients_are_complete` is 1. Without NCCL the elements go through the
 *                     process.
 * @param[out] result  Receives the sum in det_trial_gradients_step(). It has the size of `data`,
 *                     and must be valid until then. May be `data`.
 * @retval DET_OK             Added.
 * @retval DET_E_INVALID      There is no such tensor.
 * @retval DET_E_STATE        The tensor was added twice, or an earlier step failed.
 * @retval DET_E_UNAVAILABLE  A rank is gone.
 * @retval DET_E_TIMEOUT      A rank did not answer in time.
 * @retval DET_E_IO           A CUDA device failed.
 * @since 0.1 */
DET_API det_status det_trial_gradients_add(det_trial_gradients *gradients, size_t index,
                                           const void *data, void *result,
                                           det_error *err) DET_NOEXCEPT;

/** Ends a batch. At the end of a period it adds up the gradients and writes the results.
 *
 * A period has `aggregation_frequency` batches. At its end all ranks are in step, and the call
 * waits for them. A tensor that no rank added in the period has no result. After a failure you can
 * only free the handle.
 * @param[out] out_apply  1: apply the results now. 0: there are no results yet.
 * @retval DET_OK             The batch is complete.
 * @retval DET_E_CONFLICT     On all ranks: ranks added different gradients, or one is missing only
 *                            in the last batch of a period.
 * @retval DET_E_UNSUPPORTED  On all ranks: you asked for NCCL, and it cannot add up the gradients
 *                            of the first period. The message has the reason.
 * @retval DET_E_TIMEOUT      On all ranks: a rank did not answer in time.
 * @retval DET_E_UNAVAILABLE  On all ranks: a rank is gone, or NCCL failed on one of them.
 * @retval DET_E_IO           On all ranks: a CUDA device failed.
 * @since 0.1 */
DET_API det_status det_trial_gradients_step(det_trial_gradients *gradients, int32_t *out_apply,
                                            det_error *err) DET_NOEXCEPT;

/** Releases the handle. Gradients that were added and not applied are dropped. NULL does nothing.
 * @since 0.1 */
DET_API void det_trial_gradients_free(det_trial_gradients *gradients) DET_NOEXCEPT;

/** Computes the mean of each metric over the ranks. Every rank gets the same result.
 *
 * All ranks call it in step, and it waits for them. Integers stay integers if their mean is one.
 * For a value that is no number, such as a text, rank 0's counts. Follows average_training_metrics.
 * @param[in]  distributed   The job. NULL: this process alone.
 * @param[in]  metrics_json  An object with the same keys on all ranks. NaN and infinities may be
 *                           bare.
 * @param[in]  weight        The weight of this rank, such as its number of records. NULL on all
 *                           ranks: equal weights.
 * @param[out] out_json      The means, with sorted keys. NaN and infinities are bare. Release it
 *                           with det_free().
 * @retval DET_OK             `out_json` has the means.
 * @retval DET_E_INVALID      On all ranks: no object, a weight below 0, or all weights 0.
 * @retval DET_E_CONFLICT     On all ranks: ranks report different metrics. The message names one.
 * @retval DET_E_TIMEOUT      On all ranks: a rank did not answer in time.
 * @retval DET_E_UNAVAILABLE  On all ranks: a rank is gone.
 * @since 0.1 */
DET_API det_status det_trial_average_metrics(det_distributed_context *distributed,
                                             const char *metrics_json, const double *weight,
                                             char **out_json, det_error *err) DET_NOEXCEPT;

/** Copies rank 0's arrays into those of all other ranks: first weights, the state of optimizers, or
 * restored values.
 *
 * All ranks call it in step, and it waits for them. They give the same names, dtypes and shapes in
 * the same order. Many small arrays travel together. They travel as the messages of the job do: in
 * shared memory, by MPI, or over sockets.
 * @param[in] distributed  The job. NULL: this process alone, where nothing changes.
 * @param[in] tensors      `count` whole arrays, in memory of the process or of a CUDA device. Those
 *                         of rank 0 are only read.
 * @param[in] count        The number of arrays.
 * @retval DET_OK             All ranks have the arrays of rank 0.
 * @retval DET_E_INVALID      On all ranks: an array is invalid, or only a part of one. The message
 *                            names it. Nothing is written.
 * @retval DET_E_CONFLICT     On all ranks: a rank has other arrays than rank 0. The message names
 *                            the first one and both shapes. Nothing is written.
 * @retval DET_E_TIMEOUT      On all ranks: a rank did not answer in time. Arrays may be written in
 *                            part.
 * @retval DET_E_UNAVAILABLE  On all ranks: a rank is gone. Arrays may be written in part.
 * @retval DET_E_IO           On all ranks: a CUDA device failed. Arrays may be written in part.
 * @since 0.1 */
DET_API det_status det_trial_broadcast(det_distributed_context *distributed,
                                       const det_tensor *tensors, size_t count,
                                       det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
