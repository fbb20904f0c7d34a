// A training program in Java, with metrics, checkpoints and preemption.
//
// If you kill or pause it (`det pause`), the next start resumes from its latest checkpoint. The
// result is the same as without the interruption.
//
//     jdk=$(java -XshowSettings:properties -version 2>&1 | sed -n 's/.*java.home = //p')
//     cc -shared -fPIC -I"$jdk/include" -I"$jdk/include/linux" \
//       detcore_jni.c $(pkg-config --cflags --libs detcore) -o libdetcore_jni.so
//     javac Train.java
//     java -Djava.library.path=. Train
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The native methods of detcore_jni.c. A handle is a long. */
final class Detcore {
  static {
    System.loadLibrary("detcore_jni");
  }

  static native long init(String optionsJson);
  static native int close(long core); // the exit status
  static native double hparam(long core, String name);
  static native String latestCheckpoint(long core);
  static native long nextOperation(long core);
  static native long length(long op);
  static native void reportCompleted(long op, double metric);
  static native void reportMetric(
      long core, String group, long step, String name, double value);
  static native boolean shouldPreempt(long core);
  static native long storeBegin(long core, String metadataJson);
  static native String storePath(long store);
  static native void storeCommit(long store);
  static native long restoreBegin(long core, String id);
  static native String restorePath(long stored);
  static native void restoreFree(long stored);
}

final class Train {
  private static final int STEPS_BETWEEN_CHECKPOINTS = 20;

  // Every start with this external id continues the same trial.
  private static final String OPTIONS = """
      {
        "external_id": "train-java",
        "config_json": {
          "name": "languages",
          "hyperparameters": {"rate": 0.0078125},
          "searcher": {"name": "single", "metric": "loss", "max_length": 2000}
        }
      }""";

  private record State(long step, double weight) {}

  private static void save(long core, State state) throws IOException {
    long store = Detcore.storeBegin(core, "{\"steps_completed\": " + state.step + "}");
    Files.writeString(Path.of(Detcore.storePath(store), "state"), state.step + " " + state.weight);
    Detcore.storeCommit(store); // now it is complete and visible
  }

  private static State restore(long core, String id) throws IOException {
    long stored = Detcore.restoreBegin(core, id);
    String[] words = Files.readString(Path.of(Detcore.restorePath(stored), "state")).split(" ");
    Detcore.restoreFree(stored);
    return new State(Long.parseLong(words[0]), Double.parseDouble(words[1]));
  }

  public static void main(String[] arguments) throws IOException, InterruptedException {
    long core = Detcore.init(OPTIONS);

    double rate = Detcore.hparam(core, "rate");
    String latest = Detcore.latestCheckpoint(core);
    State state = latest == null ? new State(0, 0) : restore(core, latest);
    System.out.println("from " + state.step);

    boolean preempted = false;
    for (long op; (op = Detcore.nextOperation(core)) != 0; ) {
      long length = Detcore.length(op);
      while (state.step < length && !preempted) {
        Thread.sleep(1); // your training goes here
        state = new State(state.step + 1, state.weight + rate * (1 - state.weight));
        Detcore.reportMetric(core, "training", state.step, "loss", 1 - state.weight);
        preempted = Detcore.shouldPreempt(core);
        if (preempted || state.step == length || state.step % STEPS_BETWEEN_CHECKPOINTS == 0) {
          save(core, state);
        }
      }
      if (preempted) {
        break;
      }
      Detcore.reportMetric(core, "validation", state.step, "loss", 1 - state.weight); // yours
      Detcore.reportCompleted(op, 1 - state.weight);
    }

    int status = Detcore.close(core); // not 0 if more work remains
    System.out.println("to " + state.step);
    System.exit(status);
  }
}
