/**
 * @file
 * @brief The ranks of one trial and the small messages between them (seed: DistributedContext).
 *
 * A handle is made before det_core_init() and given to it in the options; it must outlive the
 * core. Without one, the core is a job of a single process. Making one is collective: every rank
 * of the job makes its own, and all wait for each other.
 *
 * Ranks of one machine meet in memory that they share, for all that is short. Without MPI they also
 * talk over Unix sockets, and machines over TCP, through one rank of each. Every process proves
 * that it belongs to the job: within a machine the kernel tells whose process it is; TCP needs a
 * secret that all ranks share, in the variable DET_DISTRIBUTED_SECRET (else DET_SESSION_TOKEN).
 * With MPI see det/mpi.h.
 *
 * Collectives are called by all ranks in step and block until done. They carry byte strings of any
 * size, different on each rank; NULL data with size 0 is the null message, which stays
 * distinguishable from the empty one. Ranks that call different collectives, or different functions
 * of this API that use them, all get DET_E_CONFLICT, with both calls named: at that call, or for
 * the chief of a broadcast, which does not wait for the others, at one of the next 256. A rank that
 * died or left gives the others DET_E_UNAVAILABLE, and one that stays silent DET_E_TIMEOUT. After a
 * failure the handle gives the same error for every collective: free it. Global and local
 * collectives have an order each, on its own.
 */
#ifndef DET_DISTRIBUTED_H
#define DET_DISTRIBUTED_H

#include <det/error.h>

DET_BEGIN_DECLS

/** The ranks of one job. Owned by the caller, or a view borrowed from det_core_distributed(). */
typedef struct det_distributed_context det_distributed_context;

/** A list of messages, one per rank, in rank order. Owned by the caller. */
typedef struct det_messages det_messages;

/** Ranks and addresses of one process in a job (seed: the arguments of DistributedContext). */
typedef struct det_distributed_options {
  size_t struct_size;   /**< sizeof(det_distributed_options). */
  int32_t rank;         /**< Index of this worker in the job. All six or none: all -1, or all 0. */
  int32_t size;         /**< Number of workers in the job. */
  int32_t local_rank;   /**< Index of this worker on this machine. */
  int32_t local_size;   /**< Number of workers on this machine. */
  int32_t cross_rank;   /**< Index of this machine in the job. */
  int32_t cross_size;   /**< Number of machines in the job. */
  const char *chief_ip; /**< Address of rank 0; needed when cross_size > 1. NULL: DET_CHIEF_IP. */
  /** Port of rank 0, also what tells jobs on one machine apart; 0: the variable
   * INTER_TRAIN_PROCESS_COMM_PORT_1, else 12360. */
  int32_t pub_port;
  int32_t port_offset; /**< Added to the port. */
  int32_t force_tcp;   /**< 1: TCP also between ranks of one machine, and no shared memory. */
  int32_t reserved;    /**< 0. */
  /** How long a silent rank is waited for; by default the variable DET_DISTRIBUTED_TIMEOUT in
   * seconds, else 10 minutes. DET_TIMEOUT_NONE is DET_E_INVALID. */
  det_timeout timeout_ms;
} det_distributed_options;

/** Initialiser with nothing set. */
#define DET_DISTRIBUTED_OPTIONS_INIT \
  { sizeof(det_distributed_options), -1, -1, -1, -1, -1, -1, NULL, 0, 0, 0, 0, 0 }

/** Joins a job from explicit numbers (seed: DistributedContext(...)). Collective over all ranks
 * when size > 1; blocks until every rank has joined.
 * @param[in]  options  NULL or nothing set: one process. Copied.
 * @param[out] out      Receives the handle; release it with det_distributed_free().
 * @return DET_OK; DET_E_INVALID (only some of the six numbers; numbers that are impossible or
 * contradict those of another rank; no chief_ip where it is needed; TCP without a secret);
 * DET_E_ACCESS (who is at the chief's address is not of this job); DET_E_BUSY (another job has the
 * port); DET_E_TIMEOUT (names the ranks that did not come); DET_E_UNAVAILABLE.   @since 0.1 */
DET_API det_status det_distributed_create(const det_distributed_options *options,
                                          det_distributed_context **out,
                                          det_error *err) DET_NOEXCEPT;

/** Joins a job launched by Horovod, from the HOROVOD_* variables (seed: from_horovod).
 * @param[in] chief_ip  Address of rank 0; NULL or "" for DET_CHIEF_IP.
 * @return As det_distributed_create(); DET_E_NOT_FOUND names a missing variable.   @since 0.1 */
DET_API det_status det_distributed_from_horovod(const char *chief_ip, det_distributed_context **out,
                                                det_error *err) DET_NOEXCEPT;

/** Joins a job launched by DeepSpeed, from RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_SIZE, CROSS_RANK
 * and CROSS_SIZE (seed: from_deepspeed). Parameters and errors as det_distributed_from_horovod().
 * @since 0.1 */
DET_API det_status det_distributed_from_deepspeed(const char *chief_ip,
                                                  det_distributed_context **out,
                                                  det_error *err) DET_NOEXCEPT;

