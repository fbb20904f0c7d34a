/**
 * @file
 * @brief The ranks of one trial and the small messages between them (seed: DistributedContext).
 *
 * A handle is made before det_core_init() and given to it in the options; it must outlive the
 * core. Without one, the core is a job of a single process.
 *
 * Collectives are called by all ranks in step and block until done. They carry byte strings;
 * NULL data with size 0 is the null message, which stays distinguishable from the empty one.
 * This release joins one process only: a handle for more ranks answers DET_E_UNSUPPORTED.
 */
#ifndef DET_DISTRIBUTED_H
#define DET_DISTRIBUTED_H

#include <det/error.h>

DET_BEGIN_DECLS

/** The ranks of one job. Owned by the caller, or a view borrowed from det_core_distributed(). */
typedef struct det_distributed det_distributed;

/** A list of messages, one per rank, in rank order. Owned by the caller. */
typedef struct det_messages det_messages;

/** Ranks and addresses of one process in a job (seed: the arguments of DistributedContext). */
typedef struct det_distributed_options {
  size_t struct_size; /**< sizeof(det_distributed_options). */
  int32_t rank;       /**< Index of this worker in the job. All six numbers or none: -1 = unset. */
  int32_t size;       /**< Number of workers in the job. */
  int32_t local_rank; /**< Index of this worker on this machine. */
  int32_t local_size; /**< Number of workers on this machine. */
  int32_t cross_rank; /**< Index of this machine in the job. */
  int32_t cross_size; /**< Number of machines in the job. */
  const char *chief_ip; /**< Address of rank 0; needed when cross_size > 1. NULL: DET_CHIEF_IP. */
  int32_t pub_port;     /**< First port of the chief; 0 = 12360 or its variable. */
  int32_t pull_port;    /**< Second port of the chief; 0 = pub_port + 16 or its variable. */
  int32_t port_offset;  /**< Added to both ports. */
  int32_t force_tcp;    /**< 1: TCP also between ranks of one machine. */
  int32_t timeout_ms;   /**< A silent peer is an error after this; 0 = 10 minutes. */
} det_distributed_options;

/** Initialiser with nothing set. det_distributed_options_init() does the same. */
#define DET_DISTRIBUTED_OPTIONS_INIT \
  { sizeof(det_distributed_options), -1, -1, -1, -1, -1, -1, NULL, 0, 0, 0, 0, 0 }

/** Fills options with the defaults, as the macro does. NULL does nothing.   @since 0.1 */
DET_API void det_distributed_options_init(det_distributed_options *options) DET_NOEXCEPT;

/** Joins a job from explicit numbers (seed: DistributedContext(...)). Collective over all ranks
 * when size > 1; blocks until every rank has joined.
 * @param[in]  options  NULL or nothing set: one process. Copied.
 * @param[out] out      Receives the handle; release it with det_distributed_free().
 * @return DET_OK; DET_E_INVALID (only some of the six numbers, or numbers out of range);
 * DET_E_UNSUPPORTED (size > 1 in this release).   @since 0.1 */
DET_API det_status det_distributed_create(const det_distributed_options *options,
                                          det_distributed **out, det_error *err) DET_NOEXCEPT;

/** Joins a job launched by Horovod, from the HOROVOD_* variables (seed: from_horovod).
 * @param[in] chief_ip  Address of rank 0; NULL or "" for DET_CHIEF_IP.
 * @return As det_distributed_create(); DET_E_NOT_FOUND names a missing variable.   @since 0.1 */
DET_API det_status det_distributed_from_horovod(const char *chief_ip, det_distributed **out,
                                                det_error *err) DET_NOEXCEPT;

/** Joins a job launched by DeepSpeed, from RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_SIZE, CROSS_RANK
 * and CROSS_SIZE (seed: from_deepspeed). Parameters and errors as det_distributed_from_horovod().
 * @since 0.1 */
DET_API det_status det_distributed_from_deepspeed(const char *chief_ip, det_distributed **out,
                                                  det_error *err) DET_NOEXCEPT;

/** Joins a job launched by torchrun, from RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
 * GROUP_RANK and GROUP_WORLD_SIZE (seed: from_torch_distributed). Parameters and errors as
 * det_distributed_from_horovod().   @since 0.1 */
DET_API det_status det_distributed_from_torch(const char *chief_ip, det_distributed **out,
                                              det_error *err) DET_NOEXCEPT;

/** Joins a job described by TF_CONFIG; no variable means one process. Parameters and errors as
 * det_distributed_from_horovod(); DET_E_STATE when the task is not a worker.   @since 0.1 */
DET_API det_status det_distributed_from_tf_config(det_distributed **out,
                                                  det_error *err) DET_NOEXCEPT;

/** Recognises the launcher (Open MPI, Slurm, MPICH, torchrun, DeepSpeed, Horovod) from its
 * variables; one process when there is none. Errors as det_distributed_from_horovod().
 * @since 0.1 */
DET_API det_status det_distributed_from_env(det_distributed **out, det_error *err) DET_NOEXCEPT;

/** The caller's own transport, for hosts that already have one. Every function is called on the
 * thread that called a collective, must block until done, and returns 0 or an error number. */
