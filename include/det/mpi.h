/**
 * @file
 * @brief Joins the ranks of a job over MPI.
 *
 * Both functions are in libdetcore-mpi. Programs link it together with libdetcore.
 */
#ifndef DET_MPI_H
#define DET_MPI_H

#include <det/distributed.h>
#include <mpi.h>

DET_BEGIN_DECLS

/** Joins the ranks of an MPI communicator.
 *
 * All ranks of the communicator call it. It blocks until every rank has joined. It duplicates the
 * communicator. Ranks that share memory are on one machine. Machines are numbered in the order of
 * their lowest rank.
 *
 * If the host has not initialised MPI, the library does, with MPI_THREAD_SERIALIZED. Only then it
 * also finalises MPI, when the last such handle is freed. If a program does not free it, exit(0)
 * finalises. After a failed collective exit(0) finalises too, for at most 5 seconds.
 *
 * Collectives and the sums of det/trial_gradients.h call MPI on the thread that called them, one
 * thread at a time. The library's own threads do not call MPI. So MPI_THREAD_SERIALIZED is enough
 * if the host does not call MPI at the same time. A host that initialised MPI with less makes these
 * calls on its main thread.
 *
 * The variable DET_DISTRIBUTED_TIMEOUT, in seconds, limits the wait for a silent rank. By default
 * it is 10 minutes.
 * @param[in]  comm  An intracommunicator, such as MPI_COMM_WORLD.
 * @param[out] out   Receives the handle. Release it with det_distributed_free(), on all ranks and
 *                   before MPI_Finalize().
 * @retval DET_OK             All ranks have joined.
 * @retval DET_E_INVALID      `comm` is MPI_COMM_NULL or an intercommunicator.
 * @retval DET_E_STATE        MPI was finalised.
 * @retval DET_E_UNAVAILABLE  MPI failed. The message has its reason.
 * @retval DET_E_TIMEOUT      A rank did not join in time.
 * @since 0.1 */
DET_API det_status det_distributed_from_mpi(MPI_Comm comm, det_distributed_context **out,
                                            det_error *err) DET_NOEXCEPT;

/** Joins the ranks of MPI_COMM_WORLD. It is for languages without an mpi.h. Everything else is as
 * for det_distributed_from_mpi().
 * @since 0.1 */
DET_API det_status det_distributed_from_mpi_world(det_distributed_context **out,
                                                  det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
