/**
 * @file
 * @brief Joins the ranks of one trial, and sends small messages between them.
 *
 * Make a handle before det_core_init(), and pass it in the options. It must outlive the core.
 * Without a handle the core is a job of one process. Every rank of the job makes its own handle,
 * and all wait for each other. For MPI see det/mpi.h.
 *
 * Ranks of one machine exchange short messages in shared memory. Without MPI they also use Unix
 * sockets. Machines talk over TCP, through one rank of each.
 *
 * Every process proves that it belongs to the job. Within a machine the kernel shows the user of
 * each process. TCP needs a secret that all ranks share. It is the variable DET_DISTRIBUTED_SECRET,
 * else DET_SESSION_TOKEN.
 *
 * All ranks call a collective in step. It blocks until it is done.
 * - It carries byte strings of any size, different on each rank. NULL data with size 0 is the null
 *   message. It differs from the empty message.
 * - If ranks call different collectives, all get DET_E_CONFLICT, and the message names both calls.
 *   The same holds for other functions of this API that use collectives.
 * - The chief of a broadcast does not wait for the others. It gets that error at one of the next
 *   256 calls.
 * - If a rank died or left, the others get DET_E_UNAVAILABLE. If a rank stays silent, they get
 *   DET_E_TIMEOUT.
 * - After a failure every collective of the handle returns the same error. Free the handle.
 * - Global and local collectives each have a separate order.
 */
#ifndef DET_DISTRIBUTED_H
#define DET_DISTRIBUTED_H

#include <det/error.h>

DET_BEGIN_DECLS

/** The ranks of one job. Owned by the caller, or a view borrowed from det_core_distributed().
 * Follows DistributedContext. */
typedef struct det_distributed_context det_distributed_context;

/** A list of messages, one per rank, in rank order. Owned by the caller. */
typedef struct det_messages det_messages;

/** Ranks and addresses of one process in a job. Follows the arguments of DistributedContext.
 *
 * Set all six numbers of ranks or none. None means all -1, or all 0. */
typedef struct det_distributed_options {
  size_t struct_size;   /**< sizeof(det_distributed_options). */
  int32_t rank;         /**< Index of this process in the job. */
  int32_t size;         /**< Number of processes in the job. */
  int32_t local_rank;   /**< Index of this process on this machine. */
  int32_t local_size;   /**< Number of processes on this machine. */
  int32_t cross_rank;   /**< Index of this machine in the job. */
  int32_t cross_size;   /**< Number of machines in the job. */
  const char *chief_ip; /**< Address of rank 0; needed when cross_size > 1. NULL: DET_CHIEF_IP. */
  /** Port of rank 0. It also distinguishes jobs on one machine. 0: the variable
   * INTER_TRAIN_PROCESS_COMM_PORT_1, else 12360. */
  int32_t pub_port;
  int32_t port_offset; /**< Added to the port. */
  int32_t force_tcp;   /**< 1: TCP between ranks of one machine too, and no shared memory. */
  int32_t reserved;    /**< 0. */
  /** The time that a rank waits for a silent rank. By default it is the variable
   * DET_DISTRIBUTED_TIMEOUT in seconds, else 10 minutes. DET_TIMEOUT_NONE is DET_E_INVALID. */
  det_timeout timeout_ms;
} det_distributed_options;

/** Initialiser with nothing set. */
#define DET_DISTRIBUTED_OPTIONS_INIT \
  { sizeof(det_distributed_options), -1, -1, -1, -1, -1, -1, NULL, 0, 0, 0, 0, 0 }

/** Joins a job, with numbers that you give.
 *
 * All ranks call it if size > 1. It blocks until every rank has joined. Follows
 * DistributedContext().
 * @param[in]  options  NULL or nothing set: one process. Copied.
 * @param[out] out      Receives the handle. Release it with det_distributed_free().
 * @retval DET_OK             All ranks have joined.
 * @retval DET_E_INVALID      Only some of the six numbers are set. Or they are impossible, or
 *                            contradict those of another rank. Or `chief_ip` is missing. Or TCP has
 *                            no secret.
 * @retval DET_E_ACCESS       The process at the chief's address does not belong to this job.
 * @retval DET_E_BUSY         Another job has the port.
 * @retval DET_E_TIMEOUT      Some ranks did not join. The message names them.
 * @retval DET_E_UNAVAILABLE  A rank cannot be reached.
 * @since 0.1 */