/** Joins a job launched by torchrun, from RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
 * GROUP_RANK and GROUP_WORLD_SIZE (seed: from_torch_distributed). Parameters and errors as
 * det_distributed_from_horovod().   @since 0.1 */
DET_API det_status det_distributed_from_torch(const char *chief_ip, det_distributed_context **out,
                                              det_error *err) DET_NOEXCEPT;

/** Joins a job described by TF_CONFIG; no variable means one process. Parameters and errors as
 * det_distributed_from_horovod(); DET_E_STATE when the task is not a worker.   @since 0.1 */
DET_API det_status det_distributed_from_tf_config(det_distributed_context **out,
                                                  det_error *err) DET_NOEXCEPT;

/** Recognises the launcher from its variables: Horovod, torchrun, DeepSpeed, TF_CONFIG, an MPI
 * (Open MPI, MPICH, Intel MPI, MVAPICH2, PMIx), Slurm; one process when there is none. Under an MPI
 * it uses libdetcore-mpi, which it loads, as det_distributed_from_mpi_world() does; where that is
 * not installed, sockets. Errors as det_distributed_from_horovod().   @since 0.1 */
DET_API det_status det_distributed_from_env(det_distributed_context **out,
                                            det_error *err) DET_NOEXCEPT;

/** Messages longer than this many bytes are bulk: see det_communicator_functions. */
#define DET_SHORT_MESSAGE 4000

/** The caller's own transport, for hosts that already have one: messages between two ranks, whole
 * and in order, as MPI has them. `peer` is a rank of the job. `channel` is 0 for the whole job and
 * 1 for one machine; each is an order of its own, like a tag.
 *
 * Every function is called on the thread that called a collective and returns 0, ETIMEDOUT after
 * `timeout_ms` milliseconds, or another error number when the peer cannot be reached. What it
 * cannot wait for that long it may wait for longer: the limit keeps jobs from hanging.
 *
 * A message of more than DET_SHORT_MESSAGE bytes is bulk: it is sent only once the other side is
 * known to wait for it, which calls receive() with a capacity of exactly its size. After a wait for
 * bulk that ended by its limit, data that is received may still be written; data that is sent or
 * broadcast should stay where it is until the process ends. */
typedef struct det_communicator_functions {
  size_t struct_size; /**< sizeof(det_communicator_functions). */
  /** Sends one message. A short one must not wait for the peer to receive it. */
  int32_t (*send)(int32_t peer, int32_t channel, const void *data, size_t size, int64_t timeout_ms,
                  void *user_data);
  /** Receives the next message: at most `capacity` bytes into `data`, their number into `size`.
   * With `timeout_ms` 0 it only looks. */
  int32_t (*receive)(int32_t peer, int32_t channel, void *data, size_t capacity, size_t *size,
                     int64_t timeout_ms, void *user_data);
  /** Gives every rank of the channel the `size` bytes of `root`; called by all of them, in step,
   * for bulk. NULL: they are sent one by one. */
  int32_t (*broadcast)(int32_t root, int32_t channel, void *data, size_t size, int64_t timeout_ms,
                       void *user_data);
  /** Called once when the handle is freed, also when creation failed. May be NULL. */
  void (*destroy)(void *user_data);
  /** 1: any two ranks can talk, and small collectives are faster. 0: only rank 0 with all, and each
   * machine's local rank 0 with those of its machine. */
  int32_t any_pair;
  /** 1: ranks of one machine may also meet in memory that they share, where that can be had. Short
   * messages between them are then no messages of this transport. */
  int32_t shared_memory;
  /** Begins to sum an array over all ranks of the job, in place: every rank gets the same bits. All
   * ranks begin the same sums in the same order; `data` is the transport's until they are finished.
   * `dtype` is DET_DTYPE_F16, BF16, F32 or F64 of det/tensors.h. NULL, or no `finish_sums`: the
   * library sums by messages. @since 0.1 */
  int32_t (*start_sum)(void *data, size_t count, int32_t dtype, void *user_data);
  /** Waits until all sums that were begun are finished. After ETIMEDOUT it may be called again;
   * when it is not, what was begun may still be written. */
  int32_t (*finish_sums)(int64_t timeout_ms, void *user_data);
  /** Called once before `destroy` when a collective has failed: from then on nothing may wait for
   * another rank, which may hang. May be NULL. @since 0.1 */
  void (*give_up)(void *user_data);
} det_communicator_functions;

/** Initialiser with nothing set. */
#define DET_COMMUNICATOR_FUNCTIONS_INIT \
  { sizeof(det_communicator_functions), NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL }

/** Joins a job over the caller's transport.
 * @param[in] options    The six numbers and the timeout; addresses and ports are not used.
 * @param[in] functions  Copied. `send` and `receive` must not be NULL.
 * @param[in] user_data  Handed to every function.
 * @return As det_distributed_create().   @since 0.1 */
DET_API det_status det_distributed_from_functions(const det_distributed_options *options,
                                                  const det_communicator_functions *functions,
                                                  void *user_data, det_distributed_context **out,
                                                  det_error *err) DET_NOEXCEPT;

