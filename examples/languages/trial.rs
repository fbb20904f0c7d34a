// Trains a trial in Rust on the digits of examples/data, through det/keras.h.
//
// If you kill or pause it (`det pause`), the next start resumes. It ends with the same weights, to
// the last bit.
//
//     rustc --edition 2021 -L "$(pkg-config --variable=libdir detnn)" trial.rs
//     ./trial ../data/digits.csv
#![allow(unsafe_op_in_unsafe_fn)] // edition 2024 wants blocks inside them

use std::ffi::{CStr, CString};
use std::mem::size_of;
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};
use std::{env, fs, slice};

// Every start with this external id continues the same trial.
const EXTERNAL_ID: &str = "trial-rust";
const CONFIG: &str = r#"{
    "name": "digits",
    "searcher": {"name": "single", "metric": "val_accuracy", "smaller_is_better": false,
        "max_length": {"batches": 400}},
    "hyperparameters": {"global_batch_size": 32, "learning_rate": 0.005, "dropout": 0.2},
    "scheduling_unit": 10,
    "min_checkpoint_period": {"batches": 50},
    "reproducibility": {"experiment_seed": 1}
}"#;

const DET_OK: i32 = 0;
const DET_KERAS_INVALID_HP: i32 = 3;
const DTYPE_I32: i32 = 16;
const DTYPE_F32: i32 = 18;
const TRAIN_BEGIN: i32 = 1;
const TRAIN_END: i32 = 2;
const TEST_END: i32 = 12;

type Handle = *mut c_void;

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

#[repr(C)]
struct Tensor {
    struct_size: usize,
    name: *const c_char,
    data: *mut c_void,
    dtype: i32,
    device: i32,
    dimensions: usize,
    shape: *const i64,
    offset: *const i64,
    global_shape: *const i64,
}

#[repr(C)]
struct Batch {
    struct_size: usize,
    inputs: *const Tensor,
    truths: *const Tensor,
    sample_weights: *const Tensor,
    input_count: usize,
    result_count: usize,
    class_weights: *const f64,
    class_count: usize,
}

#[repr(C)]
struct Data {
    struct_size: usize,
    arrays: *const Batch,
    batch_count: i64,
    batch: *const c_void,
    on_epoch_end: *const c_void,
    user_data: Handle,
}

#[repr(C)]
struct Event {
    struct_size: usize,
    kind: i32,
    reserved: i32,
    index: i64,
    batches: i64,
    metrics: *const Metric,
    metric_count: usize,
    directory: *const c_char,
}

#[repr(C)]
struct Callback {
    struct_size: usize,
    name: *const c_char,
    on_event: extern "C" fn(Handle, *const Event, Handle, *mut Error) -> i32,
    get_state: *const c_void,
    load_state: *const c_void,
    user_data: Handle,
    is_chief_only: i32,
    reserved: i32,
}

#[repr(C)]
struct RunOptions {
    struct_size: usize,
    arguments: *const *const c_char,
    argument_count: usize,
    config_json: *const c_char,
    hparams_json: *const c_char,
    external_id: *const c_char,
    name: *const c_char,
    master: *const c_char,
    checkpoint_storage: *const c_char,
    tests_one_batch: i32,
    reserved: i32,
}

type Build = extern "C" fn(Handle, Handle, *mut Error) -> i32;

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
    fn det_core_info(core: Handle) -> Handle;
    fn det_info_hparam_double(info: Handle, name: *const c_char, usual: f64) -> f64;
}

