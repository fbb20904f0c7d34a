/**
 * @file
 * @brief What data-parallel training adds up over ranks: gradients, metrics, first weights.
 *
 * All of it works for any job (det/distributed.h) and for one process, where nothing is sent. Every
 * rank gets the same bits, whichever comes first.
 */
#ifndef DET_TRIAL_GRADIENTS_H
#define DET_TRIAL_GRADIENTS_H

#include <det/distributed.h>
#include <det/tensors.h>

DET_BEGIN_DECLS

/** Adds gradients up over ranks and batches (seed: the aggregation of Horovod's optimizer). For one
 * thread at a time. */
typedef struct det_trial_gradients det_trial_gradients;

/** What is known of a gradient before there is one. */
typedef struct det_trial_gradient {
  size_t struct_size; /**< sizeof(det_trial_gradient). All of an array have the same. */
  size_t count;       /**< Elements. */
  det_dtype dtype;    /**< DET_DTYPE_F16, DET_DTYPE_BF16, DET_DTYPE_F32 or DET_DTYPE_F64. */
  int32_t is_sparse;  /**< 1: it comes as rows, which the caller spreads out. Only where
                           `aggregation_frequency` is 1. */
} det_trial_gradient;

/** Initialiser of no elements. */
#define DET_TRIAL_GRADIENT_INIT \
  { sizeof(det_trial_gradient), 0, DET_DTYPE_F32, 0 }

/** How the ranks' gradients are summed. */
typedef int32_t det_trial_reduction;
#define DET_TRIAL_REDUCTION_AUTO 0          /**< NCCL, else the first of these that can be had. */
#define DET_TRIAL_REDUCTION_SHARED_MEMORY 1 /**< All ranks are on one machine. */
#define DET_TRIAL_REDUCTION_TRANSPORT                                                    \
  2                                    /**< As MPI does it, while the next gradients are \
                                            computed. */
#define DET_TRIAL_REDUCTION_MESSAGES 3 /**< Each machine by itself, then through rank 0. */
/** On CUDA devices, while the next gradients are computed, by libnccl.so.2 (2.14 or later), which
 * is opened at run time: where all gradients of each rank are memory of one device (of its primary
 * context; managed memory is as good), which is no other rank's, and neither batches nor half
 * precision are asked for. The ranks agree about it in the first period that has gradients, which
 * still go through the processes; each then keeps room for all of them on its device. Where it
 * cannot be had, AUTO takes another way, and rank 0 says once in its log why. */
#define DET_TRIAL_REDUCTION_NCCL 4

/** How gradients are added up (seed: optimizations). The same on all ranks. */
typedef struct det_trial_gradients_options {
  size_t struct_size;                   /**< sizeof(det_trial_gradients_options). */
  int32_t aggregation_frequency;        /**< Batches whose gradients are applied together. */
  int32_t average_aggregated_gradients; /**< 1: their mean; 0: their sum. Over ranks it is always
                                             the mean. */
  int32_t gradient_compression;         /**< 1: float and double travel in half precision. */
  int32_t first_to_last;                /**< 1: gradients come in the order of the tensors; 0: in
                                             the reverse order, as a backward pass makes them. */
  size_t tensor_fusion_threshold;       /**< Bytes that are reduced together; 0: 64 MiB. */
  det_trial_reduction reduction;        /**< One of DET_TRIAL_REDUCTION_*. */
  int32_t gradients_are_complete;       /**< 1: those in memory of a CUDA device are computed when
                                             they are added, so that no queue is waited for. */
} det_trial_gradients_options;

/** Initialiser with the defaults. */
#define DET_TRIAL_GRADIENTS_OPTIONS_INIT \
  { sizeof(det_trial_gradients_options), 1, 1, 0, 0, 0, DET_TRIAL_REDUCTION_AUTO, 0 }

/** Registers all gradients of a model. All ranks in step, with the same tensors and options.
 * @param[in]  distributed  The job, which must outlive what is made; NULL: one process.
 * @param[in]  tensors      `count` of them. Copied.
 * @param[in]  options      NULL: the defaults. Copied.
 * @param[out] out          Release it with det_trial_gradients_free().
 * @return DET_OK; on all ranks: DET_E_INVALID (a dtype, a frequency below 1), DET_E_UNSUPPORTED
 * (sparse gradients over several batches, a reduction that cannot be had: NCCL that is not there,
 * too old, or for what it is not for), DET_E_CONFLICT (ranks that differ: the message names the
 * tensor), DET_E_NOMEM.   @since 0.1 */
DET_API det_status det_trial_gradients_create(det_distributed_context *distributed,
                                              const det_trial_gradient *tensors, size_t count,
                                              const det_trial_gradients_options *options,
                                              det_trial_gradients **out,
                                              det_error *err) DET_NOEXCEPT;

