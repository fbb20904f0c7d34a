#include "wrappers/keras/failures.h"

void rethrow_as_core_error() {
  try {
    throw;
  } catch (const det::v1::Error &error) {
    throw CoreError(static_cast<CoreCode>(error.code()), error.what(), error.os_errno(),
                    error.http_status())
        .with_retry(error.retryable());
  } catch (const det::v1::InvalidHP &refusal) {
    throw CoreError(CoreCode::invalid,
                    std::string("the hyperparameters cannot be trained: ") + refusal.what());
  } catch (const CoreError &) {
    throw;
  } catch (const std::system_error &) {
    throw;
  } catch (const std::invalid_argument &refusal) {
    throw CoreError(CoreCode::invalid, refusal.what());
  } catch (const std::out_of_range &refusal) {
    throw CoreError(CoreCode::invalid, refusal.what());
  } catch (const std::logic_error &misuse) {
    throw CoreError(CoreCode::state, misuse.what());
  } catch (const std::runtime_error &refusal) {  // of files that are not those of a trial
    throw CoreError(CoreCode::invalid, refusal.what());
  } catch (const nlohmann::json::exception &refusal) {
    throw CoreError(CoreCode::invalid, refusal.what());
  }
}

det_status failure_code(det_status status) {
  const auto code = static_cast<det_status>(det::code_from(status));
  return code == status ? status : DET_E_CALLBACK;
}

void throw_answer(const char *name, det_status status, const det_error &error) {
  if (status == DET_KERAS_INVALID_HP)
    throw det::v1::InvalidHP(error.message[0] != '\0' ? error.message : "the trial says no more");
  det_error told = error;
  told.code = failure_code(status);
  if (error.message[0] == '\0') {
    told = DET_ERROR_INIT;
    told.code = DET_E_CALLBACK;
    const std::string message =
        std::string("running a trial: its ") + name + " answered " + std::to_string(status);
    std::copy(message.begin(), message.end(), told.message);
  }
  throw det::v1::Error(told);
}