/** Asked whether to go on waiting for other ranks. Must not call the library.
 * @return 0 to go on; negative to stop. */
typedef int32_t (*det_wait_callback)(void *user_data);

/** Lets a host end a wait for other ranks, such as an interpreter whose user presses Ctrl-C. The
 * callback is asked several times a second, on the thread that waits in a collective or in another
 * function that uses one, never on two threads at once; not while ranks join, nor while a message
 * is on its way. The call that it stops, and what this rank calls later, fail with DET_E_CALLBACK,
 * and for the others this rank is gone: DET_E_UNAVAILABLE. Where ranks share memory, and all came
 * while the callback was asked, that call succeeds on all of them, and the next one is stopped.
 * @param[in] callback  NULL: nobody is asked.
 * @return DET_OK; DET_E_INVALID (NULL handle).   @since 0.1 */
DET_API det_status det_distributed_set_wait_callback(det_distributed_context *distributed,
                                                     det_wait_callback callback, void *user_data,
                                                     det_error *err) DET_NOEXCEPT;

/** Leaves the job and releases the handle. Not a barrier. NULL does nothing. Not for a view
 * borrowed from a core, where it does nothing; not while a core still uses the handle.
 * @since 0.1 */
DET_API void det_distributed_free(det_distributed_context *distributed) DET_NOEXCEPT;

/** Index of this worker in the job (seed: get_rank). 0 for NULL.   @since 0.1 */
DET_API int32_t det_distributed_rank(const det_distributed_context *distributed) DET_NOEXCEPT;
/** Number of workers in the job (seed: get_size). 1 for NULL.   @since 0.1 */
DET_API int32_t det_distributed_size(const det_distributed_context *distributed) DET_NOEXCEPT;
/** Index of this worker on its machine (seed: get_local_rank). 0 for NULL.   @since 0.1 */
DET_API int32_t det_distributed_local_rank(const det_distributed_context *distributed) DET_NOEXCEPT;
/** Number of workers on this machine. 1 for NULL.   @since 0.1 */
DET_API int32_t det_distributed_local_size(const det_distributed_context *distributed) DET_NOEXCEPT;
/** Index of this machine in the job. 0 for NULL.   @since 0.1 */
DET_API int32_t det_distributed_cross_rank(const det_distributed_context *distributed) DET_NOEXCEPT;
/** Number of machines in the job (seed: get_num_agents). 1 for NULL.   @since 0.1 */
DET_API int32_t det_distributed_cross_size(const det_distributed_context *distributed) DET_NOEXCEPT;

/** Gathers a message from every rank to the chief (seed: gather). Collective; blocks.
 * @param[in]  data  `size` bytes, or NULL with size 0 for the null message.
 * @param[out] out   On the chief one message per rank; elsewhere NULL. Release with
 *                   det_messages_free().
 * @return DET_OK; DET_E_INVALID (NULL handle, NULL data with a size); DET_E_CONFLICT (ranks called
 * different collectives); DET_E_TIMEOUT, DET_E_UNAVAILABLE (names the rank); DET_E_STATE (in a
 * forked child).   @since 0.1 */
DET_API det_status det_distributed_gather(det_distributed_context *distributed, const void *data,
                                          size_t size, det_messages **out,
                                          det_error *err) DET_NOEXCEPT;

/** As det_distributed_gather(), among the ranks of this machine, to its local chief
 * (seed: gather_local).   @since 0.1 */
DET_API det_status det_distributed_gather_local(det_distributed_context *distributed,
                                                const void *data, size_t size, det_messages **out,
                                                det_error *err) DET_NOEXCEPT;

/** As det_distributed_gather(), with the list given to every rank (seed: allgather).
 * @since 0.1 */
DET_API det_status det_distributed_allgather(det_distributed_context *distributed, const void *data,
                                             size_t size, det_messages **out,
                                             det_error *err) DET_NOEXCEPT;

/** As det_distributed_allgather(), among the ranks of this machine (seed: allgather_local).
 * @since 0.1 */
DET_API det_status det_distributed_allgather_local(det_distributed_context *distributed,
                                                   const void *data, size_t size,
                                                   det_messages **out, det_error *err) DET_NOEXCEPT;

/** Gives every rank the chief's message (seed: broadcast). Collective; blocks until the chief's
 * message is here. What other ranks pass is ignored.
 * @param[out] out  A list of one message.
 * @return As det_distributed_gather().   @since 0.1 */
DET_API det_status det_distributed_broadcast(det_distributed_context *distributed, const void *data,
                                             size_t size, det_messages **out,
                                             det_error *err) DET_NOEXCEPT;

/** As det_distributed_broadcast(), from the local chief to the ranks of its machine
 * (seed: broadcast_local).   @since 0.1 */
DET_API det_status det_distributed_broadcast_local(det_distributed_context *distributed,
                                                   const void *data, size_t size,
                                                   det_messages **out, det_error *err) DET_NOEXCEPT;

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
