// A training program in Go, with metrics, checkpoints and preemption.
//
// If you kill or pause it (`det pause`), the next start resumes from its latest checkpoint. The
// result is the same as without the interruption.
//
//	go build train.go
//	./train
package main

// #cgo pkg-config: detcore
// #include <det/core.h>
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"
	"unsafe"
)

const stepsBetweenCheckpoints = 20

const options = `{
	"external_id": "train-go",
	"config_json": {
		"name": "languages",
		"hyperparameters": {"rate": 0.0078125},
		"searcher": {"name": "single", "metric": "loss", "max_length": 2000}
	}
}` // every start with this name continues the same trial

type state struct {
	step   int64
	weight float64
}

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

func save(checkpoint *C.det_checkpoint_context, state state) {
	var store *C.det_checkpoint_writer
	lend(fmt.Sprintf(`{"steps_completed": %d}`, state.step), func(metadata *C.char) {
		call(func(failure *C.det_error) C.det_status {
			return C.det_checkpoint_writer_begin(checkpoint, metadata, nil, &store, failure)
		})
	})
	defer C.det_checkpoint_writer_free(store)
	path := filepath.Join(C.GoString(C.det_checkpoint_writer_path(store)), "state")
	check(os.WriteFile(path, []byte(fmt.Sprintln(state.step, state.weight)), 0o666))
	call(func(failure *C.det_error) C.det_status { // now it is complete and visible
		return C.det_checkpoint_writer_commit(store, failure)
	})
}

func restore(checkpoint *C.det_checkpoint_context, id *C.char) (state state) {
	var stored *C.det_checkpoint_reader
	call(func(failure *C.det_error) C.det_status {
		return C.det_checkpoint_reader_open(checkpoint, id, nil, &stored, failure)
	})
	defer C.det_checkpoint_reader_free(stored)
	file, err := os.Open(filepath.Join(C.GoString(C.det_checkpoint_reader_path(stored)), "state"))
	check(err)
	defer file.Close()
	_, err = fmt.Fscan(file, &state.step, &state.weight)
	check(err)
	return state
}

func report(core *C.det_core, group string, state state) {
	lend(group, func(group *C.char) {
		lend("loss", func(loss *C.char) {
			metric := C.det_metric{name: loss, value: C.double(1 - state.weight)}
			call(func(failure *C.det_error) C.det_status {
				return C.det_train_report_metrics(
					C.det_core_train(core), group, C.int64_t(state.step), &metric, 1, failure)
			})
		})
	})
}

func main() {
	var core *C.det_core
	lend(options, func(options *C.char) {
		call(func(failure *C.det_error) C.det_status {
			return C.det_core_init_json(options, nil, nil, &core, failure)
		})
	})
	defer C.det_core_free(core)
	checkpoint := C.det_core_checkpoint(core)

	var rate C.double
	lend("rate", func(name *C.char) {
		call(func(failure *C.det_error) C.det_status {
			return C.det_info_get_hparam_double(C.det_core_info(core), name, &rate, failure)
		})
	})
	var state state
	if latest := C.det_info_latest_checkpoint(C.det_core_info(core)); latest != nil {
		state = restore(checkpoint, latest)
	}
	fmt.Println("from", state.step)

	preempted := false
	var op *C.det_searcher_op
	next := func(failure *C.det_error) C.det_status {
		return C.det_searcher_next(C.det_core_searcher(core), &op, failure)
	}
	for call(next) == C.DET_OK {
		length := int64(C.det_searcher_op_length(op))
		for state.step < length && !preempted {
			time.Sleep(time.Millisecond) // your training goes here
			state.weight += float64(rate) * (1 - state.weight)
			state.step++
			report(core, "training", state)
			preempted = call(func(failure *C.det_error) C.det_status {
				return C.det_preempt_should_preempt(C.det_core_preempt(core), failure)
			}) == C.DET_PREEMPTED
			if preempted || state.step == length || state.step%stepsBetweenCheckpoints == 0 {
				save(checkpoint, state)
			}
		}
		if preempted {
			break
		}
		report(core, "validation", state) // your validation
		call(func(failure *C.det_error) C.det_status {
			return C.det_searcher_op_report_completed(op, C.double(1-state.weight), failure)
		})
	}

	call(func(failure *C.det_error) C.det_status { return C.det_core_close(core, C.DET_OUTCOME_OK, failure) })
	fmt.Println("to", state.step)
	if status := int(C.det_core_exit_status(core)); status != 0 {
		os.Exit(status) // more work remains
	}
}
