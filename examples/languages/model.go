// Trains a model of layers on the digits of examples/data, in Go through det/nn.h.
//
// If you kill or pause it (`det pause`), the next start resumes. It ends with the same weights, to
// the last bit.
//
//	go build model.go
//	./model ../data/digits.csv
package main

// #cgo pkg-config: detnn
// #include <det/core.h>
// #include <det/nn.h>
// #include <stdlib.h>
import "C"

import (
	"encoding/csv"
	"fmt"
	"hash/crc32"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"unsafe"
)

const (
	batchSize               = 32
	stepsBetweenReports     = 10
	stepsBetweenCheckpoints = 50
)

const options = `{
	"external_id": "model-go",
	"config_json": {
		"name": "digits",
		"searcher": {"name": "single", "metric": "accuracy", "smaller_is_better": false, "max_length": 400}
	}
}` // every start with this name continues the same trial

const layers = `{"class_name": "Sequential", "config": {"name": "digits", "layers": [
	{"class_name": "Conv2D", "config": {"filters": 8, "kernel_size": 3, "padding": "same",
		"activation": "relu", "batch_input_shape": [null, 8, 8, 1]}},
	{"class_name": "MaxPooling2D", "config": {}},
	{"class_name": "Flatten", "config": {}},
	{"class_name": "Dropout", "config": {"rate": 0.2}},
	{"class_name": "Dense", "config": {"units": 10, "activation": "softmax"}}]}}`

const compiled = `{
	"optimizer": {"class_name": "Adam", "config": {"learning_rate": 0.005}},
	"loss": "sparse_categorical_crossentropy",
	"metrics": ["accuracy"],
	"check_numerics": true
}`

