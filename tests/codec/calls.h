// Every call of the codec, for tests that go through all of them.
#pragma once

#include "core/codec/checkpoints.h"
#include "core/codec/container.h"
#include "core/codec/identity.h"
#include "core/codec/lists.h"
#include "core/codec/logs.h"
#include "core/codec/metrics.h"
#include "core/codec/notices.h"
#include "core/codec/operation.h"
#include "core/codec/preemption.h"
#include "core/codec/reports.h"
#include "core/codec/run.h"
#include "core/codec/steering.h"
#include "core/codec/unmanaged.h"

namespace det::codec {

constexpr WireVersion all_versions[] = {WireVersion::v0_19, WireVersion::v0_33, WireVersion::v0_38};

// Calls visit.template operator()<Call>() until one gives true.
template <class Visit, class... Calls>
bool any_of(Visit &visit) {
  return (visit.template operator()<Calls>() || ...);
}

template <class Visit>
bool any_call(Visit visit) {
  return any_of<Visit, GetMaster, GetInfo, Login, GetMe, Logout, PollPreemption,
                AcknowledgePreemption, AnnouncePreemption, GetOperation, CompleteOperation,
                ReportMetrics, ReportCheckpoint, GetCheckpoint, SetCheckpointMetadata,
                PatchCheckpoints, StartRun, SetStatus, ReportProgress, ReportEarlyExit,
                GetBestValidation, GetRunMetadata, SetRunMetadata, CreateExperiment, PutExperiment,
                CreateUnmanagedTrial, PutTrial, StartTrial, PatchTrial, GetTrial, GetRendezvous,
                AllGather, ReportAccelerators, ReportProxyAddress, MarkAsDaemon, ShipLogs,
                ShipTaskLogs, ReportTrialSource, SendAlert, ListExperiments, GetExperiment,
                ListTrials, ListExperimentCheckpoints, ListTrialCheckpoints, ListWorkloads,
                ListReports, ListProfilerSeries, ReadProfilerSeries, ListTrialLogs, PauseExperiment,
                ActivateExperiment, CancelExperiment, KillExperiment, KillTrial, ArchiveExperiment,
                UnarchiveExperiment, DeleteExperiment, PatchExperiment>(visit);
}

}  // namespace det::codec