DET_API det_status det_distributed_create(const det_distributed_options *options,
                                          det_distributed_context **out,
                                          det_error *err) DET_NOEXCEPT;

/** Joins a job launched by Horovod, from the HOROVOD_* variables.
 *
 * It blocks until every rank has joined. Follows DistributedContext.from_horovod().
 * @param[in]  chief_ip  Address of rank 0. NULL or "" for DET_CHIEF_IP.
 * @param[out] out       Receives the handle. Release it with det_distributed_free().
 * @retval DET_E_NOT_FOUND  A variable is missing. The message names it.
 * @return Else as det_distributed_create().
 * @since 0.1 */
DET_API det_status det_distributed_from_horovod(const char *chief_ip, det_distributed_context **out,
                                                det_error *err) DET_NOEXCEPT;

/** Joins a job launched by DeepSpeed, from its variables.
 *
 * They are RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_SIZE, CROSS_RANK and CROSS_SIZE. Parameters and
 * errors are as for det_distributed_from_horovod(). Follows DistributedContext.from_deepspeed().
 * @since 0.1 */
DET_API det_status det_distributed_from_deepspeed(const char *chief_ip,
                                                  det_distributed_context **out,
                                                  det_error *err) DET_NOEXCEPT;

/** Joins a job launched by torchrun, from its variables.
 *
 * They are RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK and GROUP_WORLD_SIZE.
 * Parameters and errors are as for det_distributed_from_horovod(). Follows
 * DistributedContext.from_torch_distributed().
 * @since 0.1 */
DET_API det_status det_distributed_from_torch(const char *chief_ip, det_distributed_context **out,
                                              det_error *err) DET_NOEXCEPT;

/** Joins a job that the variable TF_CONFIG describes. Without the variable it is one process.
 * @retval DET_E_STATE  The task is not a worker.
 * @return Else as det_distributed_from_horovod().
 * @since 0.1 */
DET_API det_status det_distributed_from_tf_config(det_distributed_context **out,
                                                  det_error *err) DET_NOEXCEPT;

/** Joins a job, and recognises the launcher from its variables.
 *
 * The launchers are Horovod, torchrun, DeepSpeed, TF_CONFIG, MPI (Open MPI, MPICH, Intel MPI,
 * MVAPICH2, PMIx) and Slurm. Without a launcher it is one process. Under MPI it loads
 * libdetcore-mpi, and joins as det_distributed_from_mpi_world() does. If that library is not
 * installed, it uses sockets.
 * @return As det_distributed_from_horovod().
 * @since 0.1 */
DET_API det_status det_distributed_from_env(det_distributed_context **out,
                                            det_error *err) DET_NOEXCEPT;

/** Messages longer than this number of bytes are bulk. See det_communicator_functions. */
#define DET_SHORT_MESSAGE 4000

/** The caller's own transport, for hosts that already have one.
 *
 * It carries messages between two ranks, whole and in order, as MPI does. `peer` is a rank of the
 * job. `channel` is 0 for the whole job and 1 for one machine. Each channel has a separate order,
 * like a tag.
 *
 * The library calls every function on the thread that called a collective. A function returns:
 * - 0;
 * - ETIMEDOUT after `timeout_ms` milliseconds;
 * - another error number if the peer cannot be reached.
 *
 * The time limit keeps jobs from hanging. A function that cannot keep it may wait longer.
 *
 * A message of more than DET_SHORT_MESSAGE bytes is bulk. It is sent only when the other side is
 * known to wait for it. That side calls receive() with a capacity of exactly its size. A wait for
 * bulk may reach its time limit. After that, received data may still be written. Sent or broadcast
 * data should stay in place until the process ends. */
