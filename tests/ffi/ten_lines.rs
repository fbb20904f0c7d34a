// Trains a number through Rust's own C FFI: usage ten_lines STOP_AT, the step to be preempted at,
// or 0. Nothing but rustc and the shared library takes part.
use std::ffi::{c_char, c_void, CStr, CString};
use std::fs;
use std::ptr;

const DET_OK: i32 = 0;
const DET_PREEMPTED: i32 = 2;
const DET_OUTCOME_OK: i32 = 0;

#[repr(C)]
struct Error {
    struct_size: usize,
    code: i32,
    os_errno: i32,
    http_status: i32,
    retryable: i32,
    message: [c_char; 504],
}

#[repr(C)]
struct Metric {
    name: *const c_char,
    value: f64,
}

type Handle = *mut c_void;

extern "C" {
    fn det_error_init(err: *mut Error);
    fn det_core_init(options: *const c_void, out: *mut Handle, err: *mut Error) -> i32;
    fn det_core_close(core: Handle, how: i32, err: *mut Error) -> i32;
    fn det_core_free(core: Handle);
    fn det_core_info(core: Handle) -> Handle;
    fn det_core_searcher(core: Handle) -> Handle;
    fn det_core_train(core: Handle) -> Handle;
    fn det_core_preempt(core: Handle) -> Handle;
    fn det_core_checkpoint(core: Handle) -> Handle;
    fn det_info_hparam_double(info: Handle, name: *const c_char, fallback: f64) -> f64;
    fn det_info_latest_checkpoint(info: Handle) -> *const c_char;
    fn det_searcher_next(searcher: Handle, out: *mut Handle, err: *mut Error) -> i32;
    fn det_searcher_op_length(op: Handle) -> i64;
    fn det_searcher_op_report_completed(op: Handle, metric: f64, err: *mut Error) -> i32;
    fn det_train_report_training_metrics(
        train: Handle, steps_completed: i64, metrics: *const Metric, count: usize, err: *mut Error,
    ) -> i32;
    fn det_preempt_request(preempt: Handle) -> i32;
    fn det_preempt_should_preempt(preempt: Handle, err: *mut Error) -> i32;
    fn det_checkpoint_store_begin(
        checkpoint: Handle, metadata: *const c_char, options: *const c_void, out: *mut Handle,
        err: *mut Error,
    ) -> i32;
    fn det_checkpoint_store_path(store: Handle) -> *const c_char;
    fn det_checkpoint_store_commit(store: Handle, err: *mut Error) -> i32;
    fn det_checkpoint_store_free(store: Handle);
    fn det_checkpoint_restore_begin(
        checkpoint: Handle, id: *const c_char, options: *const c_void, out: *mut Handle,
        err: *mut Error,
    ) -> i32;
    fn det_checkpoint_restore_path(restore: Handle) -> *const c_char;
    fn det_checkpoint_restore_free(restore: Handle);
}

/// Calls a function that returns a status, and panics with its message on a failure.
fn call(function: impl FnOnce(*mut Error) -> i32) -> i32 {
    unsafe {
        let mut error: Error = std::mem::zeroed();
        det_error_init(&mut error);
        let status = function(&mut error);
        assert!(status >= 0, "{}", CStr::from_ptr(error.message.as_ptr()).to_string_lossy());
        status
    }
}

unsafe fn text(borrowed: *const c_char) -> String {
    CStr::from_ptr(borrowed).to_str().unwrap().to_owned()
}

unsafe fn save(checkpoint: Handle, step: i64, weight: f64) {
    let metadata = CString::new(format!("{{\"steps_completed\": {step}}}")).unwrap();
    let mut store = ptr::null_mut();
    call(|err| {
        det_checkpoint_store_begin(checkpoint, metadata.as_ptr(), ptr::null(), &mut store, err)
    });
    let path = text(det_checkpoint_store_path(store));
    fs::write(format!("{path}/state"), format!("{step} {weight}")).unwrap();
    call(|err| det_checkpoint_store_commit(store, err));
    det_checkpoint_store_free(store);
}

unsafe fn restore(checkpoint: Handle, id: *const c_char) -> (i64, f64) {
    let mut stored = ptr::null_mut();
    call(|err| det_checkpoint_restore_begin(checkpoint, id, ptr::null(), &mut stored, err));
    let path = text(det_checkpoint_restore_path(stored));
    let state = fs::read_to_string(format!("{path}/state")).unwrap();
    det_checkpoint_restore_free(stored);
    let (step, weight) = state.split_once(' ').unwrap();
    (step.parse().unwrap(), weight.parse().unwrap())
}

fn main() {
    let stop_at: i64 = std::env::args().nth(1).unwrap().parse().unwrap();
    unsafe {
        let mut core = ptr::null_mut();
        call(|err| det_core_init(ptr::null(), &mut core, err));
        let (train, preempt) = (det_core_train(core), det_core_preempt(core));
        let (info, checkpoint) = (det_core_info(core), det_core_checkpoint(core));

        let rate = det_info_hparam_double(info, b"optimizer.rate\0".as_ptr().cast(), 0.0);
        let (mut step, mut weight) = (0, 0.0);
        let latest = det_info_latest_checkpoint(info);
        if !latest.is_null() {
            (step, weight) = restore(checkpoint, latest);
            println!("resumed at {step}");
        }

        let mut preempted = false;
        let mut op = ptr::null_mut();
        while !preempted
            && call(|err| det_searcher_next(det_core_searcher(core), &mut op, err)) == DET_OK
        {
            while step < det_searcher_op_length(op) && !preempted {
                weight += rate * (1.0 - weight);
                step += 1;
                let metric = Metric { name: b"loss\0".as_ptr().cast(), value: 1.0 - weight };
                call(|err| det_train_report_training_metrics(train, step, &metric, 1, err));
                if step == stop_at {
                    det_preempt_request(preempt);
                }
                preempted = call(|err| det_preempt_should_preempt(preempt, err)) == DET_PREEMPTED;
            }
            save(checkpoint, step, weight);
            if !preempted {
                call(|err| det_searcher_op_report_completed(op, 1.0 - weight, err));
            }
        }

        call(|err| det_core_close(core, DET_OUTCOME_OK, err));
        det_core_free(core);
        println!("{} at {step}", if preempted { "preempted" } else { "completed" });
    }
}