typedef struct det_communicator_functions {
  size_t struct_size; /**< sizeof(det_communicator_functions). */
  /** Sends `size` bytes to `peer` (a rank of the job). */
  int32_t (*send)(int32_t peer, const void *data, size_t size, void *user_data);
  /** Receives exactly `size` bytes from `peer`. */
  int32_t (*receive)(int32_t peer, void *data, size_t size, void *user_data);
  /** Called once when the handle is freed, also when creation failed. May be NULL. */
  void (*destroy)(void *user_data);
} det_communicator_functions;

/** Joins a job over the caller's transport.
 * @param[in] options    The six numbers; addresses and ports are not used.
 * @param[in] functions  Copied. `send` and `receive` must not be NULL.
 * @param[in] user_data  Handed to every function.
 * @return As det_distributed_create().   @since 0.1 */
DET_API det_status det_distributed_from_functions(const det_distributed_options *options,
                                                  const det_communicator_functions *functions,
                                                  void *user_data, det_distributed **out,
                                                  det_error *err) DET_NOEXCEPT;

/** Leaves the job and releases the handle. Not a barrier. NULL does nothing. Not for a view
 * borrowed from a core, where it does nothing; not while a core still uses the handle.
 * @since 0.1 */
DET_API void det_distributed_free(det_distributed *distributed) DET_NOEXCEPT;

/** Index of this worker in the job (seed: get_rank). 0 for NULL.   @since 0.1 */
DET_API int32_t det_distributed_rank(const det_distributed *distributed) DET_NOEXCEPT;
/** Number of workers in the job (seed: get_size). 1 for NULL.   @since 0.1 */
DET_API int32_t det_distributed_size(const det_distributed *distributed) DET_NOEXCEPT;
/** Index of this worker on its machine (seed: get_local_rank). 0 for NULL.   @since 0.1 */
DET_API int32_t det_distributed_local_rank(const det_distributed *distributed) DET_NOEXCEPT;
/** Number of workers on this machine. 1 for NULL.   @since 0.1 */
DET_API int32_t det_distributed_local_size(const det_distributed *distributed) DET_NOEXCEPT;
/** Index of this machine in the job. 0 for NULL.   @since 0.1 */
DET_API int32_t det_distributed_cross_rank(const det_distributed *distributed) DET_NOEXCEPT;
/** Number of machines in the job (seed: get_num_agents). 1 for NULL.   @since 0.1 */
DET_API int32_t det_distributed_cross_size(const det_distributed *distributed) DET_NOEXCEPT;

/** Gathers a message from every rank to the chief (seed: gather). Collective; blocks.
 * @param[in]  data  `size` bytes, or NULL with size 0 for the null message.
 * @param[out] out   On the chief one message per rank; elsewhere NULL. Release with
 *                   det_messages_free().
 * @return DET_OK; DET_E_INVALID (NULL handle, NULL data with a size); DET_E_TIMEOUT,
 * DET_E_CONFLICT (ranks called different collectives).   @since 0.1 */
DET_API det_status det_distributed_gather(det_distributed *distributed, const void *data,
                                          size_t size, det_messages **out,
                                          det_error *err) DET_NOEXCEPT;

/** As det_distributed_gather(), among the ranks of this machine, to its local chief
 * (seed: gather_local).   @since 0.1 */
DET_API det_status det_distributed_gather_local(det_distributed *distributed, const void *data,
                                                size_t size, det_messages **out,
                                                det_error *err) DET_NOEXCEPT;

/** As det_distributed_gather(), with the list given to every rank (seed: allgather).
 * @since 0.1 */
DET_API det_status det_distributed_allgather(det_distributed *distributed, const void *data,
                                             size_t size, det_messages **out,
                                             det_error *err) DET_NOEXCEPT;

/** As det_distributed_allgather(), among the ranks of this machine (seed: allgather_local).
 * @since 0.1 */
DET_API det_status det_distributed_allgather_local(det_distributed *distributed, const void *data,
                                                   size_t size, det_messages **out,
                                                   det_error *err) DET_NOEXCEPT;

/** Gives every rank the chief's message (seed: broadcast). Collective; blocks until the chief's
 * message is here. What other ranks pass is ignored.
 * @param[out] out  A list of one message.
 * @return As det_distributed_gather().   @since 0.1 */
DET_API det_status det_distributed_broadcast(det_distributed *distributed, const void *data,
                                             size_t size, det_messages **out,
                                             det_error *err) DET_NOEXCEPT;

/** As det_distributed_broadcast(), from the local chief to the ranks of its machine
 * (seed: broadcast_local).   @since 0.1 */
DET_API det_status det_distributed_broadcast_local(det_distributed *distributed, const void *data,
                                                   size_t size, det_messages **out,
                                                   det_error *err) DET_NOEXCEPT;

/** Number of messages in a list. 0 for NULL.   @since 0.1 */
DET_API size_t det_messages_count(const det_messages *messages) DET_NOEXCEPT;

/** The bytes of one message.
 * @param[in]  index  From 0; beyond the end gives NULL and size 0.
 * @param[out] size   Receives the number of bytes. May be NULL.
 * @return Borrowed from `messages`. NULL is the null message; the empty one is not NULL.
 * @since 0.1 */
DET_API const void *det_messages_data(const det_messages *messages, size_t index,
                                      size_t *size) DET_NOEXCEPT;

/** Releases a list. NULL does nothing.   @since 0.1 */
DET_API void det_messages_free(det_messages *messages) DET_NOEXCEPT;

DET_END_DECLS

#endif