typedef struct det_communicator_functions {
  size_t struct_size; /**< sizeof(det_communicator_functions). */
  /** Sends one message. A short one must not wait for the peer to receive it. */
  int32_t (*send)(int32_t peer, int32_t channel, const void *data, size_t size, int64_t timeout_ms,
                  void *user_data);
  /** Receives the next message. It puts at most `capacity` bytes into `data`, and their number into
   * `size`. With `timeout_ms` 0 it does not wait. */
  int32_t (*receive)(int32_t peer, int32_t channel, void *data, size_t capacity, size_t *size,
                     int64_t timeout_ms, void *user_data);
  /** Gives every rank of the channel the `size` bytes of `root`. All of them call it in step, for
   * bulk. NULL: bulk is sent one by one. */
  int32_t (*broadcast)(int32_t root, int32_t channel, void *data, size_t size, int64_t timeout_ms,
                       void *user_data);
  /** Called once when the handle is freed, also if creation failed. May be NULL. */
  void (*destroy)(void *user_data);
  /** 1: any two ranks can talk, and small collectives are faster. 0: only rank 0 with all ranks,
   * and the local rank 0 of each machine with those of its machine. */
  int32_t any_pair;
  /** 1: ranks of one machine may also use shared memory if available. Short messages between them
   * then do not use this transport. */
  int32_t shared_memory;
  /** Begins to sum an array over all ranks of the job, in place. Every rank gets the same bits. All
   * ranks begin the same sums in the same order.
   *
   * `data` belongs to the transport until the sums are finished. `dtype` is DET_DTYPE_F16, BF16,
   * F32 or F64 of det/tensors.h. If this or `finish_sums` is NULL, the library sums by messages.
   * @since 0.1 */
  int32_t (*start_sum)(void *data, size_t count, int32_t dtype, void *user_data);
  /** Waits until all begun sums are finished. After ETIMEDOUT it may be called again. If it is not,
   * the arrays may still be written. */
  int32_t (*finish_sums)(int64_t timeout_ms, void *user_data);
  /** Called once before `destroy` if a collective has failed. From then on nothing may wait for
   * another rank, which may hang. May be NULL.
   * @since 0.1 */
  void (*give_up)(void *user_data);
} det_communicator_functions;

/** Initialiser with nothing set. */
#define DET_COMMUNICATOR_FUNCTIONS_INIT \
  { sizeof(det_communicator_functions), NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL }

/** Joins a job over your own transport. It blocks until every rank has joined.
 * @param[in]  options    The six numbers and the time limit. Addresses and ports are ignored.
 * @param[in]  functions  Copied. `send` and `receive` must not be NULL.
 * @param[in]  user_data  Passed to every function.
 * @param[out] out        Receives the handle. Release it with det_distributed_free().
 * @return As det_distributed_create().
 * @since 0.1 */
DET_API det_status det_distributed_from_functions(const det_distributed_options *options,
                                                  const det_communicator_functions *functions,
                                                  void *user_data, det_distributed_context **out,
                                                  det_error *err) DET_NOEXCEPT;

/** Decides if a wait for other ranks continues. It must not call the library.
 * @return 0 to continue; negative to stop. */
typedef int32_t (*det_wait_callback)(void *user_data);

/** Sets a callback that can end a wait for other ranks. For example, an interpreter stops when the
 * user presses Ctrl-C.
 *
 * The library calls it several times a second, on the thread that waits. That is in a collective,
 * or in another function that uses one. It never calls it on two threads at once. It does not call
 * it while ranks join, or while a message is on its way.
 *
 * The stopped call fails with DET_E_CALLBACK, and so do later calls of this rank. The other ranks
 * get DET_E_UNAVAILABLE. In shared memory, all ranks may arrive while the callback runs. Then that
 * call succeeds on all of them, and the next one is stopped.
 * @param[in] callback   NULL: no callback.
 * @param[in] user_data  Passed to the callback.
 * @retval DET_OK         The callback is set.
 * @retval DET_E_INVALID  The handle is NULL.
 * @since 0.1 */
DET_API det_status det_distributed_set_wait_callback(det_distributed_context *distributed,
                                                     det_wait_callback callback, void *user_data,
                                                     det_error *err) DET_NOEXCEPT;

/** Leaves the job, and releases the handle. NULL does nothing.
 *
 * It does not wait for other ranks as a barrier does. On a view borrowed from a core it does
 * nothing. Do not call it while a core uses the handle.
 * @since 0.1 */
DET_API void det_distributed_free(det_distributed_context *distributed) DET_NOEXCEPT;

/** Returns the index of this process in the job; 0 for NULL. Follows DistributedContext.get_rank().
 * @since 0.1 */
DET_API int32_t det_distributed_rank(const det_distributed_context *distributed) DET_NOEXCEPT;
/** Returns the number of processes in the job; 1 for NULL. Follows DistributedContext.get_size().
 * @since 0.1 */
DET_API int32_t det_distributed_size(const det_distributed_context *distributed) DET_NOEXCEPT;
/** Returns the index of this process on its machine; 0 for NULL. Follows
 * DistributedContext.get_local_rank().
 * @since 0.1 */
DET_API int32_t det_distributed_local_rank(const det_distributed_context *distributed) DET_NOEXCEPT;
/** Returns the number of processes on this machine; 1 for NULL.
 * @since 0.1 */