c_functions! { "detnn", _,
    fn det_keras_fail(err: *mut Error, status: i32, message: *const c_char) -> i32;
    fn det_keras_core(context: Handle) -> Handle;
    fn det_keras_set_model(
        context: Handle, json: *const c_char, compiled: *const c_char, out: *mut Handle,
        err: *mut Error,
    ) -> i32;
    fn det_keras_model(context: Handle) -> Handle;
    fn det_keras_set_training_data(context: Handle, data: *const Data, err: *mut Error) -> i32;
    fn det_keras_set_validation_data(context: Handle, data: *const Data, err: *mut Error) -> i32;
    fn det_keras_add_callback(context: Handle, callback: *const Callback, err: *mut Error) -> i32;
    fn det_keras_run_trial(
        build: Build, user_data: Handle, options: *const RunOptions, err: *mut Error,
    ) -> i32;
    fn det_nn_model_steps(model: Handle, steps: *mut i64, iterations: *mut i64);
    fn det_nn_model_weights(
        model: Handle, out: *mut *const Tensor, count: *mut usize, err: *mut Error,
    ) -> i32;
}

#[derive(Default)]
struct Digits {
    pixels: Vec<f32>,
    labels: Vec<i32>,
}

/// Every fifth image of the file is for testing, all others are for training.
fn read_digits(text: &str) -> Result<[Digits; 2], String> {
    let mut sets = [Digits::default(), Digits::default()];
    for (number, line) in text.lines().enumerate() {
        let set = &mut sets[usize::from(number % 5 == 0)];
        for (i, field) in line.split(',').enumerate() {
            let value: i32 = field.parse().map_err(|_| format!("line {number} has '{field}'"))?;
            if i < 64 {
                set.pixels.push(value as f32 / 16.0);
            } else {
                set.labels.push(value);
            }
        }
    }
    Ok(sets)
}

impl Digits {
    /// Lends the images without a copy.
    fn give(&self, function: impl FnOnce(*const Data) -> i32) -> i32 {
        let shape = [self.labels.len() as i64, 8, 8, 1];
        let tensor = |data: *const c_void, dtype, dimensions| Tensor {
            struct_size: size_of::<Tensor>(),
            name: null(),
            data: data as *mut c_void,
            dtype,
            device: 0,
            dimensions,
            shape: shape.as_ptr(),
            offset: null(),
            global_shape: null(),
        };
        let images = tensor(self.pixels.as_ptr().cast(), DTYPE_F32, 4);
        let labels = tensor(self.labels.as_ptr().cast(), DTYPE_I32, 1);
        let arrays = Batch {
            struct_size: size_of::<Batch>(),
            inputs: &images,
            truths: &labels,
            sample_weights: null(),
            input_count: 1,
            result_count: 1,
            class_weights: null(),
            class_count: 0,
        };
        function(&Data {
            struct_size: size_of::<Data>(),
            arrays: &arrays,
            batch_count: 0,
            batch: null(),
            on_epoch_end: null(),
            user_data: null_mut(),
        })
    }
}

/// Returns a C string. These texts contain no NUL.
fn text(text: impl Into<Vec<u8>>) -> CString {
    CString::new(text).unwrap_or_default()
}

fn model(dropout: f64) -> String {
    format!(
        r#"{{"class_name": "Sequential", "config": {{"name": "digits", "layers": [
            {{"class_name": "Conv2D", "config": {{"filters": 8, "kernel_size": 3, "padding": "same",
                "activation": "relu", "batch_input_shape": [null, 8, 8, 1]}}}},
            {{"class_name": "MaxPooling2D", "config": {{}}}},
            {{"class_name": "Flatten", "config": {{}}}},
            {{"class_name": "Dropout", "config": {{"rate": {dropout}}}}},
            {{"class_name": "Dense", "config": {{"units": 10, "activation": "softmax"}}}}]}}}}"#
    )
}

fn compiled(learning_rate: f64) -> String {
    format!(
        r#"{{"optimizer": {{"class_name": "Adam", "config": {{"learning_rate": {learning_rate}}}}},
            "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}}"#
    )
}

