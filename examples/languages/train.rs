// A training program in Rust with rustc alone, with metrics, checkpoints and preemption.
//
// If you kill or pause it (`det pause`), the next start resumes from its latest checkpoint. The
// result is the same as without the interruption.
//
//     rustc -L "$(pkg-config --variable=libdir detcore)" train.rs
//     ./train
#![allow(unsafe_op_in_unsafe_fn)] // edition 2024 wants blocks inside them

use std::ffi::{CStr, CString};
use std::fs;
use std::os::raw::{c_char, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::thread::sleep;
use std::time::Duration;

const STEPS_BETWEEN_CHECKPOINTS: i64 = 20;

// Every start with this external id continues the same trial.
const OPTIONS: &str = r#"{
    "external_id": "train-rust",
    "config_json": {
        "name": "languages",
        "hyperparameters": {"rate": 0.0078125},
        "searcher": {"name": "single", "metric": "loss", "max_length": 2000}
    }
}"#;

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

// Edition 2024 requires `unsafe extern` for declarations of C functions. Compilers before 1.82 do
// not know it. Only in that edition `_` is an expression, so this macro picks the form.
macro_rules! c_functions {
    ($library:literal, $edition_2024:expr, $($functions:tt)*) => {
        #[link(name = $library)]
        unsafe extern "C" { $($functions)* }
    };
    ($library:literal, _, $($functions:tt)*) => {
        #[link(name = $library)]
        extern "C" { $($functions)* }
    };
}

c_functions! { "detcore", _,
    fn det_core_init_json(
        options: *const c_char, distributed: Handle, log_queue: Handle, out: *mut Handle,
        err: *mut Error,
    ) -> i32;
    fn det_core_exit_status(core: Handle) -> i32;
    fn det_core_close(core: Handle, how: i32, err: *mut Error) -> i32;
    fn det_core_free(core: Handle);
    fn det_core_info(core: Handle) -> Handle;
    fn det_core_searcher(core: Handle) -> Handle;
    fn det_core_train(core: Handle) -> Handle;
    fn det_core_preempt(core: Handle) -> Handle;
    fn det_core_checkpoint(core: Handle) -> Handle;
    fn det_info_get_hparam_double(
        info: Handle, name: *const c_char, out: *mut f64, err: *mut Error,
    ) -> i32;
    fn det_info_latest_checkpoint(info: Handle) -> *const c_char;
    fn det_searcher_next(searcher: Handle, out: *mut Handle, err: *mut Error) -> i32;
    fn det_searcher_op_length(op: Handle) -> i64;
    fn det_searcher_op_report_completed(op: Handle, metric: f64, err: *mut Error) -> i32;
    fn det_train_report_training_metrics(
        train: Handle, steps_completed: i64, metrics: *const Metric, count: usize, err: *mut Error,
    ) -> i32;
    fn det_train_report_validation_metrics(
        train: Handle, steps_completed: i64, metrics: *const Metric, count: usize, err: *mut Error,
    ) -> i32;
    fn det_preempt_should_preempt(preempt: Handle, err: *mut Error) -> i32;
    fn det_checkpoint_writer_begin(
        checkpoint: Handle, metadata: *const c_char, options: *const c_void, out: *mut Handle,
        err: *mut Error,
    ) -> i32;
    fn det_checkpoint_writer_path(store: Handle) -> *const c_char;
    fn det_checkpoint_writer_commit(store: Handle, err: *mut Error) -> i32;
    fn det_checkpoint_writer_free(store: Handle);
    fn det_checkpoint_reader_open(
        checkpoint: Handle, id: *const c_char, options: *const c_void, out: *mut Handle,
        err: *mut Error,
    ) -> i32;
    fn det_checkpoint_reader_path(restore: Handle) -> *const c_char;
    fn det_checkpoint_reader_free(restore: Handle);
}

/// Calls a function that returns a status. Panics with the message of a failure.
fn call(function: impl FnOnce(*mut Error) -> i32) -> i32 {
    unsafe {
        let mut error: Error = std::mem::zeroed();
        error.struct_size = std::mem::size_of::<Error>();
        let status = function(&mut error);
        assert!(status >= 0, "{}", CStr::from_ptr(error.message.as_ptr()).to_string_lossy());
        status
    }
}

unsafe fn text<'a>(borrowed: *const c_char) -> &'a str {
    CStr::from_ptr(borrowed).to_str().unwrap()
}

unsafe fn save(checkpoint: Handle, step: i64, weight: f64) {
    let metadata = CString::new(format!("{{\"steps_completed\": {step}}}")).unwrap();
    let mut store = null_mut();
    call(|err| det_checkpoint_writer_begin(checkpoint, metadata.as_ptr(), null(), &mut store, err));
    let path = Path::new(text(det_checkpoint_writer_path(store))).join("state");
    fs::write(path, format!("{step} {weight}")).unwrap();
    call(|err| det_checkpoint_writer_commit(store, err)); // now it is complete and visible
    det_checkpoint_writer_free(store);
}

unsafe fn restore(checkpoint: Handle, id: *const c_char) -> (i64, f64) {
    let mut stored = null_mut();
    call(|err| det_checkpoint_reader_open(checkpoint, id, null(), &mut stored, err));
    let path = Path::new(text(det_checkpoint_reader_path(stored))).join("state");
    let state = fs::read_to_string(path).unwrap();
    det_checkpoint_reader_free(stored);
    let (step, weight) = state.split_once(' ').unwrap();
    (step.parse().unwrap(), weight.parse().unwrap())
}

unsafe fn run() -> i32 {
    let options = CString::new(OPTIONS).unwrap();
    let mut core = null_mut();
    call(|err| det_core_init_json(options.as_ptr(), null_mut(), null_mut(), &mut core, err));
    let (info, train, checkpoint) =
        (det_core_info(core), det_core_train(core), det_core_checkpoint(core));

    let mut rate = 0.0;
    call(|err| det_info_get_hparam_double(info, b"rate\0".as_ptr().cast(), &mut rate, err));
    let latest = det_info_latest_checkpoint(info);
    let (mut step, mut weight) =
        if latest.is_null() { (0, 0.0) } else { restore(checkpoint, latest) };
    println!("from {step}");

    let mut preempted = false;
    let mut op = null_mut();
    while call(|err| det_searcher_next(det_core_searcher(core), &mut op, err)) == DET_OK {
        let length = det_searcher_op_length(op);
        while step < length && !preempted {
            sleep(Duration::from_millis(1)); // your training goes here
            weight += rate * (1.0 - weight);
            step += 1;
            let loss = Metric { name: b"loss\0".as_ptr().cast(), value: 1.0 - weight };
            call(|err| det_train_report_training_metrics(train, step, &loss, 1, err));
            preempted =
                call(|err| det_preempt_should_preempt(det_core_preempt(core), err)) == DET_PREEMPTED;
            if preempted || step == length || step % STEPS_BETWEEN_CHECKPOINTS == 0 {
                save(checkpoint, step, weight);
            }
        }
        if preempted {
            break;
        }
        let loss = Metric { name: b"loss\0".as_ptr().cast(), value: 1.0 - weight }; // your validation
        call(|err| det_train_report_validation_metrics(train, step, &loss, 1, err));
        call(|err| det_searcher_op_report_completed(op, loss.value, err));
    }

    call(|err| det_core_close(core, DET_OUTCOME_OK, err));
    let status = det_core_exit_status(core); // not 0 if more work remains
    det_core_free(core);
    println!("to {step}");
    status
}

fn main() {
    std::process::exit(unsafe { run() })
}
