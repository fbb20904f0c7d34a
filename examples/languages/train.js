// A training program in Node, with metrics, checkpoints and preemption.
//
// If you kill or pause it (`det pause`), the next start resumes from its latest checkpoint. The
// result is the same as without the interruption.
//
//     cc -shared -fPIC -I"$(node -p 'path.resolve(process.execPath, "../../include/node")')" \
//       detcore_node.c $(pkg-config --cflags --libs detcore) -o detcore.node
//     node train.js
"use strict";

const fs = require("fs");
const path = require("path");
const detcore = require(process.env.DETCORE_NODE || "./detcore.node");

const stepsBetweenCheckpoints = 20;

const core = detcore.init(JSON.stringify({
  external_id: "train-node", // every start with this name continues the same trial
  config_json: {
    name: "languages",
    hyperparameters: { rate: 0.0078125 },
    searcher: { name: "single", metric: "loss", max_length: 2000 },
  },
}));

function save(step, weight) {
  const store = detcore.storeBegin(core, JSON.stringify({ steps_completed: step }));
  fs.writeFileSync(path.join(detcore.storePath(store), "state"), JSON.stringify({ step, weight }));
  detcore.storeCommit(store); // now it is complete and visible
}

function restore(id) {
  const stored = detcore.restoreBegin(core, id);
  const state = fs.readFileSync(path.join(detcore.restorePath(stored), "state"), "utf8");
  detcore.restoreFree(stored);
  return JSON.parse(state);
}

function sleep(milliseconds) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

const { rate } = JSON.parse(detcore.hparams(core));
const latest = detcore.latestCheckpoint(core);
let { step, weight } = latest ? restore(latest) : { step: 0, weight: 0 };
console.log("from", step);

let preempted = false;
let op;
while ((op = detcore.nextOperation(core))) {
  const length = detcore.length(op);
  while (step < length && !preempted) {
    sleep(1); // your training goes here
    weight += rate * (1 - weight);
    step++;
    detcore.reportMetrics(core, "training", step, JSON.stringify({ loss: 1 - weight }));
    preempted = detcore.shouldPreempt(core);
    if (preempted || step === length || step % stepsBetweenCheckpoints === 0) save(step, weight);
  }
  if (preempted) break;
  detcore.reportMetrics(core, "validation", step, JSON.stringify({ loss: 1 - weight })); // yours
  detcore.reportCompleted(op, 1 - weight);
}

process.exitCode = detcore.close(core); // not 0 if more work remains
console.log("to", step);