// No panic may leave a function that the library calls. It returns a status instead.
extern "C" fn build(context: Handle, user_data: Handle, err: *mut Error) -> i32 {
    unsafe {
        let [train, test] = &*user_data.cast::<[Digits; 2]>();
        let info = det_core_info(det_keras_core(context));
        let dropout = det_info_hparam_double(info, b"dropout\0".as_ptr().cast(), 0.2);
        let learning_rate = det_info_hparam_double(info, b"learning_rate\0".as_ptr().cast(), 0.005);
        if dropout >= 1.0 {
            let why = b"a dropout of 1 or more leaves nothing\0".as_ptr().cast();
            return det_keras_fail(err, DET_KERAS_INVALID_HP, why);
        }
        let (model, compiled) = (text(model(dropout)), text(compiled(learning_rate)));
        let callback = Callback {
            struct_size: size_of::<Callback>(),
            name: b"progress\0".as_ptr().cast(),
            on_event: tell,
            get_state: null(),
            load_state: null(),
            user_data: null_mut(),
            is_chief_only: 1,
            reserved: 0,
        };
        let said: [&dyn Fn() -> i32; 4] = [
            &|| det_keras_set_model(context, model.as_ptr(), compiled.as_ptr(), null_mut(), err),
            &|| train.give(|data| det_keras_set_training_data(context, data, err)),
            &|| test.give(|data| det_keras_set_validation_data(context, data, err)),
            &|| det_keras_add_callback(context, &callback, err),
        ];
        // Stops at the first failure and returns its status.
        said.iter().map(|say| say()).find(|status| *status != DET_OK).unwrap_or(DET_OK)
    }
}

extern "C" fn tell(context: Handle, event: *const Event, _: Handle, err: *mut Error) -> i32 {
    unsafe {
        let (event, model) = (&*event, det_keras_model(context));
        let mut steps = 0;
        det_nn_model_steps(model, &mut steps, null_mut());
        match event.kind {
            TRAIN_BEGIN => println!("from {steps}"),
            TRAIN_END => println!("to {steps}"),
            TEST_END => {
                let metrics = slice::from_raw_parts(event.metrics, event.metric_count);
                let accuracy =
                    metrics.iter().find(|m| CStr::from_ptr(m.name).to_bytes() == b"val_accuracy");
                let (mut weights, mut count) = (null(), 0);
                let status = det_nn_model_weights(model, &mut weights, &mut count, err);
                if status != DET_OK {
                    return status;
                }
                println!(
                    "accuracy {:.3}, weights {:016x}",
                    accuracy.map_or(f64::NAN, |m| m.value),
                    sum_of(slice::from_raw_parts(weights, count))
                );
            }
            _ => {}
        }
        DET_OK
    }
}

/// Returns a checksum (FNV-1a) of all weights, to compare them bit by bit.
unsafe fn sum_of(weights: &[Tensor]) -> u64 {
    let mut sum = 0xcbf29ce484222325;
    for weight in weights {
        let shape = slice::from_raw_parts(weight.shape, weight.dimensions);
        let size = 4 * shape.iter().product::<i64>() as usize;
        for byte in slice::from_raw_parts(weight.data.cast::<u8>(), size) {
            sum = (sum ^ u64::from(*byte)).wrapping_mul(0x100000001b3);
        }
    }
    sum
}

fn main() {
    let path = env::args().nth(1).expect("give the file of the digits");
    let mut sets = read_digits(&fs::read_to_string(&path).expect(&path)).expect(&path);
    let (config, external_id) = (text(CONFIG), text(EXTERNAL_ID));
    let options = RunOptions {
        struct_size: size_of::<RunOptions>(),
        arguments: null(),
        argument_count: 0,
        config_json: config.as_ptr(),
        hparams_json: null(),
        external_id: external_id.as_ptr(),
        name: null(),
        master: null(),
        checkpoint_storage: null(),
        tests_one_batch: 0,
        reserved: 0,
    };
    unsafe {
        let mut error: Error = std::mem::zeroed();
        error.struct_size = std::mem::size_of::<Error>();
        let user_data = (&mut sets as *mut [Digits; 2]).cast();
        let status = det_keras_run_trial(build, user_data, &options, &mut error);
        assert!(status == DET_OK, "{}", CStr::from_ptr(error.message.as_ptr()).to_string_lossy());
    }
}
