/**
 * @file
 * @brief The ranks of a job over MPI. In libdetcore-mpi, which programs link beside libdetcore.
 */
#ifndef DET_MPI_H
#define DET_MPI_H

#include <det/distributed.h>
#include <mpi.h>

DET_BEGIN_DECLS

/** Joins the ranks of an MPI communicator. Collective over it; blocks until every rank has joined.
 * MPI is initialised (MPI_THREAD_SERIALIZED) when the host has not done so, and only then finalised
 * when the last such handle is freed, or by exit(0) where that is forgotten. After a failed
 * collective it is exit(0), too, that finalises, for at most 5 seconds. The communicator is
 * duplicated. Ranks that share memory are those of one machine; machines are numbered in the order
 * of their lowest rank.
 *
 * Collectives and the sums of det/trial_gradients.h call MPI on the thread that called them, one
 * thread at a time, and no thread of the library's own does: so MPI_THREAD_SERIALIZED is enough
 * where the host itself does not call MPI meanwhile. A host that initialised MPI with less keeps
 * them on its main thread. The variable DET_DISTRIBUTED_TIMEOUT, in seconds, limits waiting for a
 * silent rank (10 minutes).
 * @param[in]  comm  An intracommunicator, such as MPI_COMM_WORLD.
 * @param[out] out   Receives the handle; release it with det_distributed_free(), on all ranks and
 *                   before MPI_Finalize().
 * @return DET_OK; DET_E_INVALID (MPI_COMM_NULL, an intercommunicator); DET_E_STATE (MPI was
 * finalised); DET_E_UNAVAILABLE (MPI failed; the message has its reason); DET_E_TIMEOUT.
 * @since 0.1 */
DET_API det_status det_distributed_from_mpi(MPI_Comm comm, det_distributed_context **out,
                                            det_error *err) DET_NOEXCEPT;

/** As det_distributed_from_mpi(MPI_COMM_WORLD, ...), for languages without an mpi.h.
 * @since 0.1 */
DET_API det_status det_distributed_from_mpi_world(det_distributed_context **out,
                                                  det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