/** Memory in which gradients can be computed, and what comes of them be applied, so that nothing is
 * copied: det_trial_gradients_add() with its parts as `data` and as `result`. All tensors lie in
 * it, in their order, each at the next multiple of 64 bytes. Where ranks compute on CUDA devices
 * do not ask for it: NCCL is not taken then. Does not block.
 * @param[out] out        Valid until it is freed, zeros at first; between a step and the next
 *                        addition, and before the first one, the caller's. Elsewhere others write
 *                        to it. NULL where there is none: several batches in a period, half
 *                        precision, one rank, few gradients.
 * @param[out] out_bytes  0 for none.
 * @return DET_OK, DET_E_INVALID.   @since 0.1 */
DET_API det_status det_trial_gradients_memory(det_trial_gradients *gradients, void **out,
                                              size_t *out_bytes, det_error *err) DET_NOEXCEPT;

/** Adds a gradient of the current batch. It is read before this returns. In the last batch of a
 * period a full group begins to be reduced, where the transport or NCCL sums. Does not wait for
 * others, except by NCCL where `gradients_are_complete` is 0: then it waits for the groups that
 * are being reduced, as their queue is one of the device's.
 * @param[in]  index   Of the tensor, from 0; each at most once in a batch.
 * @param[in]  data    As many elements as were registered, in memory of the process or of a CUDA
 *                     device, whose queues are waited for unless `gradients_are_complete`. They go
 *                     through the process, except by NCCL.
 * @param[out] result  Where det_trial_gradients_step() writes what is to be applied; as large,
 * valid until then. May be `data`.
 * @return DET_OK; DET_E_INVALID (no such tensor); DET_E_STATE (added twice; an earlier step
 * failed); DET_E_UNAVAILABLE, DET_E_TIMEOUT; DET_E_IO (a CUDA device).   @since 0.1 */
DET_API det_status det_trial_gradients_add(det_trial_gradients *gradients, size_t index,
                                           const void *data, void *result,
                                           det_error *err) DET_NOEXCEPT;

/** Ends a batch. At the end of a period of `aggregation_frequency` batches all ranks are in step:
 * waits for them, and writes the results. A tensor that no rank added in the period has none.
 * @param[out] out_apply  1: the results are there, to be applied; 0: they are not.
 * @return DET_OK; on all ranks: DET_E_CONFLICT (ranks that added different ones; one that is
 * missing in the last batch of a period but not before it), DET_E_UNSUPPORTED (NCCL was asked for
 * and the gradients of the first period are not such that it can add them up: the message says
 * why), DET_E_TIMEOUT, DET_E_UNAVAILABLE (a rank that is gone, NCCL that failed on one of them),
 * DET_E_IO (a CUDA device). After a failure there is nothing to do but to free it.   @since 0.1 */
DET_API det_status det_trial_gradients_step(det_trial_gradients *gradients, int32_t *out_apply,
                                            det_error *err) DET_NOEXCEPT;

/** Releases it; what was added is dropped. NULL does nothing.   @since 0.1 */
DET_API void det_trial_gradients_free(det_trial_gradients *gradients) DET_NOEXCEPT;

/** The mean of each metric over the ranks (seed: average_training_metrics). All ranks in step;
 * waits for them. Every rank gets the same. Whole numbers stay whole where their mean is; of what
 * is no number, such as a text, rank 0's counts.
 * @param[in] distributed   The job; NULL: this process alone.
 * @param[in] metrics_json  An object, on all ranks with the same keys; NaN and infinities may be
 *                          bare.
 * @param[in] weight        How much this rank counts, such as its records; NULL, on all ranks: all
 *                          the same.
 * @param[out] out_json     The means, with sorted keys, NaN and infinities bare; free it with
 *                          det_free().
 * @return DET_OK; on all ranks: DET_E_INVALID (no object, a weight below 0, all weights 0),
 * DET_E_CONFLICT (ranks that report different metrics, naming one of them), DET_E_TIMEOUT,
 * DET_E_UNAVAILABLE.   @since 0.1 */
DET_API det_status det_trial_average_metrics(det_distributed_context *distributed,
                                             const char *metrics_json, const double *weight,
                                             char **out_json, det_error *err) DET_NOEXCEPT;

/** Writes rank 0's arrays over those of all other ranks, where they lie: first weights, the state
 * of optimizers, what was restored. All ranks in step, with the same names, dtypes and shapes in
 * the same order; waits for them. Many small arrays travel together, and as the job's messages do:
 * in memory that ranks share, by MPI, or over sockets.
 * @param[in] distributed  The job; NULL: this process alone, where nothing changes.
 * @param[in] tensors      `count` whole arrays, in memory of the process or of a CUDA device. Rank
 *                         0's are only read.
 * @return DET_OK; on all ranks: DET_E_INVALID (an array that cannot be, or a part of one: the
 * message names it), DET_E_CONFLICT (a rank has other arrays than rank 0: the message names the
 * first one, and both shapes); in these cases nothing is written. DET_E_TIMEOUT, DET_E_UNAVAILABLE,
 * DET_E_IO (a CUDA device): arrays may be written in part.   @since 0.1 */
DET_API det_status det_trial_broadcast(det_distributed_context *distributed,
                                       const det_tensor *tensors, size_t count,
                                       det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