DET_API int32_t det_distributed_local_size(const det_distributed_context *distributed) DET_NOEXCEPT;
/** Returns the index of this machine in the job; 0 for NULL.
 * @since 0.1 */
DET_API int32_t det_distributed_cross_rank(const det_distributed_context *distributed) DET_NOEXCEPT;
/** Returns the number of machines in the job; 1 for NULL. Follows
 * DistributedContext.get_num_agents().
 * @since 0.1 */
DET_API int32_t det_distributed_cross_size(const det_distributed_context *distributed) DET_NOEXCEPT;

/** Gathers a message from every rank to the chief.
 *
 * All ranks call it in step. It blocks. Follows DistributedContext.gather().
 * @param[in]  data  `size` bytes. NULL with size 0 is the null message.
 * @param[out] out   On the chief one message per rank; on other ranks NULL. Release it with
 *                   det_messages_free().
 * @retval DET_OK             Done.
 * @retval DET_E_INVALID      The handle is NULL, or `data` is NULL with a size.
 * @retval DET_E_CONFLICT     Ranks called different collectives.
 * @retval DET_E_TIMEOUT      A rank stays silent. The message names it.
 * @retval DET_E_UNAVAILABLE  A rank died or left. The message names it.
 * @retval DET_E_STATE        This is a forked child.
 * @since 0.1 */
DET_API det_status det_distributed_gather(det_distributed_context *distributed, const void *data,
                                          size_t size, det_messages **out,
                                          det_error *err) DET_NOEXCEPT;

/** Gathers a message from every rank of this machine to its local chief. Everything else is as for
 * det_distributed_gather(). Follows DistributedContext.gather_local().
 * @since 0.1 */
DET_API det_status det_distributed_gather_local(det_distributed_context *distributed,
                                                const void *data, size_t size, det_messages **out,
                                                det_error *err) DET_NOEXCEPT;

/** Gathers a message from every rank, and gives the list to all ranks. Everything else is as for
 * det_distributed_gather(). Follows DistributedContext.allgather().
 * @since 0.1 */
DET_API det_status det_distributed_allgather(det_distributed_context *distributed, const void *data,
                                             size_t size, det_messages **out,
                                             det_error *err) DET_NOEXCEPT;

/** Gathers a message from every rank of this machine, and gives the list to all of them. Everything
 * else is as for det_distributed_allgather(). Follows DistributedContext.allgather_local().
 * @since 0.1 */
DET_API det_status det_distributed_allgather_local(det_distributed_context *distributed,
                                                   const void *data, size_t size,
                                                   det_messages **out, det_error *err) DET_NOEXCEPT;

/** Gives every rank the chief's message.
 *
 * All ranks call it in step. It blocks until the chief's message arrives. The messages of other
 * ranks are ignored. Follows DistributedContext.broadcast().
 * @param[in]  data  On the chief, `size` bytes. NULL with size 0 is the null message.
 * @param[out] out   A list of one message. Release it with det_messages_free().
 * @return As det_distributed_gather().
 * @since 0.1 */
DET_API det_status det_distributed_broadcast(det_distributed_context *distributed, const void *data,
                                             size_t size, det_messages **out,
                                             det_error *err) DET_NOEXCEPT;

/** Gives the ranks of this machine the message of its local chief. Everything else is as for
 * det_distributed_broadcast(). Follows DistributedContext.broadcast_local().
 * @since 0.1 */
DET_API det_status det_distributed_broadcast_local(det_distributed_context *distributed,
                                                   const void *data, size_t size,
                                                   det_messages **out, det_error *err) DET_NOEXCEPT;

/** Returns the number of messages in a list; 0 for NULL.
 * @since 0.1 */
DET_API size_t det_messages_count(const det_messages *messages) DET_NOEXCEPT;

/** Returns the bytes of one message.
 * @param[in]  index  From 0. Beyond the end it gives NULL and size 0.
 * @param[out] size   Receives the number of bytes. May be NULL.
 * @return Borrowed from `messages`. NULL is the null message; the empty one is not NULL.
 * @since 0.1 */
DET_API const void *det_messages_data(const det_messages *messages, size_t index,
                                      size_t *size) DET_NOEXCEPT;

/** Releases a list. NULL does nothing.
 * @since 0.1 */
DET_API void det_messages_free(det_messages *messages) DET_NOEXCEPT;

DET_END_DECLS

#endif