// Calls a function that returns a status. Ends the program with the message of a failure.
func call(function func(failure *C.det_error) C.det_status) C.det_status {
	failure := C.det_error{struct_size: C.sizeof_det_error}
	status := function(&failure)
	if status < 0 {
		log.Fatal(C.GoString(&failure.message[0]))
	}
	return status
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Passes a Go string to a C function.
func lend(text string, function func(text *C.char)) {
	lent := C.CString(text)
	defer C.free(unsafe.Pointer(lent))
	function(lent)
}

type digits struct {
	pixels []float32
	labels []int32
}

// Every fifth image of the file is for testing, all others are for training.
func readDigits(path string) (train, test digits) {
	file, err := os.Open(path)
	check(err)
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	check(err)
	for number, fields := range lines {
		set := &train
		if number%5 == 0 {
			set = &test
		}
		for i, field := range fields {
			value, err := strconv.Atoi(field)
			check(err)
			if i < 64 {
				set.pixels = append(set.pixels, float32(value)/16)
			} else {
				set.labels = append(set.labels, int32(value))
			}
		}
	}
	return train, test
}

// A batch with its tensors and their shapes. They point to one another.
type batch struct {
	given        C.det_nn_batch
	image, label C.det_tensor
	sizes        [4]C.int64_t
}

// Functions of C need the data at a fixed place, so `pins` holds them there.
func newBatch(pins *runtime.Pinner) *batch {
	made := &batch{sizes: [4]C.int64_t{0, 8, 8, 1}}
	pins.Pin(made)
	made.given.struct_size = C.sizeof_det_nn_batch
	made.image.struct_size, made.label.struct_size = C.sizeof_det_tensor, C.sizeof_det_tensor
	made.image.dtype, made.label.dtype = C.DET_DTYPE_F32, C.DET_DTYPE_I32
	made.image.dimensions, made.label.dimensions = 4, 1
	made.image.shape, made.label.shape = &made.sizes[0], &made.sizes[0]
	made.given.inputs, made.given.truths = &made.image, &made.label
	made.given.input_count, made.given.result_count = 1, 1
	return made
}

// Points the batch to `count` images of `set`, starting at `first`.
func (batch *batch) of(set digits, first, count int) *C.det_nn_batch {
	batch.image.data = unsafe.Pointer(&set.pixels[64*first])
	batch.label.data = unsafe.Pointer(&set.labels[first])
	batch.sizes[0] = C.int64_t(count)
	return &batch.given
}

func newModel() (model *C.det_nn_model) {
	lend(layers, func(layers *C.char) {
		call(func(failure *C.det_error) C.det_status {
			return C.det_nn_model_create(layers, nil, &model, failure)
		})
	})
	lend(compiled, func(compiled *C.char) {
		call(func(failure *C.det_error) C.det_status {
			return C.det_nn_model_compile(model, compiled, failure)
		})
	})
	return model
}

func stepsOf(model *C.det_nn_model) int64 {
	var steps C.int64_t
	C.det_nn_model_steps(model, &steps, nil)
	return int64(steps)
}

type fileFunction = func(path *C.char, failure *C.det_error) C.det_status

// Calls `weights` and `state`, each with the name of its file.
func withFiles(folder *C.char, weights, state fileFunction) {
	for name, function := range map[string]fileFunction{"weights": weights, "state": state} {
		lend(filepath.Join(C.GoString(folder), name+".safetensors"), func(path *C.char) {
			call(func(failure *C.det_error) C.det_status { return function(path, failure) })
		})
	}
}

func save(checkpoint *C.det_checkpoint_context, model *C.det_nn_model) {
	var store *C.det_checkpoint_writer
	lend(fmt.Sprintf(`{"steps_completed": %d}`, stepsOf(model)), func(metadata *C.char) {
		call(func(failure *C.det_error) C.det_status {
			return C.det_checkpoint_writer_begin(checkpoint, metadata, nil, &store, failure)
		})
	})
	defer C.det_checkpoint_writer_free(store)
	withFiles(C.det_checkpoint_writer_path(store),
		func(path *C.char, failure *C.det_error) C.det_status {
			return C.det_nn_model_save_weights(model, path, failure)
		},
		func(path *C.char, failure *C.det_error) C.det_status {
			return C.det_nn_model_save_training_state(model, path, failure)
		})
	call(func(failure *C.det_error) C.det_status { // now it is complete and visible
		return C.det_checkpoint_writer_commit(store, failure)
	})
}

func restore(checkpoint *C.det_checkpoint_context, id *C.char, model *C.det_nn_model) {
	var stored *C.det_checkpoint_reader
	call(func(failure *C.det_error) C.det_status {
		return C.det_checkpoint_reader_open(checkpoint, id, nil, &stored, failure)
	})
	defer C.det_checkpoint_reader_free(stored)
	withFiles(C.det_checkpoint_reader_path(stored),
		func(path *C.char, failure *C.det_error) C.det_status {
			return C.det_nn_model_load_weights(model, path, failure)
		},
		func(path *C.char, failure *C.det_error) C.det_status {
			return C.det_nn_model_load_training_state(model, path, failure)
		})
}

// Reports the metrics of the model and resets them. Returns the one named "accuracy".
func report(core *C.det_core, group string, model *C.det_nn_model) (accuracy C.double) {
	var metrics []C.det_metric
	for i := C.size_t(0); i < C.det_nn_model_metric_count(model); i++ {
		metrics = append(metrics, C.det_metric{
			name:  C.CString(C.GoString(C.det_nn_model_metric_name(model, i))),
			value: C.det_nn_model_metric(model, i),
		})
	}
	lend(group, func(group *C.char) {
		call(func(failure *C.det_error) C.det_status {
			return C.det_train_report_metrics(C.det_core_train(core), group,
				C.int64_t(stepsOf(model)), &metrics[0], C.size_t(len(metrics)), failure)
		})
	})
	for _, metric := range metrics {
		if C.GoString(metric.name) == "accuracy" {
			accuracy = metric.value
		}
		C.free(unsafe.Pointer(metric.name))
	}
	C.det_nn_model_reset_metrics(model)
	return accuracy
}

// Returns a checksum of all weights, to compare them bit by bit.
func sumOf(model *C.det_nn_model) uint32 {
	var first *C.det_tensor
	var count C.size_t
	call(func(failure *C.det_error) C.det_status {
		return C.det_nn_model_weights(model, &first, &count, failure)
	})
	sum := crc32.NewIEEE()
	for _, weight := range unsafe.Slice(first, count) {
		size := 4
		for _, length := range unsafe.Slice(weight.shape, weight.dimensions) {
			size *= int(length)
		}
		sum.Write(unsafe.Slice((*byte)(weight.data), size))
	}
	return sum.Sum32()
}

func main() {
	var pins runtime.Pinner
	defer pins.Unpin()
	train, test := readDigits(os.Args[1])
	for _, set := range []digits{train, test} {
		pins.Pin(&set.pixels[0])
		pins.Pin(&set.labels[0])
	}
	model, batch := newModel(), newBatch(&pins)
	defer C.det_nn_model_free(model)

	var core *C.det_core
	lend(options, func(options *C.char) {
		call(func(failure *C.det_error) C.det_status {
			return C.det_core_init_json(options, nil, nil, &core, failure)
		})
	})
	defer C.det_core_free(core)
	checkpoint := C.det_core_checkpoint(core)
	if latest := C.det_info_latest_checkpoint(C.det_core_info(core)); latest != nil {
		restore(checkpoint, latest, model)
	}
	fmt.Println("from", stepsOf(model))

	batches := int64(len(train.labels) / batchSize)
	preempted := false
	var op *C.det_searcher_op
	next := func(failure *C.det_error) C.det_status {
		return C.det_searcher_next(C.det_core_searcher(core), &op, failure)
	}
	for call(next) == C.DET_OK {
		length := int64(C.det_searcher_op_length(op))
		for step := stepsOf(model); step < length && !preempted; {
			given := batch.of(train, int(step%batches)*batchSize, batchSize)
			call(func(failure *C.det_error) C.det_status {
				return C.det_nn_model_train_on_batch(model, given, failure)
			})
			step++
			if step%stepsBetweenReports == 0 {
				report(core, "training", model)
			}
			preempted = call(func(failure *C.det_error) C.det_status {
				return C.det_preempt_should_preempt(C.det_core_preempt(core), failure)
			}) == C.DET_PREEMPTED
			if preempted || step == length || step%stepsBetweenCheckpoints == 0 {
				save(checkpoint, model)
			}
		}
		if preempted {
			break
		}
		C.det_nn_model_reset_metrics(model)
		call(func(failure *C.det_error) C.det_status {
			return C.det_nn_model_test_on_batch(model, batch.of(test, 0, len(test.labels)), failure)
		})
		accuracy := report(core, "validation", model)
		call(func(failure *C.det_error) C.det_status {
			return C.det_searcher_op_report_completed(op, accuracy, failure)
		})
		fmt.Printf("accuracy %.3f, weights %08x\n", accuracy, sumOf(model))
	}

	call(func(failure *C.det_error) C.det_status { return C.det_core_close(core, C.DET_OUTCOME_OK, failure) })
	fmt.Println("to", stepsOf(model))
}
